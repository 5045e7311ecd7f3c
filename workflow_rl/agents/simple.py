"""The two agents that look at nothing: asleep, and at random."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import uniforms
from workflow_rl.scenario.actions import NUM_ACTIONS, SLEEP


class SleepAgent:
    """Sleeps at every step."""

    name: Final = "sleep"
    observation: Final = "challenge"
    order: Final = None

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns Sleep for everybody."""
        return np.full(len(observation), SLEEP, np.int64)


class RandomAgent:
    """Takes each of the 145 actions with the same probability, refused decoys included."""

    name: Final = "random"
    observation: Final = "challenge"
    order: Final = None

    def __init__(self) -> None:
        """Starts with seed 0."""
        self._seed = 0

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns uniformly drawn actions."""
        return (uniforms(self._seed, step, len(observation)) * NUM_ACTIONS).astype(np.int64)
