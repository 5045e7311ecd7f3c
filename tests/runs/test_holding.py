"""Best responses at the end of a search: what is trained, kept, resumed and said of it."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.points import counted, survives
from tests.cli.run import Capture, refusal, run_here
from tests.pages.test_report import visible
from tests.playbook.cacao_rules import broken_rules
from tests.refused import refused
from tests.runs.toy import assert_same, csv_rows, run_search, tiny
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import ExperimentConfig
from workflow_rl.envs.reds import RedPolicy
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.equivalence import MARGIN
from workflow_rl.pages.findings import HANDED_OVER, find
from workflow_rl.pages.rundata import read_run
from workflow_rl.pages.snapshot import take_snapshot
from workflow_rl.playbook.writing import write_playbook
from workflow_rl.runs.holding import BEST_RESPONSE, Holding
from workflow_rl.runs.pool import Done, Rows, Started
from workflow_rl.runs.search import checked_search, open_search
from workflow_rl.runs.trials import HandedOver

ROLLOUT = 384 * 20  # transitions of an update of a best response, in episodes of 20 steps
RESPONSE = "policies/response_0.safetensors"


def small(**changes: Any) -> ExperimentConfig:
    """A search by the worst of two attackers, with two updates of one best response."""
    usual: dict[str, Any] = {
        **{"n_workflows": 2, "base_updates": 1, "max_episodes": 2, "polish_updates": 1},
        **{"red_agent": "bline=1,bait=1", "objective": "worst", "objective_games": 4},
        "response_transitions": ROLLOUT + 1,
    }
    return tiny(**usual | changes)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """The operations on disk of such a search, and its run, which nobody changes."""
    return counted(small(), tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def run(whole: tuple[int, Path]) -> Path:
    return whole[1]


def stored(run: Path, name: str) -> Any:
    return json.loads((run / name).read_text())


# --- what is trained and kept


def test_a_best_response_to_the_policy_handed_over_is_trained_and_stored_once(run: Path) -> None:
    (kept,) = stored(run, "scores.json")["responses"]
    result = Result.from_json(kept)
    assert (result.red_agent, result.games) == (RESPONSE, small().search.score_games)
    rows = [r for r in csv_rows(run / "training_log.csv") if r["training"] == "response_0"]
    assert [int(row["transitions"]) for row in rows] == [ROLLOUT, 2 * ROLLOUT]
    policy, summary = load_policy(run), stored(run, "summary.json")
    assert {row["workflow"] for row in rows} == {str(policy.order)} == {summary["recommended"]}
    blue, red = PolicyAgent(policy, "handed over"), run / RESPONSE
    described = RedPolicy.load(red).config
    assert described.train.against == "recommended"
    assert str(run) not in red.with_suffix(".json").read_text()  # it may be moved
    game = small().game.changed(red_agent=str(red))
    other = play_batch(blue, game, 3, 400).result  # of other games
    assert abs(other.reward.mean - result.reward.mean) < 4 * result.reward.half_width
    told = summary["holding"]
    assert [told["best_responses"], told["is_lower_bound"]] == [[kept], True]
    assert set(told["attackers"]) == {"bline", "bait"}
    assert RESPONSE in stored(run, "manifest.json")["made"]


def test_none_are_trained_where_none_are_asked_for(run: Path, tmp_path: Path) -> None:
    without = run_search(small(responses=0), checkpoint_dir=tmp_path).path
    assert not list(without.glob("*/response_*"))
    scores, others = stored(without, "scores.json"), stored(run, "scores.json")
    assert "responses" not in scores
    assert scores["scores"] == others["scores"]  # nothing else depends on them
    holding = stored(without, "summary.json")["holding"]
    assert holding["holds"] is None
    assert "No best response was trained" in " ".join(holding["told"])
    usual = run_search(small(objective="episodes"), checkpoint_dir=tmp_path / "usual").path
    assert "holding" not in stored(usual, "summary.json")
    assert not list(usual.glob("*/response_*"))


@pytest.mark.parametrize(
    ("objective", "given", "expected"),
    [("worst", None, 1), ("mean", None, 1), ("episodes", None, 0), ("episodes", 2, 2)],
)
def test_by_default_a_value_by_attackers_asks_for_one(
    objective: str, given: int | None, expected: int
) -> None:
    assert small(objective=objective, responses=given).responses == expected


# --- going on


@pytest.mark.parametrize("kind", [Started, Rows, Done])
def test_a_search_that_was_stopped_in_a_best_response_ends_the_same_wherever_it_was_moved(
    run: Path, kind: type, tmp_path: Path
) -> None:
    with open_search(small(), checkpoint_dir=tmp_path / "first") as search:
        for event in search.events():
            task = getattr(event, "task", None)
            if isinstance(event, kind) and task is not None and task.name == "response_0":
                break
    snapshot = take_snapshot(search.directory.path)
    assert (snapshot.training, snapshot.updates) == (
        ("polish", 1) if kind is Started else ("response_0", 2)
    )
    moved = search.directory.path.rename(tmp_path / "moved")
    run_search(resume=moved)
    assert_same(moved, run)


@pytest.mark.parametrize("back", [4, 15, 40])
def test_a_search_whose_disk_fails_near_its_end_ends_the_same(
    whole: tuple[int, Path], back: int, tmp_path: Path
) -> None:
    operations, run = whole
    survives(small(), operations - back, "crash", run, tmp_path / "failed")


@pytest.mark.slow
def test_best_responses_in_processes_are_those_of_one_process(tmp_path: Path) -> None:
    several = small(responses=2)
    one = run_search(several, checkpoint_dir=tmp_path / "one").path
    other = small(responses=2, parallel_workflows=2, ordered_results=True)
    two = run_search(other, checkpoint_dir=tmp_path / "two").path
    assert stored(one, "scores.json")["responses"] == stored(two, "scores.json")["responses"]


def test_a_damaged_best_response_is_refused(run: Path, tmp_path: Path) -> None:
    copied = run_search(small(), checkpoint_dir=tmp_path).path
    (copied / RESPONSE).write_bytes(b"")
    refused("response_0", run_search, resume=copied)
    (copied / RESPONSE).unlink()
    run_search(resume=copied)  # and made again
    assert_same(copied, run)


# --- what is asked for wrongly


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--responses -1", "responses must be a whole number from 0 to 1000, not -1"),
        ("--worst --response-transitions 0", "response_transitions must be a whole number from 1"),
        ("--mean --response-transitions 38399", "response_transitions must be at least 38400"),
        (
            "--red-agent mixed --worst --observation belief --polish documented",
            "none of them with --responses 0",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_begun(
    flags: str, sentence: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(["search", *flags.split()], capsys, tmp_path)


def test_the_policy_handed_over_decides_what_can_be_trained() -> None:
    believing = small(red_agent="mixed", observation="belief")
    assert checked_search(believing) == believing  # universal is handed over, which has a memory


# --- what is said


def against(red_agent: str, mean: float, half_width: float = 0.3) -> Result:
    return Result(red_agent, 100, Estimate(mean, half_width))


KNOWN = (against("bline", -12.0), against("bait", -20.0))


@pytest.mark.parametrize(
    ("scores", "holds", "said"),
    [
        ((-20.2,), True, "It holds against attackers that adapt: a best response to it"),
        ((-20.2, -20.5), True, "the worst of 2 best responses to it"),
        ((-20.7,), False, "It is not shown to hold against attackers that adapt within 1 point"),
        ((-20.2, -25.0), False, "-25.00 ± 0.30, 5.0 (4.6 to 5.4) points below that"),
        ((-25.0,), False, "It does not hold against attackers that adapt: a best response to it"),
        ((-18.0,), None, "less than an attacker of the search takes: the training was too short"),
        ((), None, "No best response was trained"),
    ],
)
def test_only_what_a_best_response_bears_out_is_claimed(
    scores: tuple[float, ...], holds: bool | None, said: str
) -> None:
    responses = tuple(against(f"policies/response_{k}", mean) for k, mean in enumerate(scores))
    holding = Holding(KNOWN, responses, 2_000_000)
    told = " ".join(holding.sentences)
    assert said in told
    assert told.startswith("Of the attackers of the search bait takes most: -20.00 ± 0.30.")
    assert ("It holds against" in told) == (holding.holds is True)
    assert holding.holds is holds
    assert ("lower bound" in told) == bool(scores)
    if scores:
        assert holding.taken is not None
        assert holding.taken.mean == pytest.approx(-20.0 - min(scores))
        assert holding.taken.half_width == pytest.approx(math.hypot(0.3, 0.3))
        assert holding.as_json()["margin"] == MARGIN


def test_a_policy_that_samples_its_actions_is_compared_as_it_plays(run: Path) -> None:
    policy = HandedOver.load(run)
    for acts in ("deterministic", "sampled"):
        holding = policy.holding(small(acts=acts))
        assert holding is not None
        assert holding.attackers == tuple(
            getattr(score, acts) for score in policy.scores if score.red_agent in ("bline", "bait")
        )


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The run of a command, and what it printed."""
    folder = tmp_path_factory.mktemp("command")
    sizes = "--n-envs 6 --max-episodes 3 --max-steps 20 --n-workflows 2 --polish-updates 1"
    judged = "--score-games 5 --objective-games 4 --response-transitions 7680"
    flags = f"--red-agent bline=1,bait=1 --worst {sizes} {judged}"
    said = run_here("search", *flags.split(), cwd=folder)
    (run,) = (folder / "logs").iterdir()
    return run, " ".join(said.split())


def test_the_terminal_says_against_whom_the_policy_holds(command: tuple[Path, str]) -> None:
    run, said = command
    summary = stored(run, "summary.json")
    assert "4. best responses: 1 trained against that policy, 7,680 transitions each" in said
    assert "response_0: an attacker, against the policy for" in said
    assert "2/2 " in said
    assert "3/2 " not in said  # it is no trial
    assert "reward against the attacker that takes most, in 4 fresh games" in said
    for sentence in summary["holding"]["told"]:
        assert sentence in said
    (response,) = summary["holding"]["best_responses"]
    shown = f"{response['reward']['mean']:.2f} ± {response['reward']['half_width']:.2f}"
    assert f"{BEST_RESPONSE} {shown}" in said


def test_the_report_tells_it_in_the_answer_and_in_the_matrix(command: tuple[Path, str]) -> None:
    run, _ = command
    text = visible((run / "report.html").read_text()).replace("\u00a0", " ")
    for sentence in stored(run, "summary.json")["holding"]["told"]:
        assert text.count(sentence) == 2
    found = find(read_run(run))
    matrix = found.payoffs
    assert matrix is not None
    assert matrix.rows[0] == HANDED_OVER
    assert matrix.attackers == ("bline", "bait", BEST_RESPONSE)
    assert [math.isnan(score) for score in matrix.scores[1]] == [False, False, True]
    assert found.best_tried is not None
    assert found.best_tried[0] in matrix.rows[1:]
    assert "response_0" not in [curve.name for curve in found.run.trial_curves]
    assert "response_0" in [curve.name for curve in found.run.curves]


def test_the_playbook_tells_it_to_people_and_to_orchestrators(command: tuple[Path, str]) -> None:
    run, _ = command
    holding = stored(run, "summary.json")["holding"]
    runbook, cacao = write_playbook(run)
    section = runbook.read_text().partition("## For which attackers it holds\n")[2]
    playbook = stored(run, cacao.name)
    for name, told in holding["attackers"].items():
        assert f"| {name} | {told['mean']:.2f} ± {told['half_width']:.2f} |" in section
    assert f"| {BEST_RESPONSE} to the policy | " in section
    for sentence in holding["told"]:
        assert sentence in section
        assert sentence in playbook["description"]
    assert broken_rules(playbook) == []
    (kept,) = playbook["playbook_extensions"].values()
    assert kept["evidence"]["holding"] == holding
