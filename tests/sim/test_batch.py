"""A batch: its steps, its episodes and its streams of chance."""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.forked import holds_in_a_fork
from tests.refused import refused
from tests.sim.board import host_mask
from tests.sim.games import ACTING, FEW, GAMES, SEEDS, STEPS, N, random_actions
from workflow_rl.config import GameConfig
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTIONS as BLUE
from workflow_rl.scenario.scenario2 import NUM_ACTIONS, NUM_HOSTS
from workflow_rl.sim.batch import Batch, max_threads, settings_of
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE, WORDS, philox
from workflow_rl.sim.observation import SIMULATED
from workflow_rl.sim.state import state_dtype
from workflow_rl.sim.turn import draw_red

two_cores = pytest.mark.skipif(max_threads() < 2, reason="needs two cores")
MEANDER = GameConfig(red_agent="meander", episode_length=31)


def begun(n: int, game: GameConfig, seed: int = 0, **settings: Any) -> Batch:
    batch = Batch(n, game, **settings)
    batch.reset(seed=seed)
    return batch


def sleep(batch: Batch, steps: int = 1) -> list[int]:
    """Lets Blue sleep; returns how many episodes ended in each step."""
    return [batch.step(np.zeros(batch.num_envs, np.int64)) for _ in range(steps)]


def bytes_of(batch: Batch, rows: slice = slice(None)) -> list[bytes]:
    return [
        batch.state[rows].tobytes(),
        *(array[rows].tobytes() for array in batch.out._asdict().values()),
    ]


def fields_of(batch: Batch, *left_out: str) -> dict[str, Any]:
    names = set(state_dtype(SCENARIO2).names or ()) - {*left_out}
    return {name: batch.state[name].tolist() for name in names}


def test_the_step_limit_truncates_and_starts_the_next_episode() -> None:
    batch = begun(2, GameConfig(red_agent="meander", episode_length=4))
    assert sleep(batch, 9) == [0, 0, 0, 2, 0, 0, 0, 2, 0]
    assert batch.state["episode"].tolist() == [2, 2]
    assert batch.final_observation.sum() > 0


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=two_cores)])
@pytest.mark.parametrize("bad", [-1, NUM_ACTIONS, 200])
def test_an_action_out_of_range_is_refused_before_anything_is_played(
    bad: int, threads: int
) -> None:
    batch = begun(7, GameConfig(observation="memory"), num_threads=threads, new_rows=True)
    before, rows = bytes_of(batch), batch.observation
    for k in range(7):
        actions = np.full(7, 144)
        actions[k] = bad
        sentence = rf"^actions must be whole numbers from 0 to 144 .*, not {bad} at \({k}\)$"
        refused(sentence, batch.step, actions)
    assert bytes_of(batch) == before
    assert batch.observation is rows


ACTIONS, DRAWS = np.zeros(3, np.int64), np.zeros((3, 5), np.int64)


@pytest.mark.parametrize(
    "given",
    [
        *((ACTIONS.astype(kind),) for kind in (np.float64, np.bool_)),
        *((ACTIONS[:2],), (np.zeros(4, np.int64),), (ACTIONS[:, None],), (None,), ([[0], [0, 0]],)),
        (ACTIONS, DRAWS.astype(np.float64)),
        *((ACTIONS, DRAWS[:2]), (ACTIONS, DRAWS[:, :4].copy()), (ACTIONS, DRAWS[:0])),
        *((ACTIONS, DRAWS.ravel()), (ACTIONS, None)),
    ],
)
def test_other_arrays_are_refused_before_anything_is_played(given: Any) -> None:
    batch = begun(3, GameConfig())
    before = bytes_of(batch)
    what = r"actions .* shape \(3,\)" if len(given) == 1 else r"draws .* shape \(3, 5\)"
    refused(f"^{what}, not ", batch.step, *given)
    assert bytes_of(batch) == before


def test_what_was_saved_of_another_batch_is_refused_before_anything_changes() -> None:
    batch, larger = begun(3, GameConfig()), begun(4, GameConfig())
    before = bytes_of(batch)
    saved = batch.saved()
    for wrong in ({}, larger.saved(), saved | {"out.reward": saved["out.reward"][:2]}):
        refused("must be .* of shape", batch.load, wrong)
    assert bytes_of(batch) == before


@pytest.mark.parametrize("draw", [WORDS, 2**62, ~128, ~200, -(2**63)])
@pytest.mark.parametrize("column", range(5))
def test_a_draw_that_is_no_word_and_no_recorded_outcome_is_refused(draw: int, column: int) -> None:
    batch = begun(2, GameConfig(green_agent="active"))
    before = bytes_of(batch)
    draws = np.zeros((2, 5), np.int64)
    draws[1, column] = draw
    sentence = rf"^draws must be .* from -128 to {WORDS - 1} .*, not {draw} at \(1, {column}\)$"
    refused(sentence, batch.step, np.zeros(2, np.int64), draws)
    assert bytes_of(batch) == before


@pytest.mark.parametrize("draw", [0, WORDS - 1, ~0, ~TOOK_FAVOURITE, ~CHOSE_NOBODY])
@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_every_word_and_every_recorded_outcome_can_be_played(draw: int, red_agent: Any) -> None:
    batch = begun(2, GameConfig(red_agent=red_agent, green_agent="active"))
    for _ in range(30):
        batch.step(np.zeros(2, np.int64), np.full((2, 5), draw))
        assert (batch.state["red_target"] < NUM_HOSTS).all()


def test_what_was_seen_last_is_kept_when_the_next_episode_has_begun() -> None:
    game = GameConfig(red_agent="bline", episode_length=6)
    going_on, waiting = begun(3, game), begun(3, game, autoreset=False)
    for batch in (going_on, waiting):
        assert sleep(batch, 5) == [0] * 5
        assert not batch.out.truncated.any()
        assert sleep(batch) == [3]
        assert batch.out.truncated.all()
    assert going_on.final_observation.tolist() == waiting.observation.tolist()
    assert going_on.out.final_red_access.tolist() == waiting.out.red_access.tolist()
    assert waiting.observation.any()
    assert not going_on.observation.any()
    assert (going_on.state["step"].tolist(), waiting.state["step"].tolist()) == ([0] * 3, [6] * 3)
    assert sleep(waiting) == [3]  # the end lasts until a reset
    assert waiting.out.truncated.all()
    waiting.reset()
    assert waiting.state["episode"].tolist() == [1] * 3


def test_the_parts_of_the_reward_are_confidentiality_availability_and_the_cost_of_actions() -> None:
    batch = begun(2, GameConfig(red_agent="sleep"))
    batch.state["privileged"][1] |= host_mask("Ent0", "U1")
    batch.state["ot_down"][1] = host_mask("OpS")
    batch.step(np.array([0, BLUE.parse("Restore User4")]))
    assert batch.out.reward_tenths.tolist() == [[0, 0, 0], [-11, -100, -10]]
    assert batch.out.reward.tolist() == [0.0, -12.1]


def test_compiling_plays_nothing() -> None:
    batch = begun(2, MEANDER)
    before = bytes_of(batch)
    batch.compile()
    assert bytes_of(batch) == before


@pytest.mark.parametrize("observation", SIMULATED)
def test_observations_in_new_rows_are_the_same_and_last(observation: Any) -> None:
    config = GameConfig(red_agent="meander", observation=observation, episode_length=7)
    one, two = Batch(3, config), Batch(3, config, new_rows=True)
    kept, seen, its_own = [], [], one.observation
    for seed in (5, None):
        one.reset(seed)
        two.reset(seed)
        for actions in random_actions(5, 0.5, 3, 20):
            kept.append(one.observation.copy())
            seen.append(two.observation)
            one.step(actions)
            two.step(actions)
            assert one.final_observation.tobytes() == two.final_observation.tobytes()
    two.load(Batch(3, config).saved())
    assert not two.observation.any()
    assert [rows.tobytes() for rows in seen] == [rows.tobytes() for rows in kept]
    assert one.observation is its_own


@pytest.mark.parametrize(
    ("count", "threads", "sentence"),
    [
        (0, 1, "num_envs must be a whole number from 1 to 10000000, not 0"),
        (1, 0, "num_threads must be a whole number from 1 to"),
        (1, max_threads() + 1, f"from 1 to {max_threads()}, not {max_threads() + 1}"),
    ],
)
def test_a_batch_of_nothing_or_of_too_many_threads_is_refused(
    count: int, threads: int, sentence: str
) -> None:
    refused(sentence, Batch, count, GameConfig(), num_threads=threads)


def test_a_saved_batch_goes_on_where_it_was() -> None:
    game = GameConfig(red_agent="mixed", observation="memory", episode_length=5)
    one, two = begun(FEW, game, 1), begun(FEW, game, 1)
    actions = random_actions(1, 0.5, FEW, 8)
    for row in actions[:3]:
        one.step(row)
    saved = one.saved()
    two.load(saved)
    assert bytes_of(two) == bytes_of(one)
    for row in actions[3:]:
        one.step(row)
        two.step(row)
    assert bytes_of(two) == bytes_of(one)
    assert saved["states"].tobytes() != one.state.tobytes()  # a copy


@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, steps=st.integers(0, 30), noise=st.booleans())
def test_an_episode_starts_the_same_whatever_was_played_before(
    game: dict[str, Any], seed: int, acting: float, steps: int, noise: bool
) -> None:
    played, fresh = begun(FEW, GameConfig(**game), seed + 1), begun(FEW, GameConfig(**game), seed)
    for actions in random_actions(seed, acting, FEW, steps):
        played.step(actions)
    if noise:  # what no play leaves behind
        garbage = np.random.default_rng(seed).integers(0, 256, played.state.nbytes)
        played.state.view(np.uint8)[:] = garbage
        played.state["index"] = np.arange(FEW)
    played.reset(seed=seed)
    assert fields_of(played) == fields_of(fresh)
    for name in ("observation", "red_access", "action_mask"):
        assert getattr(played.out, name).tolist() == getattr(fresh.out, name).tolist()


@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_the_next_episode_starts_as_after_a_reset(game: Any, seed: int, acting: float) -> None:
    config = GameConfig(**game | {"episode_length": 30})
    played, fresh = begun(FEW, config, seed), begun(FEW, config, seed)
    for actions in random_actions(seed, acting, FEW, 30):
        played.step(actions)
    fresh.reset()
    assert fields_of(played) == fields_of(fresh)


def test_chance_comes_from_the_seed_the_step_the_episode_and_the_environment() -> None:
    game = GameConfig(red_agent="mixed", episode_length=3)
    batch = begun(6, game, seed=11)
    key = np.random.SeedSequence(11).generate_state(2).tolist()
    settings = settings_of(game, autoreset=True)[0]
    for episode in range(3):
        words = [philox(0, episode, k, *key).first for k in range(6)]
        agents = [draw_red(settings, word) for word in words]
        assert batch.state["red_agent"].tolist() == agents
        told = begun(6, game, autoreset=False)  # the same, told how chance falls
        told.state["red_agent"] = agents
        for step in range(3):
            draws = np.array([[*philox(step + 1, episode, k, *key), 0] for k in range(6)])
            told.step(np.zeros(6, np.int64), draws)
            sleep(batch)
            if step < 2:
                for name in ("red_action", "red_target", "red_exploit", "table"):
                    assert batch.state[name].tolist() == told.state[name].tolist()


def play(batches: Sequence[Batch], seed: int, acting: float) -> None:
    """Plays the same in each batch, in as many environments as it has."""
    for actions in random_actions(seed, acting, max(b.num_envs for b in batches), STEPS):
        for batch in batches:
            batch.step(actions[: batch.num_envs].copy())


@pytest.mark.compiled
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_the_same_seed_gives_the_same_bytes(game: dict[str, Any], seed: int, acting: float) -> None:
    one, two = begun(N, GameConfig(**game), seed), begun(N, GameConfig(**game), seed + 1)
    sleep(two)  # what was played before does not matter
    two.state["step"] = 17
    two.reset(seed=seed)
    play((one, two), seed, acting)
    stale = {"final_observation", "final_red_access"} if game["episode_length"] > STEPS else set()
    assert one.state.tobytes() == two.state.tobytes()
    for name in set(one.out._asdict()) - stale:
        assert getattr(one.out, name).tobytes() == getattr(two.out, name).tobytes()


@pytest.mark.compiled
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, n=st.integers(1, N - 1))
def test_an_environment_plays_the_same_whatever_the_size_of_the_batch(
    game: dict[str, Any], seed: int, acting: float, n: int
) -> None:
    large, small = begun(N, GameConfig(**game), seed), begun(n, GameConfig(**game), seed)
    play((large, small), seed, acting)
    assert bytes_of(large, slice(n)) == bytes_of(small)


@two_cores
@settings(deadline=None, max_examples=10)
@given(game=GAMES, seed=SEEDS, acting=ACTING, n=st.integers(1, 9))
def test_threads_do_not_change_a_byte(
    game: dict[str, Any], seed: int, acting: float, n: int
) -> None:
    one, two = (begun(n, GameConfig(**game), seed, num_threads=k) for k in (1, 2))
    for actions in random_actions(seed, acting, n, 10):
        assert one.step(actions) == two.step(actions)
    assert bytes_of(one) == bytes_of(two)


@pytest.mark.compiled
@two_cores
def test_in_a_fork_threads_that_openmp_has_started_are_refused() -> None:
    one, two = (begun(4, MEANDER, num_threads=k) for k in (1, 2))
    sleep(two)
    at_first = bytes_of(two)

    def play() -> None:
        assert sleep(one) == [0]
        if numba.threading_layer() == "omp":
            refused("num_threads must be 1 here: this process was forked", sleep, two)
            refused("start processes by spawn", sleep, begun(4, MEANDER, num_threads=2))
            assert bytes_of(two) == at_first
            assert holds_in_a_fork(lambda: refused("must be 1 here", sleep, two))
        else:
            sleep(two)

    assert holds_in_a_fork(play)
    assert sleep(two) == [0]


def test_episodes_differ_between_environments_episodes_and_seeds() -> None:
    before: Any = np.random.get_state()
    seen: set[bytes] = set()
    for seed in (0, 1):
        batch = begun(FEW, MEANDER, seed)
        for _ in range(2):
            targets = []
            for _ in range(31):
                sleep(batch)
                targets.append(batch.state["red_target"].copy())
            seen.update(row.tobytes() for row in np.stack(targets[:30], axis=1))
    assert len(seen) == 2 * 2 * FEW
    after: Any = np.random.get_state()
    assert after[1].tolist() == before[1].tolist()  # no global generator is touched
