from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.board import Board, Match, host_index, host_mask
from workflow_rl.config import RED_AGENTS, RULE_SETS, GameConfig, RedAgentName
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import DECOY_ACTIONS, FIRST_RESTORE, NUM_ACTIONS
from workflow_rl.scenario.tables import DECOYS, Subnet
from workflow_rl.scenario.tables import HOSTS as SCENARIO
from workflow_rl.sim.batch import Batch, max_threads
from workflow_rl.sim.state import NOBODY, STATE_DTYPE, Access, RedAgent, Success

# --- the start


def test_an_episode_starts_with_red_on_user0_and_nothing_else() -> None:
    match = Match(red_agent="meander", observation="cardiff")
    match.batch.state.view(np.uint8)[:] = 1  # no field is left over from an earlier episode
    match.arrange(index=0).batch.reset(seed=3)
    user0 = host_mask("U0")
    given_value = {
        "privileged": user0,
        "ot_running": True,
        "subnets_known": 1 << Subnet.USER,
        "addresses_known": user0,
        "names_known": user0,
        "red_agent": int(RedAgent.MEANDER),
        "blue_success": int(Success.UNKNOWN),
        "red_success": int(Success.UNKNOWN),
        "red_options": -1,
    } | dict.fromkeys(
        (
            *("blue_action", "decoy_placed", "malware_found", "scan_latest"),
            *("red_target", "red_exploit", "red_decoy_hit", "bline_target"),
        ),
        NOBODY,
    )
    per_host = dict.fromkeys(("decoys", "event_count", "event_ports", "ports"), [0] * 13)
    assert match.record() == {
        name: given_value.get(name, per_host.get(name, 0)) for name in match.record()
    }


@pytest.mark.parametrize("name", RED_AGENTS)
def test_a_named_red_agent_plays_every_episode(name: RedAgentName) -> None:
    batch = Batch(50, GameConfig(red_agent=name))
    for seed in range(3):
        batch.reset(seed=seed)
        assert set(batch.state["red_agent"].tolist()) == {RED_AGENTS.index(name)}


@pytest.mark.compiled
def test_mixed_red_agents_are_drawn_for_each_episode_by_their_weights() -> None:
    n = 20_000
    weights = {"bline": 3, "sleep": 1}
    batch = Batch(n, GameConfig(red_agent="mixed", red_probabilities=weights, episode_length=1))
    batch.reset(seed=0)
    before = batch.state["red_agent"].copy()
    for _ in range(2):
        counts = np.bincount(batch.state["red_agent"], minlength=3)
        assert counts[RedAgent.MEANDER] == 0
        assert counts / n == pytest.approx([0.75, 0, 0.25], abs=0.015)
        batch.step(np.zeros(n, np.int64))  # ends the episode: drawn anew
    assert (batch.state["red_agent"] != before).mean() == pytest.approx(2 * 0.75 * 0.25, abs=0.015)


# --- the order of a step


def test_blues_restore_comes_before_reds_escalation() -> None:
    board = Board().put("persistent", "U4").turn("Restore U4", "PE U4")
    assert (board.red.success, board.access("U4"), board.reward) == (
        Success.FALSE,
        Access.NONE,
        -1.0,
    )


def test_blues_restore_wipes_decoys_before_reds_exploit() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0").turn(red="DNS Ent0")
    board.turn("Restore Ent0", "EXP Ent0 by SSH")
    assert (board.red.success, board.access("Ent0")) == (Success.TRUE, Access.USER)


@pytest.mark.parametrize(
    ("kind", "success", "access"),
    [
        ("removable", Success.FALSE, Access.NONE),
        ("persistent", Success.TRUE, Access.PRIVILEGED),
    ],
)
def test_blues_remove_comes_before_reds_escalation(
    kind: str, success: Success, access: Access
) -> None:
    board = Board().put(kind, "U4").turn("Remove U4", "PE U4")
    assert (board.red.success, board.access("U4")) == (success, access)


def test_blues_remove_misses_the_shell_of_the_same_step() -> None:
    board = Board().turn(red="DNS U4").turn("Remove U4", "EXP U4 by HTTP")
    assert board.sessions("U4") == {"removable"}


def test_reds_scan_sees_the_decoy_of_the_same_step_and_its_exploit_does_not() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0", "DNS Ent0")
    board.turn("DecoyTomcat Ent0", "EXP Ent0 by SSH")
    assert board.red.options == 2  # Haraka and SSH: Tomcat's port is not in memory


def test_restoring_the_last_foothold_cuts_reds_route_in_the_same_step() -> None:
    for red in ("DNS OpS", "EXP OpS", "DRS Operational"):
        board = Board().put("persistent", "Ent0").remember("OpS", 22).turn("Restore Ent0", red)
        assert board.red.outcome.name == "NO_ROUTE"


def test_green_acts_after_blue() -> None:
    board = (
        Board(green_agent="active").turn("DecoyTomcat Ent0").turn("DecoyApache Ent0", green="Ent0")
    )
    assert board.bits("Ent0") == "1000"  # three ports: Green has seen the new decoy


def test_order_inside_a_step_on_user4() -> None:
    board = Board().turn(red="DNS U4")
    true, false = Success.TRUE, Success.FALSE
    expected = [
        ("Sleep", "EXP U4 by HTTP", true, 0.0, "1101", Access.USER),
        ("Remove U4", "PE U4", false, 0.0, "0010", Access.NONE),
        ("Sleep", "EXP U4 by SSH", true, 0.0, "1101", Access.USER),
        ("Remove U4", "PE U4", true, -0.1, "0010", Access.PRIVILEGED),
        ("Restore U4", "PE U4", false, -1.0, "0000", Access.NONE),
        ("Restore U4", "EXP U4 by Haraka", true, -1.1, "1101", Access.PRIVILEGED),
    ]
    got = []
    for blue, red, *_ in expected:
        board.turn(blue, red)
        got.append(
            (blue, red, board.red.success, board.reward, board.bits("U4"), board.access("U4"))
        )
    assert got == expected


def test_red_chooses_by_the_result_of_its_last_action() -> None:
    match = Match(red_agent="bline").turn().turn(target="U1").turn("DecoyApache U1")
    assert match.did == "EXP U1 by FTP"
    match.turn("Restore U1")  # the step in which Red escalates: too late for it to know
    assert (match.did, match.red.success) == ("PE U1", Success.FALSE)
    assert match.turn().did == "EXP U1 by FTP"


def test_the_step_limit_truncates_and_starts_the_next_episode() -> None:
    batch = Batch(2, GameConfig(red_agent="meander", episode_length=4))
    batch.reset(seed=0)
    sleep = np.zeros(2, np.int64)
    assert [batch.step(sleep) for _ in range(9)] == [0, 0, 0, 2, 0, 0, 0, 2, 0]
    assert batch.state["episode"].tolist() == [2, 2]
    assert batch.final_observation.sum() > 0


def test_an_action_out_of_range_is_refused_before_anything_is_played() -> None:
    batch = Batch(3, GameConfig())
    batch.reset(seed=0)
    before = batch.state.tobytes()
    for bad in (-1, NUM_ACTIONS):
        with pytest.raises(InvalidInputError, match=f"action {bad} of environment 2 is not one"):
            batch.step(np.array([0, 144, bad]))
    assert batch.state.tobytes() == before


# --- invariants under random play

GAMES = st.fixed_dictionaries(
    {
        "red_agent": st.sampled_from([*RED_AGENTS, "mixed"]),
        "rules": st.sampled_from(RULE_SETS),
        "green_agent": st.sampled_from(["sleep", "active"]),
        "observation": st.sampled_from(["challenge", "cardiff"]),
        "episode_length": st.sampled_from([7, 50, 1000]),
    }
)
SEEDS = st.integers(0, 2**32)
ACTING = st.sampled_from([0.0, 0.05, 0.3, 1.0])  # how often Blue does not sleep
N = 12
STEPS = 80
FEW = 5  # environments where one would nearly do: interpreted, a step takes its time

VALUES = np.array([round(10 * host.confidentiality) for host in SCENARIO])
POSSIBLE_DECOYS = np.array(  # per host, by its system and its original services
    [
        sum(
            1 << d
            for d, decoy in enumerate(DECOYS)
            if decoy.windows in (None, host.windows)
            and decoy.needs_free not in {service.port for service in host.services}
        )
        for host in SCENARIO
    ]
)


def random_actions(seed: int, acting: float, n: int, steps: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(seed)
    actions = generator.integers(0, NUM_ACTIONS, (steps, n))
    actions[generator.random((steps, n)) > acting] = 0
    return actions


def members(sets: np.ndarray[Any, Any], size: int = 13) -> np.ndarray[Any, Any]:
    return sets[..., None] >> np.arange(size) & 1


@pytest.mark.compiled
@settings(deadline=None, max_examples=40)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_invariants_hold_under_random_play(game: dict[str, Any], seed: int, acting: float) -> None:
    batch = Batch(N, GameConfig(**game))
    batch.reset(seed=seed)
    u0, defender = host_index("U0"), host_index("Def")
    for actions in random_actions(seed, acting, N, STEPS):
        batch.step(actions)
        s, out = batch.state, batch.out
        privileged, removable, persistent, malware = (
            members(s[name]) for name in ("privileged", "removable", "persistent", "malware")
        )
        held = privileged | removable | persistent
        assert privileged[:, u0].all()
        assert not held[:, defender].any()
        assert not malware[:, defender].any()
        no_file = (privileged & ~malware).astype(bool)
        no_file[:, u0] = False
        assert not no_file.any()
        assert not (removable & ~malware & 1).any()
        assert (out.red_access == held + privileged).all()

        bits = members(s["table"], 52)
        assert (batch.observation[:, :52] == bits).all()
        a1, a2 = bits[:, 0::4], bits[:, 1::4]
        assert (a1 >= a2).all()  # there is no activity 01
        for field in ("event_hosts", "event_count", "event_ports", "shell_events"):
            assert not s[field].any()
        if game["observation"] == "cardiff":
            scans = batch.observation[:, 52:]
            assert ((scans >= 0) & (scans <= 2)).all()
            assert ((scans == 2).sum(axis=1) == (scans.max(axis=1) > 0)).all()

        assert not (s["decoys"] & ~POSSIBLE_DECOYS).any()
        for h in range(13):
            used = {service.port for service in SCENARIO[h].services}
            offered = out.action_mask[:, DECOY_ACTIONS[h]]
            for k in range(N):
                decoys = int(s["decoys"][k, h])
                ports = used | {y.opens for d, y in enumerate(DECOYS) if decoys >> d & 1}
                expected = [
                    POSSIBLE_DECOYS[h] >> d & 1 and y.needs_free not in ports
                    for d, y in enumerate(DECOYS)
                ]
                assert offered[k].tolist() == [bool(value) for value in expected]

        assert (out.reward == out.reward_tenths.sum(axis=1) / 10.0).all()
        assert (out.reward_tenths <= 0).all()
        assert (out.reward_tenths[:, 2] == np.where(actions >= FIRST_RESTORE, -10, 0)).all()
        playing = ~out.truncated
        charged = -(privileged * VALUES).sum(axis=1)
        assert (out.reward_tenths[playing, 0] == charged[playing]).all()
        down = np.where(s["ot_running"], 0, -100)
        assert (out.reward_tenths[playing, 1] == down[playing]).all()
        assert not ((s["ot_running"] == 0) & members(s["restored"])[:, host_index("OpS")]).any()


# --- a new episode


def fields_of(batch: Batch) -> dict[str, Any]:
    return {name: batch.state[name].tolist() for name in STATE_DTYPE.names or ()}


@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, steps=st.integers(0, 30), noise=st.booleans())
def test_an_episode_starts_the_same_whatever_was_played_before(
    game: dict[str, Any], seed: int, acting: float, steps: int, noise: bool
) -> None:
    played, fresh = Batch(FEW, GameConfig(**game)), Batch(FEW, GameConfig(**game))
    played.reset(seed=seed + 1)
    for actions in random_actions(seed, acting, FEW, steps):
        played.step(actions)
    if noise:  # what no play leaves behind
        garbage = np.random.default_rng(seed).integers(0, 256, played.state.nbytes)
        played.state.view(np.uint8)[:] = garbage
        played.state["index"] = np.arange(FEW)
    played.reset(seed=seed)
    fresh.reset(seed=seed)
    assert fields_of(played) == fields_of(fresh)
    for name in ("observation", "red_access", "action_mask"):
        assert getattr(played.out, name).tolist() == getattr(fresh.out, name).tolist()


@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_the_episode_after_the_step_limit_starts_like_a_fresh_one(
    game: dict[str, Any], seed: int, acting: float
) -> None:
    config = GameConfig(**game | {"episode_length": 30})
    played, fresh = Batch(FEW, config), Batch(FEW, config)
    played.reset(seed=seed)
    for actions in random_actions(seed, acting, FEW, 30):
        played.step(actions)
    fresh.reset(seed=seed)
    fresh.reset()  # the second episode, and nothing was played in the first
    assert fields_of(played) == fields_of(fresh)


# --- streams


def bytes_of(batch: Batch, rows: slice = slice(None)) -> list[bytes]:
    return [
        batch.state[rows].tobytes(),
        *(array[rows].tobytes() for array in batch.out.arrays().values()),
    ]


@pytest.mark.compiled
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_the_same_seed_gives_the_same_bytes(game: dict[str, Any], seed: int, acting: float) -> None:
    one, two = (Batch(N, GameConfig(**game)) for _ in range(2))
    two.reset(seed=seed + 1)  # what was played before does not matter
    two.step(np.zeros(N, np.int64))
    two.state["step"] = 17
    one.reset(seed=seed)
    two.reset(seed=seed)
    for actions in random_actions(seed, acting, N, STEPS):
        one.step(actions)
        two.step(actions)
    stale = {"final_observation", "final_red_access"} if game["episode_length"] > STEPS else set()
    assert one.state.tobytes() == two.state.tobytes()
    for name in set(one.out.arrays()) - stale:
        assert getattr(one.out, name).tobytes() == getattr(two.out, name).tobytes()


@pytest.mark.compiled
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, n=st.integers(1, N - 1))
def test_an_environment_plays_the_same_whatever_the_size_of_the_batch(
    game: dict[str, Any], seed: int, acting: float, n: int
) -> None:
    large, small = Batch(N, GameConfig(**game)), Batch(n, GameConfig(**game))
    large.reset(seed=seed)
    small.reset(seed=seed)
    for actions in random_actions(seed, acting, N, STEPS):
        large.step(actions)
        small.step(actions[:n].copy())
    assert bytes_of(large, slice(n)) == bytes_of(small)


@pytest.mark.compiled
@pytest.mark.skipif(max_threads() < 2, reason="needs two cores")
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, n=st.integers(1, 40))
def test_threads_do_not_change_a_byte(
    game: dict[str, Any], seed: int, acting: float, n: int
) -> None:
    one, two = Batch(n, GameConfig(**game)), Batch(n, GameConfig(**game), num_threads=2)
    one.reset(seed=seed)
    two.reset(seed=seed)
    for actions in random_actions(seed, acting, n, STEPS):
        assert one.step(actions) == two.step(actions)
    assert bytes_of(one) == bytes_of(two)


def test_permuted_actions_and_draws_permute_the_results() -> None:
    generator = np.random.default_rng(0)
    order = generator.permutation(FEW)
    game = GameConfig(red_agent="meander", green_agent="active", episode_length=1000)
    one, two = Batch(FEW, game), Batch(FEW, game)
    one.reset(seed=0)
    two.reset(seed=1)
    for actions in random_actions(0, 0.3, FEW, STEPS):
        draws = generator.integers(0, 2**32, (FEW, 4))
        one.step(actions, draws)
        two.step(actions[order].copy(), draws[order].copy())
    for name in set(STATE_DTYPE.names or ()) - {"index"}:
        assert one.state[name][order].tolist() == two.state[name].tolist()
    assert one.observation[order].tobytes() == two.observation.tobytes()


def episodes_of(batch: Batch) -> list[bytes]:
    """What Red did in the next 30 steps of each environment, against a sleeping Blue."""
    targets = []
    for _ in range(30):
        batch.step(np.zeros(batch.num_envs, np.int64))
        targets.append(batch.state["red_target"].copy())
    return [row.tobytes() for row in np.stack(targets, axis=1)]


def test_episodes_differ_between_environments_episodes_and_seeds() -> None:
    batch = Batch(FEW, GameConfig(red_agent="meander", episode_length=31))
    seen: set[bytes] = set()
    for seed in (0, 1):
        batch.reset(seed=seed)
        seen.update(episodes_of(batch))
        batch.step(np.zeros(FEW, np.int64))  # the last step, and the next episode
        seen.update(episodes_of(batch))
    assert len(seen) == 2 * 2 * FEW


def test_a_reset_without_a_seed_goes_on_to_the_next_episode_like_the_step_limit() -> None:
    game = GameConfig(red_agent="meander", episode_length=31)
    by_limit, by_reset = Batch(FEW, game), Batch(FEW, game)
    by_limit.reset(seed=0)
    by_reset.reset(seed=0)
    for _ in range(31):
        by_limit.step(np.zeros(FEW, np.int64))
    by_reset.reset()
    assert episodes_of(by_limit) == episodes_of(by_reset)


def global_stream() -> Any:
    state: Any = np.random.get_state()
    return state[1].tolist()


def test_no_global_generator_is_touched() -> None:
    before = global_stream()
    batch = Batch(4, GameConfig(red_agent="meander"))
    batch.reset(seed=0)
    episodes_of(batch)
    assert global_stream() == before
