"""One function that makes a vector of Python environments, over shared memory, pipes or neither."""

from collections.abc import Sequence
from typing import Any, Final

from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from workflow_rl.config import VECTORS, one_of
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.shared_pool import EnvFn

SHARED: Final = "shared"
PIPES: Final = "pipes"


def make_vector(
    env_fns: Sequence[EnvFn], vector: str = SHARED, **settings: Any
) -> VectorEnv[Any, Any, Any]:
    """Returns environments that step together; ended episodes restart within the step.

    The same list of seeds (`spaces.env_seeds`) gives the same trajectories with each kind.

    Args:
        env_fns: make the environments.
        vector: shared (a few workers over shared memory), pipes (Gymnasium's own, one process for
            each environment) or serial (all in this process, for debugging).
        settings: with shared, those of `SharedMemoryVectorEnv`; else those of Gymnasium's class.

    Raises:
        InvalidInputError: there is no such vector, or a setting is not allowed.
    """
    one_of("vector", vector, VECTORS)
    if vector == SHARED:
        return SharedMemoryVectorEnv(env_fns, **settings)
    settings = {"autoreset_mode": AutoresetMode.SAME_STEP, **settings}
    if vector == PIPES:
        return AsyncVectorEnv(env_fns, shared_memory=False, **settings)
    return SyncVectorEnv(env_fns, **settings)
