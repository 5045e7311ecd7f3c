from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import workflow_rl
from workflow_rl import Cage2VectorEnv
from workflow_rl.errors import InvalidInputError, NotResetError
from workflow_rl.scenario.tables import USER0
from workflow_rl.sim.batch import max_threads

THREADS = min(2, max_threads())


def random_actions(steps: int, n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 145, (steps, n))


def trajectory(env: Cage2VectorEnv, steps: int, rows: int, seed: int = 3) -> list[bytes]:
    """Plays and returns the bytes of the first rows of everything a step gives."""
    wide = random_actions(steps, 64)
    observation, infos = env.reset(seed=seed)
    seen = [observation[:rows].tobytes()]
    for actions in wide:
        observation, reward, _, truncated, infos = env.step(actions[: env.num_envs])
        arrays = (observation, reward, truncated, infos["red_access"], infos["action_mask"])
        seen.append(b"".join(array[:rows].tobytes() for array in arrays))
    return seen


def test_spaces_and_what_a_step_gives() -> None:
    env = Cage2VectorEnv(7, red_agent="meander")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observation, infos = env.reset(seed=1)
    assert observation.shape == (7, 52)
    assert observation.dtype == np.int8
    assert not observation.any()
    assert env.observation_space.contains(observation)
    for actions in random_actions(120, 7):
        observation, reward, terminated, _, infos = env.step(actions)
        assert env.observation_space.contains(observation)
        assert reward.shape == (7,)
        assert reward.dtype == np.float64
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


@pytest.mark.parametrize("red_agent", ["bline", "meander", "mixed"])
def test_environment_k_plays_the_same_whatever_the_batch_size_or_thread_count(
    red_agent: str,
) -> None:
    game = {"red_agent": red_agent, "episode_length": 30, "green_agent": "active"}
    alone = trajectory(Cage2VectorEnv(4, **game), 70, 4)  # type: ignore[arg-type]
    wide = trajectory(Cage2VectorEnv(64, **game), 70, 4)  # type: ignore[arg-type]
    threads = trajectory(Cage2VectorEnv(64, num_threads=THREADS, **game), 70, 4)  # type: ignore[arg-type]
    assert alone == wide == threads


def test_same_seed_same_bytes_other_seed_other_bytes() -> None:
    env = Cage2VectorEnv(8, red_agent="meander")
    first = trajectory(env, 40, 8, seed=5)
    assert trajectory(env, 40, 8, seed=5) == first
    assert trajectory(env, 40, 8, seed=6) != first


def test_seed_argument_seeds_the_first_reset() -> None:
    actions = random_actions(50, 4)

    def play(seed_at: str) -> list[bytes]:
        env = Cage2VectorEnv(4, red_agent="meander", seed=9 if seed_at == "init" else None)
        env.reset(seed=9 if seed_at == "reset" else None)
        return [env.step(row)[0].tobytes() for row in actions]

    assert play("init") == play("reset")


def test_reset_without_a_seed_goes_on_to_the_next_episode() -> None:
    actions = random_actions(20, 16)
    by_reset = Cage2VectorEnv(16, red_agent="meander", episode_length=100)
    by_reset.reset(seed=2)
    by_reset.reset()
    automatic = Cage2VectorEnv(16, red_agent="meander", episode_length=20)
    automatic.reset(seed=2)
    for row in actions:
        automatic.step(row)
    for row in actions[:19]:
        assert by_reset.step(row)[0].tobytes() == automatic.step(row)[0].tobytes()


def test_without_a_seed_games_differ() -> None:
    actions = random_actions(40, 32)
    games = []
    for _ in range(2):
        env = Cage2VectorEnv(32, red_agent="meander")
        env.reset()
        games.append(b"".join(env.step(row)[0].tobytes() for row in actions))
    assert games[0] != games[1]


def test_mixed_draws_red_agents_by_their_probabilities_for_each_episode() -> None:
    env = Cage2VectorEnv(
        4000, red_agent="mixed", red_probabilities={"bline": 0.6, "sleep": 0.4}, episode_length=2
    )
    env.reset(seed=0)
    first = env.batch.state["red_agent"].copy()
    shares = np.bincount(first, minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.6, 0.0, 0.4], atol=0.03)
    env.step(np.zeros(4000, np.int64))
    env.step(np.zeros(4000, np.int64))
    second = env.batch.state["red_agent"]
    assert 0.3 < (first != second).mean() < 0.7


def test_action_mask_is_false_exactly_for_decoys_that_would_be_refused() -> None:
    env = Cage2VectorEnv(256, red_agent="meander", episode_length=40)
    _, infos = env.reset(seed=0)
    mask = infos["action_mask"]
    for actions in random_actions(60, 256, seed=4):
        expected = mask[np.arange(256), actions]
        _, _, _, truncated, infos = env.step(actions)
        if not truncated.any():  # afterwards the state is the next episode's
            refused = env.batch.state["blue_success"] == 0
            assert (refused == ~expected).all()
        mask = infos["action_mask"]


def test_returned_arrays_last_unless_copy_is_off() -> None:
    env = Cage2VectorEnv(4, red_agent="bline")
    begun, _ = env.reset(seed=0)
    observation, *_, infos = env.step(np.zeros(4, np.int64))
    kept = observation.copy(), infos["red_access"].copy(), infos["action_mask"].copy()
    for _ in range(10):
        env.step(np.full(4, 51))
    assert not begun.any()
    assert (observation == kept[0]).all()
    assert (infos["red_access"] == kept[1]).all()
    assert (infos["action_mask"] == kept[2]).all()
    views = Cage2VectorEnv(4, red_agent="bline", copy=False)
    first, _ = views.reset(seed=0)
    assert np.shares_memory(first, views.step(np.zeros(4, np.int64))[0])


def test_cardiff_observation_adds_the_scan_state() -> None:
    env = Cage2VectorEnv(50, red_agent="meander", observation="cardiff")
    observation, _ = env.reset(seed=0)
    assert observation.shape == (50, 62)
    for _ in range(3):
        observation, *_ = env.step(np.zeros(50, np.int64))
    assert env.observation_space.contains(observation)
    assert (observation[:, 52:].sum(axis=1) == 3).all()  # two hosts scanned: one 1 and one 2


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3, np.int64),
        np.zeros((4, 1), np.int64),
        np.zeros(4),
        np.zeros(4, np.bool_),
        np.array(["a"] * 4),
        [0.0, 1.0, 2.0, 3.0],
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
    with pytest.raises(InvalidInputError, match="0 to 144") as caught:
        env.step(wrong)
    assert "\n" not in str(caught.value)
    assert env.batch.state.tobytes() == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_any_integer_type_of_action_will_do(dtype: Any) -> None:
    env = Cage2VectorEnv(4)
    env.reset(seed=0)
    env.step(np.arange(8, dtype=dtype)[::2])
    env.step([1, 2, 3, 4])  # type: ignore[arg-type]
    assert (env.batch.state["blue_action"] == [1, 2, 3, 4]).all()


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"num_envs": 0}, "from 1 to"),
        ({"num_envs": -3}, "from 1 to"),
        ({"num_envs": 10**15}, "from 1 to"),
        ({"num_envs": 2.0}, "whole number"),
        ({"num_threads": 0}, "from 1 to"),
        ({"num_threads": 10**6}, "from 1 to"),
        ({"seed": -1}, "0 or more"),
        ({"seed": "x"}, "0 or more"),
        ({"render_mode": "human"}, "Cage2Env"),
        ({"red_agent": "nobody"}, "bline, meander, sleep, mixed"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], allowed: str) -> None:
    with pytest.raises(InvalidInputError, match=allowed):
        Cage2VectorEnv(**({"num_envs": 2} | wrong))


def test_wrong_reset_arguments_are_refused() -> None:
    env = Cage2VectorEnv(2)
    with pytest.raises(InvalidInputError, match="0 or more"):
        env.reset(seed=[1, 2])
    with pytest.raises(InvalidInputError, match="no options"):
        env.reset(options={"reset_mask": np.ones(2, np.bool_)})


def test_stepping_before_reset_is_refused() -> None:
    with pytest.raises(NotResetError, match="reset"):
        Cage2VectorEnv(2).step(np.zeros(2, np.int64))


def test_make_vec_and_gymnasium_wrappers() -> None:
    env = gymnasium.make_vec(
        "workflow_rl/Cage2-v0", num_envs=5, red_agent="meander", rules="competition"
    )
    assert isinstance(env, workflow_rl.Cage2VectorEnv)
    assert env.config.rules == "competition"
    wrapped = RecordEpisodeStatistics(env)
    wrapped.reset(seed=0)
    total = np.zeros(5)
    for actions in random_actions(100, 5):
        _, reward, _, truncated, infos = wrapped.step(actions)
        total += reward
    assert truncated.all()
    np.testing.assert_allclose(infos["episode"]["r"], total)


def test_huge_batches_step() -> None:
    env = Cage2VectorEnv(100_000, red_agent="mixed", num_threads=THREADS)
    env.reset(seed=0)
    for actions in random_actions(3, 100_000):
        observation, *_ = env.step(actions)
    assert observation.shape == (100_000, 52)
