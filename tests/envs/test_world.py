from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.played import MortalEnv, PlayedEnv
from tests.refused import refused
from workflow_rl import Cage2Env
from workflow_rl.config import VECTORS, GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.envs.world import PythonWorld, SimulatorWorld, info_arrays, make_vector
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import NUM_ACTIONS

ENVS = 5
GAME: dict[str, Any] = {"red_agent": "meander", "episode_length": 20, "observation": "cardiff"}
SHOWN = ("observation", "action_mask", "table", "held", "removable", "reward", "ended")
SLEEP = np.zeros(ENVS, np.int64)


def simulator(envs: int = ENVS, **game: Any) -> SimulatorWorld:
    return SimulatorWorld(make_batch(envs, GameConfig(**GAME | game)))


def python(vector: str = "serial", mode: str = "sync", **game: Any) -> PythonWorld:
    settings = (
        {"info_arrays": info_arrays(SCENARIO2), "num_workers": 2} if vector == "shared" else {}
    )
    vectors = make_vector([partial(PlayedEnv, **GAME | game)] * ENVS, vector, **settings)
    return PythonWorld(vectors, asynchronous=mode == "async")


def assert_same(world: Any, k: int, other: Any, j: int, names: tuple[str, ...] = SHOWN) -> None:
    """What environment k shows in one world is what j shows in another."""
    for name in names:
        np.testing.assert_array_equal(getattr(world, name)[k], getattr(other, name)[j], name)


def random_actions(steps: int) -> Any:
    return np.random.default_rng(0).integers(0, NUM_ACTIONS, (steps, ENVS))


# --- Python environments


@pytest.fixture(params=["serial", "shared", "pipes"])
def world(request: pytest.FixtureRequest) -> Iterator[PythonWorld]:
    with closing(python(request.param)) as made:
        yield made


def simulators() -> list[SimulatorWorld]:
    """What each environment plays, in the simulator."""
    made = [simulator(1) for _ in range(ENVS)]
    for one, seed in zip(made, env_seeds(3, ENVS), strict=True):
        one.reset(seed)
    return made


def test_it_shows_what_the_simulator_shows_of_the_same_games(world: PythonWorld) -> None:
    alone = simulators()
    world.reset(3)
    for actions in random_actions(45):
        for k, one in enumerate(alone):
            assert_same(world, k, one, 0, SHOWN[:-2])
        ended = world.step(actions)
        assert ended == sum(one.step(actions[k : k + 1]) for k, one in enumerate(alone))
        for k, one in enumerate(alone):
            assert_same(world, k, one, 0, SHOWN[-2:])
    assert world.lost is None


def test_asynchronously_each_environment_plays_the_same() -> None:
    alone, actions = simulators(), random_actions(45)
    at = np.zeros(ENVS, np.int64)
    with closing(python("shared", "async")) as world:
        assert world.asynchronous
        world.reset(3)
        world.send(actions[0], np.arange(ENVS))
        under_way = ENVS
        while under_way:
            envs = world.receive(under_way)
            under_way -= len(envs)
            for k in envs:
                alone[k].step(actions[at[k], k : k + 1])
                assert_same(world, k, alone[k], 0)
            at[envs] += 1
            ready = envs[at[envs] < len(actions)]
            if len(ready):
                world.send(actions[at[ready], ready], ready)
                under_way += len(ready)
    assert at.tolist() == [45] * ENVS


def test_a_worker_that_dies_breaks_off_the_episodes_of_its_environments(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    healthy, mortal = partial(PlayedEnv, **GAME), partial(MortalEnv, tmp_path / "grave", 7, **GAME)
    vector = make_vector([healthy] * 3 + [mortal], "shared", num_workers=2)
    with closing(PythonWorld(vector)) as world:
        world.reset(1)
        losses = []
        for t in range(20):
            world.step(SLEEP[:4])
            if world.lost is not None:
                losses.append((t, world.lost.tolist()))
                assert world.ended[world.lost].all()
        assert losses == [(6, [False, False, True, True])]
    assert "environments 2 to 3 was killed by SIGKILL" in caplog.text


def test_new_episodes_begin_where_a_state_is_loaded() -> None:
    with closing(python()) as world:
        world.reset(3)
        first = world.observation.copy()
        for _ in range(25):
            world.step(SLEEP)
        kept = world.state()
        assert not world.is_exact
        world.load_state(kept)
        np.testing.assert_array_equal(world.observation, first)  # Blue sees nothing at first
        again = []
        for _ in range(2):
            world.reset(3)
            world.load_state(kept)
            for _ in range(20):
                world.step(SLEEP)
            again.append(world.reward.tolist())
        assert again[0] == again[1]


def test_environments_without_the_infos_and_other_asynchronous_vectors_are_refused() -> None:
    vector = make_vector([Cage2Env] * 2, "serial")
    with closing(PythonWorld(vector)) as world:
        refused("removable", world.reset, 0)
        refused(f"choose one of {', '.join(VECTORS)}", make_vector, [Cage2Env], "threads")
        refused("shared memory", PythonWorld, vector, asynchronous=True)
