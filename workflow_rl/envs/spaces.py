"""The spaces the environments share, and how they check what they are given."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from workflow_rl.belief.observation import observation_size
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS
from workflow_rl.sim.observe import CHALLENGE_SIZE


def observation_space(config: GameConfig) -> spaces.Space[NDArray[np.int8]]:
    """Returns the space of an observation: bits, but for cardiff's 10 values of 0 to 2."""
    high = np.ones(observation_size(config.observation), np.int8)
    if config.observation == "cardiff":
        high[CHALLENGE_SIZE:] = 2
    space: spaces.Space[Any] = spaces.Box(low=np.zeros_like(high), high=high, dtype=np.int8)
    return space


def action_space() -> spaces.Space[np.int64]:
    """Returns the space of one environment's action."""
    return spaces.Discrete(NUM_ACTIONS)


def action_meanings() -> list[str]:
    """Returns what each of the 145 actions does, such as `Restore Op_Server0`, by its number."""
    return list(ACTION_NAMES)


def checked_seed(seed: object) -> int | None:
    """Returns the seed if it is None or a whole number of 0 or more."""
    if seed is None:
        return None
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    raise InvalidInputError(f"seed must be None or a whole number of 0 or more, not {seed!r}")


def env_seeds(seed: int, num_envs: int) -> list[int]:
    """Returns a seed of 32 bits for each environment; that of environment k depends on k alone."""
    return [derived_seed(seed, k) for k in range(num_envs)]


def derived_seed(*path: int) -> int:
    """Returns the seed of 32 bits at a path of whole numbers, such as (seed, environment)."""
    return int(np.random.SeedSequence(path).generate_state(1)[0])


def refuse_options(options: object) -> None:
    """Raises if `reset` was given options: there are none."""
    if options:
        raise InvalidInputError(f"reset takes no options, not {options!r}")


def checked_render_mode(mode: object, allowed: list[str]) -> str | None:
    """Returns the render mode if it is None or allowed."""
    if mode is None or mode in allowed:
        return None if mode is None else str(mode)
    raise InvalidInputError(
        f"unknown render mode {mode!r}: choose None or {' or '.join(map(repr, allowed))}"
    )


def checked_action(action: object) -> int:
    """Returns the action if it is a whole number from 0 to 144, of whatever type."""
    if type(action) is int and 0 <= action < NUM_ACTIONS:
        return action
    if isinstance(action, np.ndarray) and action.shape == ():
        action = action[()]
    if (
        isinstance(action, bool)
        or not isinstance(action, (int, np.integer))
        or not 0 <= action < NUM_ACTIONS
    ):
        raise InvalidInputError(
            f"action must be a whole number from 0 to {NUM_ACTIONS - 1}, not {action!r}"
        )
    return int(action)
