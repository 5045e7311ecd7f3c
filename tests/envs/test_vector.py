from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.refused import refused
from workflow_rl import Cage2VectorEnv
from workflow_rl.errors import NotResetError
from workflow_rl.scenario.scenario2 import USER0


def random_actions(steps: int, n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 145, (steps, n))


def game(seed: int | None = None, first_seed: int | None = None) -> bytes:
    """The observations of a game of random actions, by the seed of its making or first reset."""
    env = Cage2VectorEnv(8, red_agent="meander", seed=seed)
    env.reset(seed=first_seed)
    return b"".join(env.step(row)[0].tobytes() for row in random_actions(40, 8))


def test_a_seed_of_the_environment_or_of_the_first_reset_names_the_game() -> None:
    assert game(seed=9) == game(first_seed=9) == game(seed=8, first_seed=9)
    assert len({game(), game(), game(seed=9), game(seed=8)}) == 4


def test_spaces_and_what_a_step_gives() -> None:
    env = Cage2VectorEnv(np.int8(7), red_agent="meander")  # type: ignore[arg-type]
    with pytest.raises(NotResetError, match="reset"):
        env.step(np.zeros(7, np.int64))
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observation, infos = env.reset(seed=1)
    assert (observation.shape, observation.dtype.name) == ((7, 52), "int8")
    assert not observation.any()
    assert env.observation_space.contains(observation)
    for actions in random_actions(120, 7):
        observation, reward, terminated, _, infos = env.step(actions)
        assert env.observation_space.contains(observation)
        assert (reward.shape, reward.dtype.name) == ((7,), "float64")
        assert not terminated.any()
        assert (infos["red_access"].shape, infos["action_mask"].shape) == ((7, 13), (7, 145))
        assert infos["action_mask"].dtype == np.bool_
        assert (infos["red_access"][:, USER0] == 2).all()
        assert (infos["env_reward"] == reward).all()
        np.testing.assert_allclose(infos["reward_tenths"].sum(axis=1) / 10, reward, atol=1e-12)


def test_reaching_the_step_limit_truncates_and_the_next_episode_begins_in_the_same_step() -> None:
    env = Cage2VectorEnv(3, episode_length=5, red_agent="bline")
    env.reset(seed=0)
    for step in range(1, 16):
        observation, _, terminated, truncated, infos = env.step(np.zeros(3, np.int64))
        assert not terminated.any()
        assert truncated.all() == (step % 5 == 0)
        assert ("final_obs" in infos) == (step % 5 == 0)
        if step % 5 == 0:
            assert not observation.any()
            assert infos["final_obs"].any()  # B_line has been seen by then
            assert infos["_final_obs"].all()
            assert infos["final_info"]["red_access"].shape == (3, 13)


def test_returned_arrays_last_unless_copy_is_off() -> None:
    env = Cage2VectorEnv(4, red_agent="bline")
    begun, _ = env.reset(seed=0)
    observation, *_, infos = env.step(np.zeros(4, np.int64))
    given = observation, infos["red_access"], infos["action_mask"]
    kept = [array.copy() for array in given]
    for _ in range(10):
        env.step(np.full(4, 51))
    assert not begun.any()
    for array, before in zip(given, kept, strict=True):
        assert (array == before).all()
    views = Cage2VectorEnv(4, red_agent="bline", copy=False)
    first, _ = views.reset(seed=0)
    assert np.shares_memory(first, views.step(np.zeros(4, np.int64))[0])


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3, np.int64),
        np.zeros(4),
        np.array([0, 0, 0, 145]),
        np.array([0, -1, 0, 0]),
        np.array([2**63, 0, 0, 0], np.uint64),
    ],
    ids=repr,
)
def test_wrong_actions_are_refused_before_anything_is_played(wrong: Any) -> None:
    env = Cage2VectorEnv(4)
    env.reset(seed=0)
    before = env.batch.state.tobytes()
    refused("0 to 144", env.step, wrong)
    assert env.batch.state.tobytes() == before
    for dtype in ("i1", "u1", "i4", "u8"):  # any integers will do
        env.step(np.arange(8, dtype=dtype)[::2])
        assert env.batch.state["blue_action"].tolist() == [0, 2, 4, 6]
    env.step([0, 2, 4, 6])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"num_envs": 0}, "from 1 to"),
        ({"num_envs": 10**15}, "from 1 to"),
        ({"num_envs": 2.0}, "whole number"),
        ({"num_threads": 10**6}, "from 1 to"),
        ({"seed": -1}, "0 or more"),
        ({"seed": "x"}, "0 or more"),
        ({"render_mode": "human"}, "Cage2Env"),
        ({"red_agent": "nobody"}, "bline, meander, sleep, bait"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], allowed: str) -> None:
    refused(allowed, Cage2VectorEnv, **{"num_envs": 2} | wrong)


def test_wrong_arguments_of_a_reset_are_refused() -> None:
    env = Cage2VectorEnv(2)
    seeds: Any
    for seeds in ([1, 2], (1, 2), np.array([1, 2]), [None, None]):
        refused("one whole number for all environments, not a", env.reset, seed=seeds)
    refused("0 or more", env.reset, seed=-1)
    refused("no options", env.reset, options={"reset_mask": np.ones(2, np.bool_)})
