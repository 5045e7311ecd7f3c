"""Every observation by its name, and the two ways to write one.

`make_batch` plays on the simulator, which writes it. `make_tracker` writes it from Blue's table and
its own actions alone, for games that are played elsewhere: the real CybORG, an agent's own.
"""

from functools import cache
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.observation import BelievingBatch, BlueBelief, believed
from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.config.reds import GIVEN
from workflow_rl.envs.reds import PlayedBatch
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.network import Network
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.memory import BlueMemory
from workflow_rl.sim.observation import Observation, simulated

_BELIEF: Final = "belief"
TRACKED: Final[tuple[ObservationName, ...]] = ("memory", "recall", "belief")  # by `make_tracker`


@cache
def observation_of(name: ObservationName, network: Network) -> Observation:
    """Returns an observation on a network.

    Raises:
        InvalidInputError: it does not exist there.
    """
    return believed(network) if name == _BELIEF else simulated(name, network)


class Tracker(Protocol):
    """Writes an observation step by step, from what Blue was shown and did."""

    def update(self, tables: NDArray[np.int8], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Takes in a step of each episode and returns (n, size) the observation after it.

        Args:
            tables: (n, 4 for each observed host) what Blue is shown now.
            actions: (n,) what it did before that, or `sim.memory.BEGIN` when the episodes begin.
        """
        ...

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """(n, actions) False for a decoy that would be refused now."""
        ...


def make_batch(num_envs: int, game: GameConfig, **settings: Any) -> Batch:
    """Returns a batch of the simulator that shows Blue the game's observation; as `Batch`.

    Raises:
        InvalidInputError: a setting is not allowed, there is no belief about the red agent, or
            nobody gives Red's actions.
    """
    if game.red_agent == GIVEN and not settings.get("red_view"):
        raise InvalidInputError(
            f"the red agent {GIVEN!r} does what it is told: workflow_rl.parallel_env plays it"
        )
    if game.observation == _BELIEF:
        return BelievingBatch(num_envs, game, **settings)
    kind = PlayedBatch if any(red.is_policy for red in game.reds) else Batch
    return kind(num_envs, game, **settings)


def make_tracker(num_envs: int, game: GameConfig) -> Tracker:
    """Returns what writes the game's observation; of those not in `TRACKED` it is the memory."""
    if game.observation == _BELIEF:
        return BlueBelief(num_envs, game)
    return BlueMemory(game.network, num_envs, recalls=game.observation == "recall")
