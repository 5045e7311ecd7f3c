"""What the environments share: how they are made and reset, their spaces, checks and seeds."""

from copy import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import OBSERVATIONS
from workflow_rl.errors import InvalidInputError, NotResetError
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS


class SingleEnv(gymnasium.Env[NDArray[np.int8], np.int64]):
    """One environment of a game: how it is made, reset and described, whoever plays the game."""

    _spec: EnvSpec | None = None

    def __init__(
        self,
        game: GameConfig | None,
        seed: int | None,
        render_mode: str | None,
        settings: dict[str, Any],
    ) -> None:
        """Checks and takes over what every environment is made by; see `Cage2Env`."""
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            choice = " or ".join(map(repr, modes))
            raise InvalidInputError(f"unknown render mode {render_mode!r}: choose None or {choice}")
        self.render_mode = render_mode
        self.config = GameConfig.of(game, settings)
        self._first_seed = checked_seed(seed)
        self.observation_space = observation_space(self.config)
        self.action_space = action_space()
        self._was_reset = False
        self._ended = True

    @property
    def spec(self) -> EnvSpec | None:
        """What Gymnasium made the environment by; None if it was made without.

        It tells the length of an episode, as wrappers want to know it. The length is a setting of
        each environment and cannot be registered with the name: Gymnasium would cut longer
        episodes by a `TimeLimit` of its own.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None and spec.max_episode_steps is None:
            spec = copy(spec)
            spec.max_episode_steps = self.config.episode_length
        self._spec = spec

    def get_action_meanings(self) -> list[str]:
        """Returns what each of the 145 actions does, such as `Restore Op_Server0`."""
        return list(ACTION_NAMES)

    def render(self) -> Any:
        """Returns the present moment as `render_mode` shows it, or None without a mode."""
        if self.render_mode is None:
            return None
        if not self._was_reset:
            raise NotResetError("call reset() before render()")
        return self._rendered()

    def _rendered(self) -> Any:
        """Returns the present moment as `render_mode` shows it."""
        raise NotImplementedError

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> int | None:
        """Notes that an episode begins; returns the seed to start the stream by, if any."""
        seed = reset_seed(seed, options, self._first_seed, self._was_reset)
        gymnasium.Env.reset(self, seed=seed)
        self._was_reset, self._ended = True, False
        return seed

    def _checked_action(self, action: object) -> int:
        """Returns the action to step by, if there is an episode and it is allowed."""
        if self._ended:
            raise NotResetError(
                "the episode has ended: call reset() before step()"
                if self._was_reset
                else "call reset() before step()"
            )
        return checked_action(action)


def observation_space(config: GameConfig) -> spaces.Space[NDArray[np.int8]]:
    """Returns the space of a game's observation."""
    high = OBSERVATIONS[config.observation].highest
    space: spaces.Space[Any] = spaces.Box(low=np.zeros_like(high), high=high, dtype=np.int8)
    return space


def action_space() -> spaces.Space[np.int64]:
    """Returns the space of one environment's action."""
    return spaces.Discrete(NUM_ACTIONS)


def checked_seed(seed: object) -> int | None:
    """Returns the seed if it is None or a whole number of 0 or more."""
    if seed is None:
        return None
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    raise InvalidInputError(f"seed must be None or a whole number of 0 or more, not {seed!r}")


def reset_seed(seed: object, options: object, first: int | None, was_reset: bool) -> int | None:
    """Returns the seed of a reset; None goes on with the next episode.

    Args:
        seed: what `reset` was given.
        options: what `reset` was given; there are none.
        first: the seed of a first reset that is given none; None draws one.
        was_reset: whether this is not the first.
    """
    if options:
        raise InvalidInputError(f"reset takes no options, not {options!r}")
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
