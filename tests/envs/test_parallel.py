import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import parallel_api_test, parallel_seed_test

import workflow_rl
from tests.refused import refused
from workflow_rl.errors import NotResetError


@pytest.mark.parametrize("observation", ["challenge", "memory"])
def test_pettingzoo_s_own_tests_pass(observation: str) -> None:
    parallel_api_test(workflow_rl.parallel_env(observation=observation))
    parallel_seed_test(lambda: workflow_rl.parallel_env(observation=observation, dtype="float32"))


def test_it_plays_the_first_game_of_many() -> None:
    env = workflow_rl.parallel_env(episode_length=20, render_mode="ansi", illegal="error")
    many = workflow_rl.Cage2ParallelVectorEnv(1, episode_length=20)
    infos, _ = env.reset(seed=4)[1], many.reset(seed=4)
    total = 0.0
    while env.agents:
        actions = {a: env.action_space(a).sample(infos[a]["action_mask"]) for a in env.agents}
        seen, reward, terminated, truncated, infos = env.step(actions)
        shown, rewards, *_, told = many.step({a: actions[a].reshape(1) for a in actions})
        for agent in env.possible_agents:
            assert (seen[agent] == told[agent].get("final_obs", shown[agent])[0]).all()
            assert reward[agent] == rewards[agent][0]
            assert (terminated[agent], truncated[agent]) == (False, not env.agents)
        total += reward["blue"]
        assert f"return so far {total:.1f}" in env.render()
    assert "step 20 of 20 | red given" in env.render()
    with pytest.raises(NotResetError):
        env.step(actions)
    env.reset()
    refused("the action of red must be a whole number from 0", env.step, {"blue": 0, "red": 56})
    refused("red action 55 Impact User4 is not legal in ", env.step, {"blue": 0, "red": 55})
