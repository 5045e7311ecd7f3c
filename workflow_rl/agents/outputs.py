"""What the outputs of a policy mean: all 145 actions, or the 36 of the challenge's winner."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.scenario.cardiff import NUM_OUTPUTS, START_OUTPUTS, DecoyLists


class Outputs(Protocol):
    """Turns outputs into actions, environment by environment."""

    count: int

    def actions(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns (n,) the actions of outputs (n,)."""
        ...

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Forgets the episodes that ended."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns what must be kept to go on later."""
        ...

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes on from a kept state."""
        ...


class AllActions:
    """An output is an action."""

    count = NUM_ACTIONS

    def actions(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the outputs."""
        return outputs

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Has nothing to forget."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns nothing."""
        return {}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Has nothing to load."""


class CardiffActions:
    """27 plain actions and 9 decoy lists; every episode begins with three fixed decoys.

    As in the winner's training the policy's own outputs stay in the batch where the fixed start
    replaced them.
    """

    count = NUM_OUTPUTS

    def __init__(self, num_envs: int) -> None:
        """Starts every episode."""
        self._lists = DecoyLists(num_envs)
        self._step = np.zeros(num_envs, np.int64)
        self._start = np.array([*START_OUTPUTS, 0], np.int64)

    def actions(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the actions, and moves the lists on."""
        fixed = self._start[np.minimum(self._step, len(START_OUTPUTS))]
        played = np.where(self._step < len(START_OUTPUTS), fixed, outputs)
        self._step += 1
        return self._lists.actions(played)

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Starts the lists over."""
        self._lists.clear(ended)
        self._step[ended] = 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns how far each environment is."""
        return {"placed": self._lists.placed.copy(), "step": self._step.copy()}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Goes on from there."""
        self._lists.placed[:] = arrays["placed"]
        self._step[:] = arrays["step"]


def make_outputs(name: str, num_envs: int) -> Outputs:
    """Returns the meaning of outputs by its name, one of `config.ACTION_SPACES`."""
    return AllActions() if name == "all" else CardiffActions(num_envs)
