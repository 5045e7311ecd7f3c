"""A batch: its steps, its episodes and its streams of chance."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.board import host_mask
from tests.sim.games import ACTING, FEW, GAMES, SEEDS, STEPS, N, random_actions
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS, parse_action
from workflow_rl.sim.batch import Batch, is_plain, max_threads, settings_of
from workflow_rl.sim.draws import philox
from workflow_rl.sim.observe import OBSERVATION_SIZES
from workflow_rl.sim.state import STATE_DTYPE
from workflow_rl.sim.turn import draw_red_agent

# --- a step


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
    for bad in (-1, NUM_ACTIONS, 200):
        for k in range(3):
            actions = np.array([0, 144, 144])
            actions[k] = bad
            sentence = f"action {bad} of environment {k} is not one of 0 to 144"
            with pytest.raises(InvalidInputError, match=sentence):
                batch.step(actions)
    assert batch.state.tobytes() == before


@pytest.mark.parametrize(
    "actions",
    [
        np.zeros(3, np.int32),
        np.zeros(3),
        np.zeros(3, np.bool_),
        np.zeros(2, np.int64),
        np.zeros(4, np.int64),
        np.zeros((3, 1), np.int64),
        np.zeros(6, np.int64)[::2],
    ],
    ids=["of 32 bits", "floats", "flags", "too few", "too many", "of two axes", "with gaps"],
)
def test_actions_that_machine_code_would_misread_are_refused_before_anything_is_played(
    actions: Any,
) -> None:
    batch = Batch(3, GameConfig())
    batch.reset(seed=0)
    before = bytes_of(batch)
    with pytest.raises(InvalidInputError, match="actions must be 3 64-bit integers, contiguous"):
        batch.step(actions)
    assert not is_plain(actions, (3,))
    assert bytes_of(batch) == before
    assert is_plain(np.zeros(6, np.int64)[:3], (3,))  # a part in one piece is taken
    assert batch.step(np.zeros(6, np.int64)[:3]) == 0


def test_what_was_seen_last_is_kept_when_the_next_episode_has_begun() -> None:
    game = GameConfig(red_agent="bline", episode_length=6)
    going_on, waiting = Batch(3, game), Batch(3, game, autoreset=False)
    for batch in (going_on, waiting):
        batch.reset(seed=0)
        for _ in range(5):
            assert batch.step(np.zeros(3, np.int64)) == 0
            assert not batch.out.truncated.any()
        assert batch.step(np.zeros(3, np.int64)) == 3
        assert batch.out.truncated.all()
    assert going_on.final_observation.tolist() == waiting.observation.tolist()
    assert going_on.out.final_red_access.tolist() == waiting.out.red_access.tolist()
    assert waiting.observation.any()
    assert not going_on.observation.any()
    assert (going_on.state["step"].tolist(), waiting.state["step"].tolist()) == ([0] * 3, [6] * 3)


def test_without_a_next_episode_the_end_lasts_until_a_reset() -> None:
    batch = Batch(2, GameConfig(episode_length=1), autoreset=False)
    batch.reset(seed=0)
    for _ in range(2):
        assert batch.step(np.zeros(2, np.int64)) == 2
        assert batch.out.truncated.all()
    batch.reset()
    assert batch.state["episode"].tolist() == [1, 1]


def test_a_step_gives_a_row_for_each_environment() -> None:
    batch = Batch(2, GameConfig())
    assert {name: array.shape for name, array in batch.out._asdict().items()} == {
        "observation": (2, 52),
        "reward": (2,),
        "reward_tenths": (2, 3),
        "red_access": (2, 13),
        "action_mask": (2, 145),
        "truncated": (2,),
        "final_observation": (2, 52),
        "final_red_access": (2, 13),
    }
    assert (batch.num_envs, batch.num_threads) == (2, 1)


def test_the_parts_of_the_reward_are_confidentiality_availability_and_the_cost_of_actions() -> None:
    batch = Batch(2, GameConfig(red_agent="sleep"))
    batch.reset(seed=0)
    batch.state["privileged"][1] |= host_mask("Ent0", "U1")
    batch.state["ot_running"][1] = False
    batch.step(np.array([0, parse_action("Restore User4")]))
    assert batch.out.reward_tenths.tolist() == [[0, 0, 0], [-11, -100, -10]]
    assert batch.out.reward.tolist() == [0.0, -12.1]


def test_compiling_plays_nothing() -> None:
    batch = Batch(2, GameConfig(red_agent="meander"))
    batch.reset(seed=4)
    before = bytes_of(batch)
    batch.compile()
    assert bytes_of(batch) == before


@pytest.mark.parametrize(
    ("game", "flags"),
    [
        ({}, set()),
        ({"green_agent": "active"}, {"green_active"}),
        ({"rules": "competition"}, {"rescan_unites_ports", "haraka_breaks"}),
        ({"observation": "cardiff"}, {"cardiff"}),
        ({"observation": "memory"}, set()),
        ({"observation": "truth"}, {"truth"}),
    ],
)
def test_what_is_the_same_for_all_environments_follows_from_the_game(
    game: dict[str, Any], flags: set[str]
) -> None:
    (record,) = settings_of(GameConfig(**game, episode_length=9), autoreset=False)
    names = ("autoreset", "green_active", "rescan_unites_ports", "haraka_breaks", "cardiff")
    assert {name for name in (*names, "truth") if record[name]} == flags
    assert record["episode_length"] == 9


@pytest.mark.parametrize("observation", OBSERVATION_SIZES)
def test_a_row_has_as_many_values_as_the_observation(observation: Any) -> None:
    batch = Batch(3, GameConfig(observation=observation))
    expected = 3, OBSERVATION_SIZES[observation]
    assert batch.observation.shape == batch.final_observation.shape == expected


@pytest.mark.parametrize("observation", OBSERVATION_SIZES)
def test_observations_in_new_rows_are_the_same_and_last(observation: Any) -> None:
    config = GameConfig(red_agent="meander", observation=observation, episode_length=7)
    one, two = Batch(3, config), Batch(3, config, new_rows=True)
    kept, seen, its_own = [], [], one.observation
    for seed in (5, None):
        one.reset(seed)
        two.reset(seed)
        kept.append(one.observation.copy())
        seen.append(two.observation)
        for actions in random_actions(5, 0.5, 3, 20):
            one.step(actions)
            two.step(actions)
            kept.append(one.observation.copy())
            seen.append(two.observation)
            assert one.final_observation.tobytes() == two.final_observation.tobytes()
    two.load(Batch(3, config).saved())
    assert not two.observation.any()
    assert [rows.tobytes() for rows in seen] == [rows.tobytes() for rows in kept]
    assert one.observation is its_own


def test_a_refused_step_leaves_what_was_seen() -> None:
    batch = Batch(2, GameConfig(observation="memory"), new_rows=True)
    batch.reset(3)
    batch.step(np.array([20, 60]))
    rows = batch.observation
    with pytest.raises(InvalidInputError, match=r"^action 145 of environment 1 is not one of"):
        batch.step(np.array([0, 145]))
    assert batch.observation is rows


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
    with pytest.raises(InvalidInputError, match=sentence):
        Batch(count, GameConfig(), num_threads=threads)


def test_a_saved_batch_goes_on_where_it_was() -> None:
    game = GameConfig(red_agent="mixed", observation="memory", episode_length=5)
    one, two = Batch(FEW, game), Batch(FEW, game)
    one.reset(seed=1)
    two.reset(seed=1)
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


def test_chance_comes_from_the_seed_the_step_the_episode_and_the_environment() -> None:
    game = GameConfig(red_agent="mixed", episode_length=3)
    batch = Batch(6, game)
    batch.reset(seed=11)
    key = np.random.SeedSequence(11).generate_state(2).tolist()
    settings = settings_of(game, autoreset=True)[0]
    for episode in range(3):
        words = [philox(0, episode, k, *key).target for k in range(6)]
        agents = [draw_red_agent(settings, word) for word in words]
        assert batch.state["red_agent"].tolist() == agents
        given = Batch(6, game, autoreset=False)  # the same, told how chance falls
        given.reset(seed=0)
        given.state["red_agent"] = agents
        for step in range(3):
            given.step(
                np.zeros(6, np.int64),
                np.array([philox(step + 1, episode, k, *key) for k in range(6)]),
            )
            batch.step(np.zeros(6, np.int64))
            if step < 2:
                for name in ("red_action", "red_target", "red_exploit", "table"):
                    assert batch.state[name].tolist() == given.state[name].tolist()


def bytes_of(batch: Batch, rows: slice = slice(None)) -> list[bytes]:
    return [
        batch.state[rows].tobytes(),
        *(array[rows].tobytes() for array in batch.out._asdict().values()),
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
    for name in set(one.out._asdict()) - stale:
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


@pytest.mark.skipif(max_threads() < 2, reason="needs two cores")
def test_threads_share_environments_that_do_not_divide_evenly() -> None:
    game = GameConfig(red_agent="bline", episode_length=3)
    one, two = Batch(7, game), Batch(7, game, num_threads=2)
    one.reset(seed=0)
    two.reset(seed=0)
    for actions in random_actions(0, 0.5, 7, 4):
        assert one.step(actions) == two.step(actions)
    assert bytes_of(one) == bytes_of(two)
    with pytest.raises(InvalidInputError, match="action 145 of environment 3 is not one"):
        two.step(np.array([0, 0, 0, 145, 0, 0, 0]))
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
