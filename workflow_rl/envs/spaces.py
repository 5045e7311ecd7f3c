"""What the environments share: their spaces, their seeds and how they check what they are given."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, one_of
from workflow_rl.envs.observations import observation_of
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.network import Network
from workflow_rl.sim.red_view import red_view_size

DTYPES: Final = ("int8", "float32")  # of observations


def observation_space(config: GameConfig, dtype: object) -> spaces.Space[NDArray[Any]]:
    """Returns the space of a game's observation, whose numbers are of this type.

    Raises:
        InvalidInputError: observations are not given so.
    """
    return _box(observation_of(config.observation, config.network).highest, dtype)


def red_observation_space(network: Network, dtype: object) -> spaces.Space[NDArray[Any]]:
    """Returns the space of what Red sees (`sim/red_view.py`); as `observation_space`."""
    return _box(np.ones(red_view_size(network)), dtype)


def _box(highest: NDArray[Any], dtype: object) -> spaces.Space[NDArray[Any]]:
    high = highest.astype(one_of("dtype", dtype, DTYPES))
    space: spaces.Space[Any] = spaces.Box(low=np.zeros_like(high), high=high, dtype=high.dtype.type)
    return space


def action_space(number: int) -> spaces.Space[np.int64]:
    """Returns the space of one environment's action."""
    return spaces.Discrete(number)


def checked_render_mode(mode: object, modes: Sequence[str]) -> str | None:
    """Returns the render mode if it is None or one of those that there are."""
    if mode is None or mode in modes:
        return mode  # type: ignore[return-value]
    choice = " or ".join(map(repr, modes))
    raise InvalidInputError(f"unknown render mode {shown(mode)}: choose None or {choice}")


def checked_seed(seed: object) -> int | None:
    """Returns the seed if it is None or a whole number of 0 or more."""
    if seed is None:
        return None
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    raise InvalidInputError(f"seed must be None or a whole number of 0 or more, not {shown(seed)}")


def reset_seed(seed: object, options: object, first: int | None, was_reset: bool) -> int | None:
    """Returns the seed of a reset; None continues with the next episode.

    Args:
        seed: what `reset` was given.
        options: what `reset` was given; there are none.
        first: the seed of a first reset that is given none; None draws one.
        was_reset: whether this is not the first.
    """
    if options:
        raise InvalidInputError(f"reset takes no options, not {shown(options)}")
    given = checked_seed(seed)
    if given is not None or was_reset:
        return given
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if first is None else first


def env_seeds(seed: int, num_envs: int) -> list[int]:
    """Returns a seed of 32 bits for each environment; that of environment k depends on k alone."""
    return [derived_seed(seed, k) for k in range(num_envs)]


def derived_seed(*path: int) -> int:
    """Returns the seed of 32 bits at a path of whole numbers, such as (seed, environment)."""
    return int(np.random.SeedSequence(path).generate_state(1)[0])


def checked_action(action: object, number: int, what: str = "action") -> int:
    """Returns the action if it is a whole number below `number`, of whatever type."""
    if type(action) is int and 0 <= action < number:
        return action
    if isinstance(action, np.ndarray) and action.shape == ():
        action = action[()]
    if (
        isinstance(action, bool)
        or not isinstance(action, (int, np.integer))
        or not 0 <= action < number
    ):
        raise InvalidInputError(
            f"{what} must be a whole number from 0 to {number - 1}, not {shown(action)}"
        )
    return int(action)
