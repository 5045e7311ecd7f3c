import html
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import new_policy, policy_file
from tests.pages.replays import replayed
from tests.parity.fixtures import FILES, file_id
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.belief.belief import Belief
from workflow_rl.config import GameConfig, RuleSetName, red_agent_name
from workflow_rl.evaluation.playing import game_seed, play_batch
from workflow_rl.pages.replay import frames_of, play_trace, replay_html
from workflow_rl.parity.trace import Trace, load_trace
from workflow_rl.scenario.scenario2 import ACTION_NAMES, HOST_NAMES
from workflow_rl.sim.state import Access, Activity, Mark
from workflow_rl.workflow.units import TYPE_UNITS

WORKFLOW = "user > enterprise > op_server > op_host > defender"


@pytest.fixture(scope="module")
def policy(real_run: Path) -> Policy:
    """A trial's own, which acts by the present observation alone."""
    return load_policy(next(real_run.glob("policies/trial_*.safetensors")))


def test_rewards_are_the_sum_of_their_parts_and_hosts_of_theirs(policy: Policy) -> None:
    total = 0.0
    for frame in frames_of(replayed(policy, sampled=True)):
        total += frame["reward"]
        assert frame["reward"] == pytest.approx(sum(frame["parts"]))
        assert sum(cost for _, cost in frame["costs"]) == pytest.approx(frame["parts"][0])
        assert frame["total"] == pytest.approx(total)


# --- every agent that is evaluated


def whatever(folder: Path, kind: str) -> str:
    """What `evaluate` takes, of some kind."""
    bline = policy_file(folder / "one.safetensors", new_policy("cardiff", "cardiff"))
    meander = policy_file(folder / "other.safetensors", new_policy("cardiff", "cardiff", seed=1))
    masked = policy_file(folder / "masked.safetensors", new_policy(mask_actions=True))
    memory = policy_file(folder / "memory.safetensors", new_policy("memory", "useful"))
    pair = f"bline={bline},meander={meander}"
    made = {"36 outputs": bline, "pair": pair, "masked": masked, "memory": memory}
    return str(made.get(kind, kind))


@pytest.mark.parametrize(
    "kind", ["36 outputs", "pair", "masked", "memory", "cardiff", "ppo", "greedy", "react-restore"]
)
@pytest.mark.parametrize("red", ["bline", "meander"])
def test_it_is_replayed_as_it_is_evaluated(tmp_path: Path, kind: str, red: str) -> None:
    what = whatever(tmp_path, kind)
    rest: dict[str, Any] = {"rules": "competition", "episode_length": 40, "green_agent": "active"}
    game = GameConfig(red_agent=red_agent_name(red), **rest)
    seed = next(k for k in range(99) if game_seed(game, k) < 2**63)  # as large as a user's may be
    cell = play_batch(make_agent(what, rules="competition"), game, seed, 2, logged=1)
    replay = replayed(what, seed=game_seed(game, seed), red_agent=red, **rest)
    moments = replay.episode.moments
    assert [int(m.state["blue_action"]) for m in moments[1:]] == cell.log.blue[:, 0].tolist()
    assert moments[-1].total == pytest.approx(cell.returns[0])
    frames = frames_of(replay)
    assert len(frames) == 41
    if kind == "36 outputs":  # its start is fixed
        assert frames[1]["choices"] == [[frames[1]["blue"], 1.0, True]]
    assert (replay.choices is None) == (kind in ("greedy", "react-restore"))
    for choices, after in zip(replay.choices or (), moments[1:], strict=False):
        assert int(after.state["blue_action"]) in [action for action, _ in choices]
        chances = [chance for _, chance in choices[:5]]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1 + 1e-9


def test_the_five_most_probable_actions_are_the_policy_s(policy: Policy) -> None:
    replay = replayed(policy)
    frames = frames_of(replay)
    assert "choices" not in frames[0]
    for before, frame in zip(replay.episode.moments, frames[1:], strict=False):
        chances = policy.probabilities(before.observation)
        best = np.argsort(-chances, kind="stable")[:5]
        names, shown, taken = zip(*frame["choices"], strict=True)
        assert names == tuple(ACTION_NAMES[a] for a in best)
        assert shown == pytest.approx(chances[best], abs=1e-4)
        assert taken == (True, False, False, False, False)  # the most probable one is played


def test_the_fix_that_the_order_asks_for_is_told_with_its_hosts(policy: Policy) -> None:
    frames = frames_of(replayed(policy))
    unit_of = [TYPE_UNITS.names[unit] for unit in TYPE_UNITS.unit_of]
    asked = 0
    for before, frame in itertools.pairwise(frames):
        marked = [h for h, host in enumerate(before["hosts"]) if host["mark"] != "no"]
        units = [unit_of[h] for h in marked if HOST_NAMES[h] != "User0"]
        due = next((unit for unit in policy.order or () if unit in units), None)
        assert frame["due"] == due
        expected = [HOST_NAMES[h] for h in marked if unit_of[h] == due]
        assert frame["dueHosts"] == [name for name in expected if name != "User0"]
        asked += due is not None
    assert asked > 0


def test_beside_the_truth_stands_what_blue_could_have_known() -> None:
    replay = replayed("greedy", seed=6, red_agent="bline")
    belief = Belief()
    frames = frames_of(replay)
    assert frames[0]["redKnown"] == {"bline": 0.3333, "meander": 0.3333, "sleep": 0.3333}
    unsure = 0
    for frame, moment in zip(frames[1:], replay.episode.moments[1:], strict=True):
        belief.update(moment.observation, int(moment.state["blue_action"]))
        np.testing.assert_allclose(frame["known"], belief.access[0, :, 1:], atol=1e-4)
        assert frame["otStoppedKnown"] == pytest.approx(belief.ot_stopped[0], abs=1e-4)
        unsure += any(0.0 < user + privileged < 1.0 for user, privileged in frame["known"])
        for host, (user, privileged) in zip(frame["hosts"], frame["known"], strict=True):
            chances = {"none": 1 - user - privileged, "user": user, "privileged": privileged}
            assert chances[host["access"]] > 0
    assert unsure > 0
    assert frames[-1]["redKnown"] == {"bline": 1.0}


@pytest.mark.parametrize(
    ("red", "named"),
    [
        ("bait", "Bait"),
        ("random", "a random Red"),
        ("patient:2:meander", "Meander after 2 sleeps"),
        ("bline=1,bait=1", "B_line"),
    ],
)
def test_without_a_model_of_red_no_belief_is_shown(red: str, named: str) -> None:
    replay = replayed("greedy", seed=2, red_agent=red)
    assert replay.red == named
    assert all(frame.keys().isdisjoint(("known", "redKnown")) for frame in frames_of(replay))
    text = replay_html(replay)
    assert "No belief is shown: it has no model of " in text
    assert "<dt>belief" not in text


# --- recordings


@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_recorded_episode_is_shown_as_it_was_recorded(rules: RuleSetName, path: Path) -> None:
    trace = load_trace(path)
    number = trace.episodes - 1
    replay = play_trace(trace, number, rules)
    assert replay.warning == ""
    frames = frames_of(replay)[1:]
    assert len(frames) == trace.lengths[number]
    for step, frame in enumerate(frames):
        names = ("red_access", "obs", "malware", "reward", "ot_down")
        recorded = {name: trace.arrays[name][number, step] for name in names}
        hosts = frame["hosts"]
        assert [Access[h["access"].upper()] for h in hosts] == recorded["red_access"].tolist()
        bits = np.asarray(recorded["obs"], int).reshape(-1, 4)
        assert [Activity[h["seen"].upper()] for h in hosts] == (
            bits[:, 0] + 2 * bits[:, 1]
        ).tolist()
        assert [Mark[h["mark"].upper()] for h in hosts] == (bits[:, 2] + 2 * bits[:, 3]).tolist()
        assert [h["malware"] for h in hosts] == recorded["malware"].astype(bool).tolist()
        assert frame["ot"] == (not recorded["ot_down"].any())
        assert frame["reward"] == pytest.approx(float(recorded["reward"]))


def first(rules: str) -> Trace:
    return load_trace(next(path for of, path in FILES if of == rules))


def test_a_recording_of_other_rules_is_noticed() -> None:
    trace = first("competition")
    told = {play_trace(trace, k, "main").warning for k in range(trace.episodes)}
    assert any("other rules than main" in warning for warning in told)


# --- the page


def test_the_page_names_who_plays_every_host_and_every_step(policy: Policy) -> None:
    order = " > ".join(policy.order or ())
    replay = replayed(policy, "<b>bold</b>", red_agent="meander")
    assert replay.title == f"<b>bold</b> against Meander, under {order}"
    text = replay_html(replay)
    assert "<b>bold" not in text
    assert f"<title>{html.escape(replay.title)}" in text
    table = text[text.index("Every step as text") : text.index("</table>")]
    assert table.count("<tr>") == 1 + 30
    greedy = replayed("react-restore", "react-restore", red_agent="bline")
    assert greedy.title == "react-restore against B_line"
