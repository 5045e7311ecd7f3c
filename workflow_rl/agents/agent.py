"""What a Blue agent is here: it plays many episodes of one game side by side."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ObservationName
from workflow_rl.workflow.orders import Order

_WORD = 2**64


class BlueAgent(Protocol):
    """Defends n environments at once; their episodes begin together and go in step.

    The choice for one environment depends on that environment's own past and on (seed, its number)
    alone, so an episode is the same however many are played beside it.
    """

    @property
    def name(self) -> str:
        """What it is called in tables and file names."""
        ...

    @property
    def observation(self) -> ObservationName:
        """Which observation it needs: one of `config.OBSERVATIONS`."""
        ...

    @property
    def order(self) -> Order | None:
        """The workflow it follows, if it follows one."""
        ...

    def begin(self, num_envs: int, seed: int) -> None:
        """Forgets every episode: the next `act` is the first step of `num_envs` new ones."""
        ...

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns (n,) actions in 0..144.

        Args:
            observation: (n, its size) what Blue sees.
            action_mask: (n, 145) False for a decoy that would be refused now.
            step: steps played in these episodes so far; 0 at the first.
        """
        ...


@runtime_checkable
class TellingAgent(BlueAgent, Protocol):
    """An agent that can tell how probable it found each action."""

    keeps_chances: bool  # whether it does
    chances: NDArray[np.float64] | None  # (n, 145) at the last step, if so


def uniforms(seed: int, step: int, n: int) -> NDArray[np.float64]:
    """Returns (n,) numbers in [0, 1); number k depends on (seed, step, k) alone."""
    return np.random.Generator(np.random.Philox(key=[seed % _WORD, step])).random(n)
