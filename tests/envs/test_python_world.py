from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.envs.played import MortalEnv, PlayedEnv
from tests.refused import refused
from workflow_rl.config import BackendConfig, GameConfig
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.envs.world import (
    INFO_ARRAYS,
    PythonWorld,
    SimulatorWorld,
    check_backend,
    make_vector,
    make_world,
)
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.bits import packed_rows

ENVS = 5
GAME = {"red_agent": "meander", "episode_length": 20}
SHOWN = ("observation", "action_mask", "table", "held", "removable", "reward", "ended")


def new_world(vector: str = "serial", mode: str = "sync", **game: object) -> PythonWorld:
    make_env = partial(PlayedEnv, **(GAME | game))  # type: ignore[arg-type]
    settings = {"info_arrays": INFO_ARRAYS, "num_workers": 2} if vector == "shared" else {}
    vectors = make_vector([make_env] * ENVS, vector, **settings)
    return PythonWorld(vectors, asynchronous=mode == "async")


@pytest.fixture(params=["serial", "shared", "pipes"])
def world(request: pytest.FixtureRequest) -> Iterator[PythonWorld]:
    with closing(new_world(request.param)) as made:
        yield made


def simulators(**game: object) -> list[SimulatorWorld]:
    """What each environment plays, in the simulator."""
    made = []
    for seed in env_seeds(3, ENVS):
        one = SimulatorWorld(Batch(1, GameConfig(**(GAME | game))))  # type: ignore[arg-type]
        one.reset(seed)
        made.append(one)
    return made


def test_it_shows_what_the_simulator_shows_of_the_same_games(world: PythonWorld) -> None:
    alone = simulators()
    world.reset(3)
    rng = np.random.default_rng(0)
    for _ in range(45):
        for k, one in enumerate(alone):
            for name in SHOWN[:-2]:
                np.testing.assert_array_equal(getattr(world, name)[k], getattr(one, name)[0], name)
        actions = rng.integers(0, NUM_ACTIONS, ENVS)
        ended = world.step(actions)
        assert ended == sum(one.step(actions[k : k + 1]) for k, one in enumerate(alone))
        assert world.reward.tolist() == [one.reward[0] for one in alone]
        assert world.ended.tolist() == [one.ended[0] for one in alone]
    assert world.lost is None


def test_asynchronously_each_environment_plays_the_same() -> None:
    alone = simulators()
    rng = np.random.default_rng(0)
    actions = rng.integers(0, NUM_ACTIONS, (45, ENVS))
    at = np.zeros(ENVS, np.int64)
    with closing(new_world("shared", "async")) as world:
        assert world.asynchronous
        world.reset(3)
        world.send(actions[0], np.arange(ENVS))
        under_way = ENVS
        while under_way:
            envs = world.receive(under_way)
            under_way -= len(envs)
            for k in envs:
                alone[k].step(actions[at[k], k : k + 1])
                for name in SHOWN:
                    np.testing.assert_array_equal(
                        getattr(world, name)[k], getattr(alone[k], name)[0], name
                    )
            at[envs] += 1
            ready = envs[at[envs] < len(actions)]
            if len(ready):
                world.send(actions[at[ready], ready], ready)
                under_way += len(ready)
    assert at.tolist() == [45] * ENVS


def test_the_winners_observation_has_the_same_table() -> None:
    with closing(new_world(observation="cardiff")) as world:
        world.reset(1)
        assert world.observation_size == 62
        for _ in range(15):
            world.step(np.zeros(ENVS, np.int64))
        assert (world.table > 0).any()
        assert packed_rows(world.observation[:, :52]).tolist() == world.table.tolist()


def test_a_worker_that_dies_breaks_off_the_episodes_of_its_environments(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    healthy = partial(PlayedEnv, **GAME)  # type: ignore[arg-type]
    mortal = partial(MortalEnv, tmp_path / "grave", 7, **GAME)
    vector = make_vector([healthy] * 3 + [mortal], "shared", num_workers=2)
    with closing(PythonWorld(vector)) as world:
        world.reset(1)
        losses = []
        for t in range(20):
            world.step(np.zeros(4, np.int64))
            if world.lost is not None:
                losses.append((t, world.lost.tolist()))
                assert world.ended[world.lost].all()
        assert losses == [(6, [False, False, True, True])]
    assert "environments 2 to 3 was killed by SIGKILL" in caplog.text


def test_new_episodes_begin_where_a_state_is_loaded() -> None:
    with closing(new_world()) as world:
        world.reset(3)
        first = world.observation.copy()
        for _ in range(25):
            world.step(np.zeros(ENVS, np.int64))
        kept = world.state()
        assert not world.is_exact
        world.load_state(kept)
        np.testing.assert_array_equal(world.observation, first)  # Blue sees nothing at first
        again = []
        for _ in range(2):
            world.reset(3)
            world.load_state(kept)
            for _ in range(20):
                world.step(np.zeros(ENVS, np.int64))
            again.append(world.reward.tolist())
        assert again[0] == again[1]


def test_environments_without_the_infos_and_other_asynchronous_vectors_are_refused() -> None:
    vector = make_vector([Cage2Env] * 2, "serial")
    with closing(PythonWorld(vector)) as world:
        refused("removable", world.reset, 0)
        refused("shared memory", PythonWorld, vector, asynchronous=True)


def test_the_simulator_is_the_default_backend() -> None:
    game = GameConfig(red_agent="sleep")
    check_backend(game, BackendConfig())
    world = make_world(game, 3, BackendConfig())
    assert isinstance(world, SimulatorWorld)
    assert (world.num_envs, world.is_exact, world.asynchronous) == (3, True, False)
