import numpy as np
import pytest

from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.scenario.tables import NUM_HOSTS


def new_world(envs: int = 5, **game: object) -> SimulatorWorld:
    config = GameConfig(**({"red_agent": "meander", "episode_length": 30} | game))  # type: ignore[arg-type]
    return SimulatorWorld(make_batch(envs, config))


def test_it_shows_what_a_single_environment_shows() -> None:
    world = new_world()
    env = Cage2Env(red_agent="meander", episode_length=30)
    world.reset(3)
    observation, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for step in range(30):
        np.testing.assert_array_equal(world.observation[0], observation)
        np.testing.assert_array_equal(world.action_mask[0], info["action_mask"])
        bits = (int(world.table[0]) >> np.arange(4 * NUM_HOSTS)) & 1
        np.testing.assert_array_equal(bits, observation)
        held = (int(world.held[0]) >> np.arange(NUM_HOSTS)) & 1
        np.testing.assert_array_equal(held, info["red_access"] > 0)
        assert int(world.removable[0]) & ~int(world.held[0]) == 0
        actions = rng.integers(0, NUM_ACTIONS, 5)
        ended = world.step(actions)
        observation, reward, _, truncated, info = env.step(actions[0])
        assert world.reward[0] == reward
        assert world.ended[0] == truncated == (step == 29)
        assert ended == (5 if truncated else 0)
    assert world.lost is None


@pytest.mark.parametrize("observation", ["challenge", "cardiff", "memory", "belief"])
def test_it_goes_on_exactly_from_a_kept_state(observation: str) -> None:
    world, other = (new_world(observation=observation) for _ in range(2))
    rng = np.random.default_rng(1)
    world.reset(1)
    for _ in range(40):
        world.step(rng.integers(0, NUM_ACTIONS, 5))
    kept = world.state()
    for _ in range(3):  # which does not change it
        world.step(np.arange(5))
    other.reset(1)
    for one in (world, other):
        one.load_state(kept)
    for _ in range(40):
        actions = rng.integers(0, NUM_ACTIONS, 5)
        world.step(actions)
        other.step(actions)
        for name in ("observation", "action_mask", "table", "held", "removable", "reward", "ended"):
            np.testing.assert_array_equal(getattr(world, name), getattr(other, name))
    world.close()
