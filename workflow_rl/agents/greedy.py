"""The agent `greedy`: it plays standing orders, rules that a person can follow, under any order.

At every step it does the first of these that applies:

1. The early Restore, once, while no host is marked and one of its signs was scanned.
2. What is due on a marked host: Analyse, Remove or Restore, as the rule of the host says. Of the
   hosts that are to be repaired the first in the order is taken. A marked host that comes before
   it in the order is restored first, so that every repair complies. A repair may wait for decoys.
3. The first decoy of the list that does not stand; those of the host where Red is expected next
   come before the others.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.standing_orders import (
    NOWHERE,
    STANDING_ORDERS,
    Column,
    Response,
    StandingOrders,
    Wait,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import (
    ACTION_HOST,
    FIRST_ANALYSE,
    FIRST_REMOVE,
    FIRST_RESTORE,
    SLEEP,
    checked_mask,
)
from workflow_rl.scenario.tables import NUM_HOSTS, USER0
from workflow_rl.sim.records import initial_record, record_dtype
from workflow_rl.sim.state import Activity, Mark
from workflow_rl.sim.table import activity_in, mark_in, packed_tables
from workflow_rl.workflow.compliance import open_by_table
from workflow_rl.workflow.orders import TYPES, Order, read_order

DEFAULT_ORDER: Final = TYPES.read(("op_server", "enterprise", "op_host", "user", "defender"))

_LEAVE, _ANALYSE = int(Response.LEAVE), int(Response.ANALYSE)
_REMOVE, _RESTORE = int(Response.REMOVE), int(Response.RESTORE)
_EXPECTED, _ALL = int(Wait.EXPECTED), int(Wait.ALL)
_SCAN, _EXPLOIT = int(Activity.SCAN), int(Activity.EXPLOIT)
_MARK_UNKNOWN, _MARK_USER = int(Mark.UNKNOWN), int(Mark.USER)
_LATER, _ONCE, _WAIT = int(Column.LATER), int(Column.ONCE), int(Column.WAIT)
_UNKNOWN, _PRIVILEGED = int(Column.UNKNOWN), int(Column.PRIVILEGED)

HostSet = Annotated[int, np.int16, ()]
Host = Annotated[int, np.int16, ()]
PerHost = Annotated[Any, np.int16, (NUM_HOSTS,)]


class Notes(Protocol):
    """What is noted in one episode."""

    scanned: HostSet = 0  # hosts of which a scan was shown
    analysed: HostSet = 0  # hosts analysed since their last exploit
    restored: HostSet = 0  # hosts that were restored
    last_scan: Host = NOWHERE
    exploits: PerHost = 0  # shown since the last Restore


_NOTES_DTYPE: Final = record_dtype(Notes)
_INITIAL: Final = initial_record(Notes)


@rule
def note(notes: Notes, table: int) -> None:
    """Notes the scans and exploits that are shown now."""
    for host in range(NUM_HOSTS):
        activity = activity_in(table, host)
        if activity == _SCAN:
            notes.scanned |= 1 << host
            notes.last_scan = host
        elif activity == _EXPLOIT:
            notes.exploits[host] += 1
            notes.analysed &= ~(1 << host)


@rule
def note_action(notes: Notes, action: int) -> None:
    """Notes what was done."""
    host = ACTION_HOST[action]
    if action >= FIRST_RESTORE and action < FIRST_RESTORE + NUM_HOSTS:
        notes.exploits[host] = 0
        notes.restored |= 1 << host
        notes.analysed &= ~(1 << host)
    elif action >= FIRST_ANALYSE and action < FIRST_ANALYSE + NUM_HOSTS:
        notes.analysed |= 1 << host


@rule
def response_to(host: int, table: int, notes: Notes, rules: NDArray[np.int16]) -> int:
    """Returns the Response to the mark of a host, which may have none."""
    mark = mark_in(table, host)
    if not mark or host == USER0:
        return _LEAVE
    if mark == _MARK_USER:
        response = rules[host, min(max(notes.exploits[host] - 1, 0), _LATER)]
    elif mark == _MARK_UNKNOWN:
        response = rules[host, _UNKNOWN]
    else:
        response = rules[host, _PRIVILEGED]
    if response == _ANALYSE and notes.analysed >> host & 1:
        return _LEAVE
    if response == _RESTORE and rules[host, _ONCE] and notes.restored >> host & 1:
        return _LEAVE
    return int(response)


@rule
def due_on_marked(
    table: int, notes: Notes, rules: NDArray[np.int16], ranks: NDArray[np.int8]
) -> tuple[int, int]:
    """Returns what is due on a marked host, or SLEEP, and for the sake of which host."""
    target, due = NOWHERE, _LEAVE
    for host in range(NUM_HOSTS):
        response = response_to(host, table, notes, rules)
        if response != _LEAVE and (target == NOWHERE or ranks[host] < ranks[target]):
            target, due = host, response
    if target == NOWHERE:
        return SLEEP, NOWHERE
    if due == _ANALYSE:
        return FIRST_ANALYSE + target, target
    open_hosts = open_by_table(table)
    first = target
    for host in range(NUM_HOSTS):
        if open_hosts >> host & 1 and ranks[host] < ranks[first]:
            first, due = host, _RESTORE
    return (FIRST_RESTORE if due == _RESTORE else FIRST_REMOVE) + first, target


@rule
def next_decoy(
    expected: int, decoys: NDArray[np.int16], action_mask: NDArray[np.bool_]
) -> tuple[int, bool]:
    """Returns the next decoy, or SLEEP, and whether the expected host gets it."""
    found = SLEEP
    for decoy in decoys:
        action = int(decoy)
        if action_mask[action]:
            if ACTION_HOST[action] == expected:
                return action, True
            if found == SLEEP:
                found = action
    return found, False


@kernel()
def _act(
    tables: NDArray[Any],
    action_masks: NDArray[Any],
    ranks: NDArray[Any],
    all_notes: NDArray[Any],
    decoys: NDArray[Any],
    expected: NDArray[Any],
    rules: NDArray[Any],
    early: int,
    signs: int,
    actions: NDArray[Any],
) -> None:
    for k in range(len(actions)):
        notes: Notes = all_notes[k]
        table = tables[k]
        note(notes, table)
        awaited = NOWHERE if notes.last_scan == NOWHERE else expected[notes.last_scan]
        decoy, for_expected = next_decoy(awaited, decoys, action_masks[k])
        action, host = due_on_marked(table, notes, rules, ranks)
        if (
            early != NOWHERE
            and not notes.restored >> early & 1
            and (signs == 0 or notes.scanned & signs)
            and not open_by_table(table)
        ):
            action = FIRST_RESTORE + early
        elif action == SLEEP or (
            decoy != SLEEP
            and (rules[host, _WAIT] == _ALL or (rules[host, _WAIT] == _EXPECTED and for_expected))
        ):
            action = decoy
        note_action(notes, action)
        actions[k] = action


class GreedyAgent:
    """Follows standing orders and a workflow, without learning."""

    name: Final = "greedy"
    observation: Final = "challenge"

    def __init__(
        self, order: Sequence[str] = DEFAULT_ORDER, rules: StandingOrders = STANDING_ORDERS
    ) -> None:
        """Makes the agent of one workflow, an order of any units or names of the five types."""
        self.order: Order = read_order(order)
        self.standing_orders = rules
        self._ranks = self.order.host_ranks
        self._arrays = rules.arrays()
        self._notes = np.zeros(0, _NOTES_DTYPE)

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._notes = np.repeat(_INITIAL, num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns what is due in each environment."""
        tables = packed_tables(observation)
        mask = checked_mask(action_mask, len(tables))
        if len(tables) != len(self._notes):
            raise InvalidInputError(
                f"observations must be of the {len(self._notes)} environments that began, "
                f"not of {len(tables)}"
            )
        actions = np.empty_like(tables)
        _act(tables, mask, self._ranks, self._notes, *self._arrays, actions)
        return actions
