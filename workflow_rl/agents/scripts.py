"""Baselines that see nothing of the game: asleep, at random, the challenge's own heuristic."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import uniforms
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.workflow.orders import Order


class _Script:
    """What the baselines share: they see the challenge's bits and follow no order."""

    observation: Final = "challenge"
    order: Order | None = None
    _seed = 0

    def __init__(self, network: Network = SCENARIO2) -> None:
        """Makes the agent on a network."""
        self.network = network
        self._actions = actions_of(network)

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed


class SleepAgent(_Script):
    """Sleeps at every step."""

    name: Final = "sleep"

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns Sleep everywhere."""
        return np.full(len(observation), self._actions.names.index("Sleep"), np.int64)


class RandomAgent(_Script):
    """Takes each of Blue's actions with the same probability, refused decoys included."""

    name: Final = "random"
    is_sampled: Final = True

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns actions sampled uniformly."""
        return (uniforms(self._seed, step, len(observation)) * self._actions.size).astype(np.int64)


class ReactRestoreAgent(_Script):
    """The challenge's own heuristic, BlueReactRestoreAgent, as it was scored for the leaderboard.

    It notes every host that its last Monitor reported with a process id, User0 excepted, restores
    the noted hosts one by one, and monitors again when none is left. The published scores show what
    it was given to look at: against a sleeping Red they are exactly 27, 46 and 92 restores in 30,
    50 and 100 steps, which is one Monitor, then a Restore of each of the other 12 hosts, over and
    over. That is what happens when the agent is shown the observation of `reset`, which lists every
    host, at every step; the challenge's evaluation script does so when its lines for agents without
    a wrapper are used. So the published agent plays a fixed cycle and never looks.
    """

    name: Final = "react-restore"

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the action of the cycle that is due."""
        cycle = self._cycle()
        return np.full(len(observation), cycle[step % len(cycle)], np.int64)

    def _cycle(self) -> list[int]:
        """Returns a Monitor, then a Restore of every host but Red's foothold."""
        names = [f"Restore {host}" for host in self.network.host_names]
        named = self._actions.names
        foothold = f"Restore {self.network.foothold}"
        kept = ["Monitor", *(name for name in names if name != foothold)]
        return [named.index(name) for name in kept if name in named] or [named.index("Sleep")]
