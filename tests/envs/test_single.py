from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.refused import refused
from workflow_rl import Cage2Env, Cage2VectorEnv
from workflow_rl.errors import NotResetError


@pytest.mark.parametrize(
    ("red_agent", "observation", "mode"),
    [("bline", "challenge", "rgb_array"), ("mixed", "cardiff", "ansi")],
)
def test_gymnasium_checks_pass(red_agent: str, observation: str, mode: str) -> None:
    env = gymnasium.make(
        "workflow_rl/Cage2-v0", red_agent=red_agent, observation=observation, render_mode=mode
    )
    check_env(env.unwrapped)


def test_it_plays_what_environment_0_of_a_vector_env_plays() -> None:
    single = Cage2Env(red_agent="meander", episode_length=25)
    vector = Cage2VectorEnv(3, red_agent="meander", episode_length=25)
    observation, _ = single.reset(seed=11)
    batch, _ = vector.reset(seed=11)
    for actions in np.random.default_rng(0).integers(0, 145, (90, 3)):
        assert (observation == batch[0]).all()
        observation, reward, _, ended, info = single.step(int(actions[0]))
        batch, rewards, _, truncated, infos = vector.step(actions)
        assert reward == rewards[0] == info["env_reward"]
        assert ended == truncated[0]
        if ended:
            assert (observation == infos["final_obs"][0]).all()
            observation, _ = single.reset()
        else:
            assert (info["red_access"] == infos["red_access"][0]).all()
            assert (info["action_mask"] == infos["action_mask"][0]).all()
            assert (info["reward_tenths"] == infos["reward_tenths"][0]).all()


@pytest.mark.parametrize("wrong", [145, -1, 2.0, "Sleep", None, True, np.array([1])], ids=repr)
def test_wrong_actions_are_refused_before_anything_is_played(wrong: Any) -> None:
    env = Cage2Env()
    env.reset(seed=0)
    before = env.batch.state.tobytes()
    refused("0 to 144", env.step, wrong)
    assert env.batch.state.tobytes() == before
    for right in (3, np.int64(3), np.array(3)):  # whole numbers of any kind
        env.step(right)  # type: ignore[arg-type]
        assert env.batch.state["blue_action"][0] == 3


def test_stepping_and_rendering_need_a_reset_and_rendering_a_mode() -> None:
    env = Cage2Env(episode_length=2, render_mode="ansi")
    for use in (env.render, lambda: env.step(0)):
        with pytest.raises(NotResetError, match=r"^call reset"):
            use()
    env.reset(seed=0)
    env.step(0)
    assert env.step(0)[3]
    with pytest.raises(NotResetError, match="has ended"):
        env.step(0)
    assert "step 2 of 2" in env.render()
    env.reset()
    env.step(0)
    env.close()
    with pytest.raises(NotResetError, match=r"^call reset"):
        env.step(0)
    unseen = Cage2Env()
    unseen.reset()
    assert unseen.render() is None


def test_wrong_arguments_are_refused() -> None:
    refused("ansi", Cage2Env, render_mode="human")
    refused("main, competition", Cage2Env, rules="old")
    refused("no options", Cage2Env().reset, options={"x": 1})


def test_what_a_step_returned_is_not_changed_by_the_next() -> None:
    env = Cage2Env()
    env.reset(seed=0)
    observation, _, _, _, info = env.step(0)
    kept = {"observation": observation, "masks": env.action_masks(), **info}
    before = {name: np.copy(value) for name, value in kept.items()}
    for action in np.random.default_rng(0).integers(0, 145, 60):
        env.step(action)
    assert (env.action_masks() != before["masks"]).any()
    for name, value in kept.items():
        assert (value == before[name]).all(), name
