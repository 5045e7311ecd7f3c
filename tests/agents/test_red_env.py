from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.agents.test_agent import Forgetful
from tests.envs.test_parallel_vector import legal
from tests.refused import refused
from workflow_rl import Cage2ParallelVectorEnv, Cage2RedEnv, Cage2RedVectorEnv
from workflow_rl.agents.named import make_agent
from workflow_rl.envs.registration import RED_ENV_IDS
from workflow_rl.envs.spaces import derived_seed


@pytest.mark.parametrize(("rules", "name"), RED_ENV_IDS.items())
def test_a_name_makes_environments_that_gymnasium_finds_correct(rules: str, name: str) -> None:
    env: Any = gymnasium.make(name, episode_length=12).unwrapped  # against best
    check_env(env)
    assert (env.config.rules, env.config.red_agent) == (rules, "given")
    several: Any = gymnasium.make_vec(env.spec, num_envs=2)
    assert isinstance(several, Cage2RedVectorEnv)
    assert several.config == env.config


@pytest.mark.parametrize("blue", ["greedy", "random"])
def test_blue_plays_all_environments_at_once_as_it_plays_each(blue: str) -> None:
    settings: Any = {"episode_length": 10, "illegal": "error"}
    agent, both = make_agent(blue), Cage2ParallelVectorEnv(3, **settings)
    several, one = Cage2RedVectorEnv(3, blue, **settings), Cage2RedEnv(blue, **settings)
    rng = np.random.default_rng(0)
    (_, infos), (shown, told), _ = several.reset(seed=3), both.reset(seed=3), one.reset(seed=3)
    for step in range(25):
        if step % 10 == 0:
            agent.begin(3, derived_seed(3, step // 10))
        actions = legal(infos["action_mask"], rng)
        defence = agent.act(shown["blue"], told["blue"]["action_mask"], step % 10)
        shown, rewards, _, ended, told = both.step({"blue": defence, "red": actions})
        rows, reward, _, truncated, infos = several.step(actions)
        np.testing.assert_array_equal(rows, shown["red"])
        np.testing.assert_array_equal(infos["action_mask"], told["red"]["action_mask"])
        np.testing.assert_array_equal([reward, truncated], [rewards["red"], ended["red"]])
        seen, gain, _, is_over, info = one.step(actions[0])
        assert (seen == infos.get("final_obs", rows)[0]).all()
        assert (gain, is_over, info["illegal"]) == (reward[0], truncated[0], False)
        if is_over:
            one.reset()
        assert (one.action_masks() == several.action_masks()[0]).all()


def test_wrong_arguments_are_refused() -> None:
    one = Cage2RedEnv(Forgetful(), illegal="error")  # an agent written for CybORG
    one.reset(seed=0)
    refused("red action 3 DiscoverRemoteSystems Operational is not legal", one.step, 3)
    refused("0 to 55, not 56", one.step, 56)
    refused("Forgetful is written for CybORG and plays one", Cage2RedVectorEnv, 2, Forgetful())
    refused("nobody is no run directory", Cage2RedEnv, "nobody")
