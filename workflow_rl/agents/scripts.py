"""The agents that learn nothing: asleep, at random, the challenge's heuristic, and greedy."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import uniforms
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import (
    DECOY_ACTIONS,
    FIRST_REMOVE,
    FIRST_RESTORE,
    MONITOR,
    NUM_ACTIONS,
    SLEEP,
    checked_mask,
)
from workflow_rl.scenario.tables import (
    DECOY_NAMES,
    DECOYS_TRAPPING,
    NUM_DECOYS,
    NUM_EXPLOITS,
    NUM_HOSTS,
    SERVICE_YIELD,
    USER0,
    ServiceYield,
)
from workflow_rl.sim.state import Mark
from workflow_rl.sim.table import mark_in, packed_tables
from workflow_rl.workflow.orders import TYPES, Order, read_order

DEFAULT_ORDER: Final = TYPES.read(("op_server", "enterprise", "op_host", "user", "defender"))

# Hosts where some exploit opens a user-level shell, the only thing Remove can kill.
REMOVE_CAN_HELP: Final = np.any(SERVICE_YIELD == ServiceYield.USER_SHELL, axis=1)
# Decoys by the exploit they trap, Red's favourite first. Vsftpd does what Apache does, but is
# accepted again and again.
DECOY_PREFERENCE: Final = np.array(
    [
        decoy
        for exploit in range(NUM_EXPLOITS)
        for decoy in range(NUM_DECOYS)
        if DECOYS_TRAPPING[exploit] >> decoy & 1 and DECOY_NAMES[decoy] != "DecoyVsftpd"
    ],
    dtype=np.int8,
)
_CYCLE: Final = (MONITOR, *(FIRST_RESTORE + host for host in range(NUM_HOSTS) if host != USER0))
_USER = int(Mark.USER)


class _Script:
    """What scripted agents share: they see the challenge's bits, and most follow no order."""

    observation: Final = "challenge"
    order: Order | None = None
    _seed = 0

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
        return np.full(len(observation), SLEEP, np.int64)


class RandomAgent(_Script):
    """Takes each of the 145 actions with the same probability, refused decoys included."""

    name: Final = "random"

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns uniformly drawn actions."""
        return (uniforms(self._seed, step, len(observation)) * NUM_ACTIONS).astype(np.int64)


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
        return np.full(len(observation), _CYCLE[step % len(_CYCLE)], np.int64)


@rule
def fix(table: int, ranks: NDArray[np.int8]) -> int:
    """Returns the fix of the first marked host by the order, or SLEEP if none is marked."""
    for rank in range(ranks.max() + 1):
        for host in range(NUM_HOSTS):
            if ranks[host] != rank or host == USER0:
                continue
            mark = mark_in(table, host)
            if mark == _USER and REMOVE_CAN_HELP[host]:
                return FIRST_REMOVE + host
            if mark:
                return FIRST_RESTORE + host
    return SLEEP


@rule
def place_decoy(action_mask: NDArray[np.bool_], ranks: NDArray[np.int8]) -> int:
    """Returns the first decoy by the order that would be accepted, or SLEEP."""
    for rank in range(ranks.max() + 1):
        for decoy in DECOY_PREFERENCE:
            for host in range(NUM_HOSTS):
                if ranks[host] == rank and action_mask[DECOY_ACTIONS[host, decoy]]:
                    return int(DECOY_ACTIONS[host, decoy])
    return SLEEP


@kernel()
def _act(
    tables: NDArray[Any], action_masks: NDArray[Any], ranks: NDArray[Any], actions: NDArray[Any]
) -> None:
    for k in range(len(actions)):
        action = fix(tables[k], ranks)
        if action == SLEEP:
            action = place_decoy(action_masks[k], ranks)
        actions[k] = action


class GreedyAgent(_Script):
    """Repairs by a workflow without learning.

    A host marked User is removed where that can help at all, any other mark is restored; hosts are
    taken by the order, and within a unit as they stand in the table. With nothing to repair it
    places a decoy, by the same order and Red's favourite exploit first, and sleeps when every
    decoy stands.
    """

    name: Final = "greedy"

    def __init__(self, order: Sequence[str] = DEFAULT_ORDER) -> None:
        """Makes the agent of one workflow, an order of any units or names of the five types."""
        self.order = read_order(order)
        self._ranks = self.order.host_ranks

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the fix or decoy that is due in each environment."""
        tables = packed_tables(observation)
        mask = checked_mask(action_mask, len(tables))
        actions = np.empty_like(tables)
        _act(tables, mask, self._ranks, actions)
        return actions
