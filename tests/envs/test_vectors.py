"""How each kind is made; `test_python_world.py` plays in them."""

from typing import Any

import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from tests.refused import refused
from workflow_rl import Cage2Env
from workflow_rl.config import VECTORS
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.world import make_vector


@pytest.mark.parametrize(
    ("vector", "kind"),
    [("shared", SharedMemoryVectorEnv), ("pipes", AsyncVectorEnv), ("serial", SyncVectorEnv)],
)
def test_a_vector_is_of_its_kind_and_restarts_episodes_in_the_same_step(
    vector: str, kind: type[Any]
) -> None:
    env: Any = make_vector([Cage2Env] * 2, vector)
    assert type(env) is kind
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert vector != "pipes" or not env.shared_memory
    env.close()


def test_settings_are_passed_on_and_an_unknown_vector_is_refused() -> None:
    env: Any = make_vector([Cage2Env] * 3, num_workers=1)
    assert len(env.worker_pids) == 1
    env.close()
    refused(f"choose one of {', '.join(VECTORS)}", make_vector, [Cage2Env], "threads")
