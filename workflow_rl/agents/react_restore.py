"""The challenge's own heuristic, BlueReactRestoreAgent, as it was scored for the leaderboard.

The agent notes every host that its last Monitor reported with a process id, User0 excepted,
restores the noted hosts one by one, and monitors again when none is left. The published scores
show what it was given to look at: against a sleeping Red they are exactly 27, 46 and 92 restores in
30, 50 and 100 steps, which is one Monitor, then a Restore of each of the other 12 hosts, over and
over. That is what happens when the agent is shown the observation of `reset`, which lists every
host, at every step; the challenge's evaluation script does so when its lines for agents without a
wrapper are used. So the published agent plays a fixed cycle and never looks.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import FIRST_RESTORE, MONITOR
from workflow_rl.scenario.tables import NUM_HOSTS, USER0

CYCLE: Final = (
    MONITOR,
    *(FIRST_RESTORE + host for host in range(NUM_HOSTS) if host != USER0),
)


class ReactRestoreAgent:
    """Monitors, restores every host but User0 in the order of the observation, and starts over."""

    name: Final = "react-restore"
    observation: Final = "challenge"
    order: Final = None

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the action of the cycle that is due."""
        return np.full(len(observation), CYCLE[step % len(CYCLE)], np.int64)
