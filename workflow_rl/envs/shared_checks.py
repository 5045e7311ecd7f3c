"""What callers of `SharedMemoryVectorEnv` may pass to its methods."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.shared_block import Field
from workflow_rl.envs.spaces import checked_seed, env_seeds
from workflow_rl.errors import InvalidInputError

_MAX_SEED: Final = 2**64 - 1


def checked_seeds(seed: object, num_envs: int) -> Sequence[int | None]:
    """Returns a seed for each environment, given one seed, one for each, or none."""
    if isinstance(seed, (list, tuple, np.ndarray)):
        if len(seed) != num_envs:
            raise InvalidInputError(f"{num_envs} seeds are needed, not {len(seed)}")
        seeds = [checked_seed(one) for one in seed]
        if any(one is not None and one > _MAX_SEED for one in seeds):
            raise InvalidInputError(f"a seed of one environment must be at most {_MAX_SEED}")
        return seeds
    one = checked_seed(seed)
    return [None] * num_envs if one is None else env_seeds(one, num_envs)


def checked_ids(env_ids: Sequence[int] | NDArray[Any], num_envs: int) -> NDArray[np.intp]:
    """Returns the numbers of environments if they are some, and different ones."""
    ids = np.asarray(env_ids)
    is_list = ids.ndim == 1 and ids.size > 0 and ids.dtype.kind in "iu"
    if (
        not is_list
        or ids.min() < 0
        or ids.max() >= num_envs
        or np.bincount(ids, minlength=num_envs).max() > 1
    ):
        raise InvalidInputError(
            f"env_ids must be different whole numbers from 0 to {num_envs - 1}, not {env_ids!r}"
        )
    return ids.astype(np.intp, copy=False)


def checked_actions(actions: object, size: int, action: Field) -> NDArray[Any]:
    """Returns the actions if they are as many as there are environments, of the right kind."""
    given = np.asarray(actions)
    shape = (size, *action.shape)
    if given.shape != shape or not np.can_cast(given.dtype, action.dtype, "same_kind"):
        raise InvalidInputError(
            f"actions must be {action.dtype} of shape {shape}, not {given.dtype} of shape "
            f"{given.shape}"
        )
    return given
