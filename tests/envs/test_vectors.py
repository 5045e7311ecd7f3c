from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from workflow_rl import Cage2Env
from workflow_rl.config import VECTORS
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.envs.vectors import make_vector
from workflow_rl.errors import InvalidInputError

CLASSES: dict[str, type[Any]] = {
    "shared": SharedMemoryVectorEnv,
    "pipes": AsyncVectorEnv,
    "serial": SyncVectorEnv,
}


def played(vector: str) -> list[bytes]:
    """The bytes of everything a trainer uses of some steps."""
    env_fns = [lambda: Cage2Env(red_agent="meander", episode_length=10)] * 3
    env: Any = make_vector(env_fns, vector)
    assert type(env) is CLASSES[vector]
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    try:
        observation, infos = env.reset(seed=env_seeds(7, 3))
        seen = [observation.tobytes(), infos["action_mask"].tobytes()]
        for actions in np.random.default_rng(0).integers(0, 145, (25, 3)):
            *arrays, infos = env.step(actions)
            seen += [array.tobytes() for array in (*arrays, infos["red_access"])]
            ended = arrays[3]
            seen += [infos["final_obs"][k].tobytes() for k in np.flatnonzero(ended)]
    finally:
        env.close()
    return seen


def test_every_vector_gives_the_same_trajectories() -> None:
    expected = played("serial")
    assert len(set(expected)) > 20
    assert played("shared") == expected
    assert played("pipes") == expected


def test_pipes_share_no_memory() -> None:
    env: Any = make_vector([Cage2Env] * 2, "pipes")
    assert not env.shared_memory
    env.close()


def test_settings_are_passed_on() -> None:
    env: Any = make_vector([Cage2Env] * 3, num_workers=1)
    assert len(env.worker_pids) == 1
    env.close()


def test_an_unknown_vector_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=f"choose one of {', '.join(VECTORS)}"):
        make_vector([Cage2Env], "threads")
