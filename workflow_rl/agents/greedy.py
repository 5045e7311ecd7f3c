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
from typing import Annotated, Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.standing_orders import (
    NOWHERE,
    Column,
    Response,
    StandingOrders,
    Wait,
    standing_orders_of,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import ONE, Axis, capacity_of, initial_record
from workflow_rl.scenario.tables import Tables, tables_of
from workflow_rl.sim.checks import checked_mask
from workflow_rl.sim.state import Activity, Mark
from workflow_rl.sim.table import activity_at, mark_at, packed_tables
from workflow_rl.workflow.compliance import open_by_table
from workflow_rl.workflow.orders import TYPES, Order, read_order
from workflow_rl.workflow.units import units_of

DEFAULT_ORDER: Final = TYPES.read(("op_server", "enterprise", "op_host", "user", "defender"))

_LEAVE, _ANALYSE = int(Response.LEAVE), int(Response.ANALYSE)
_ANALYSES, _RESTORES = int(ActionKind.ANALYSE), int(ActionKind.RESTORE)
_REMOVE, _RESTORE = int(Response.REMOVE), int(Response.RESTORE)
_EXPECTED, _ALL = int(Wait.EXPECTED), int(Wait.ALL)
_SCAN, _EXPLOIT = int(Activity.SCAN), int(Activity.EXPLOIT)
_MARK_UNKNOWN, _MARK_USER = int(Mark.UNKNOWN), int(Mark.USER)
_LATER, _ONCE, _WAIT = int(Column.LATER), int(Column.ONCE), int(Column.WAIT)
_UNKNOWN, _PRIVILEGED = int(Column.UNKNOWN), int(Column.PRIVILEGED)


HostSet = Annotated[int, np.int64, ()]
Host = Annotated[int, np.int16, ()]
PerHost = Annotated[Any, np.int16, (Axis.HOSTS,)]


class Notes(Protocol):
    """What is noted in one episode."""

    scanned: HostSet = 0  # hosts of which a scan was shown
    analysed: HostSet = 0  # hosts analysed since their last exploit
    restored: HostSet = 0  # hosts that were restored
    last_scan: Host = NOWHERE
    exploits: PerHost = 0  # shown since the last Restore


class Repairs(NamedTuple):
    """The action of each kind on each host, or NOWHERE."""

    analyse: NDArray[np.int16]  # (hosts,)
    remove: NDArray[np.int16]
    restore: NDArray[np.int16]

    @classmethod
    def on(cls, network: Network) -> "Repairs":
        """Returns the actions of a network."""
        named = actions_of(network).names
        found = {
            kind: [
                named.index(name) if (name := f"{kind} {host}") in named else NOWHERE
                for host in network.host_names
            ]
            for kind in ("Analyse", "Remove", "Restore")
        }
        return cls(*(np.array(actions, np.int16) for actions in found.values()))


@rule
def note(notes: Notes, net: Tables, table: NDArray[np.int64]) -> None:
    """Notes the scans and exploits that are shown now."""
    for place in range(net.num_observed):
        host = net.observed_host[place]
        activity = activity_at(table, place)
        if activity == _SCAN:
            notes.scanned |= ONE << host
            notes.last_scan = host
        elif activity == _EXPLOIT:
            notes.exploits[host] += 1
            notes.analysed &= ~(ONE << host)


@rule
def note_action(notes: Notes, net: Tables, action: int) -> None:
    """Notes what was done."""
    host = net.action_host[action]
    kind = net.action_kind[action]
    if kind == _RESTORES:
        notes.exploits[host] = 0
        notes.restored |= ONE << host
        notes.analysed &= ~(ONE << host)
    elif kind == _ANALYSES:
        notes.analysed |= ONE << host


@rule
def response_to(
    host: int, net: Tables, table: NDArray[np.int64], notes: Notes, rules: NDArray[np.int16]
) -> int:
    """Returns the Response to the mark of a host, which may have none."""
    if net.slot[host] < 0 or host == net.foothold:
        return _LEAVE
    mark = mark_at(table, net.slot[host])
    if not mark:
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
    net: Tables,
    table: NDArray[np.int64],
    notes: Notes,
    rules: NDArray[np.int16],
    ranks: NDArray[np.int8],
    repairs: Repairs,
) -> tuple[int, int]:
    """Returns what is due on a marked host, or NOWHERE, and for the sake of which host."""
    target, due = NOWHERE, _LEAVE
    for host in range(net.num_hosts):
        response = response_to(host, net, table, notes, rules)
        if response != _LEAVE and (target == NOWHERE or ranks[host] < ranks[target]):
            target, due = host, response
    if target == NOWHERE:
        return NOWHERE, NOWHERE
    if due == _ANALYSE:
        return int(repairs.analyse[target]), target
    open_hosts = open_by_table(net, table)
    first = target
    for host in range(net.num_hosts):
        if open_hosts >> host & 1 and ranks[host] < ranks[first]:
            first, due = host, _RESTORE
    repair = repairs.restore if due == _RESTORE else repairs.remove
    return int(repair[first]), target


@rule
def next_decoy(
    expected: int, net: Tables, decoys: NDArray[np.int16], action_mask: NDArray[np.bool_]
) -> tuple[int, bool]:
    """Returns the next decoy, or NOWHERE, and whether the expected host gets it."""
    found = NOWHERE
    for decoy in decoys:
        action = int(decoy)
        if action_mask[action]:
            if net.action_host[action] == expected:
                return action, True
            if found == NOWHERE:
                found = action
    return found, False


@kernel()
def _act(
    nets: NDArray[Any],
    repairs: Repairs,
    sleep: int,
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
    net: Tables = nets[0]
    for k in range(len(actions)):
        notes: Notes = all_notes[k]
        table = tables[k]
        note(notes, net, table)
        awaited = NOWHERE if notes.last_scan == NOWHERE else expected[notes.last_scan]
        decoy, for_expected = next_decoy(awaited, net, decoys, action_masks[k])
        action, host = due_on_marked(net, table, notes, rules, ranks, repairs)
        if (
            early != NOWHERE
            and not notes.restored >> early & 1
            and (signs == 0 or notes.scanned & signs)
            and not open_by_table(net, table)
        ):
            action = int(repairs.restore[early])
        elif action == NOWHERE or (
            decoy != NOWHERE
            and (rules[host, _WAIT] == _ALL or (rules[host, _WAIT] == _EXPECTED and for_expected))
        ):
            action = decoy
        if action == NOWHERE:
            action = sleep
        note_action(notes, net, action)
        actions[k] = action


class GreedyAgent:
    """Follows standing orders and a workflow, without learning."""

    name: Final = "greedy"
    observation: Final = "challenge"

    def __init__(
        self,
        order: Sequence[str] | None = None,
        rules: StandingOrders | None = None,
        *,
        network: Network = SCENARIO2,
    ) -> None:
        """Makes the agent of one workflow, an order of any units or names of the types.

        Args:
            order: by default one that was found for Scenario2, elsewhere that of the types.
            rules: the standing orders; by default the network's.
            network: what is played on.
        """
        usual = DEFAULT_ORDER if network == SCENARIO2 else units_of("types", network).names
        self.order: Order = read_order(usual if order is None else order, network=network)
        self.standing_orders = standing_orders_of(network) if rules is None else rules
        self.network = network
        self._ranks = self.order.host_ranks
        self._repairs = Repairs.on(network)
        self._sleep = actions_of(network).names.index("Sleep")
        self._arrays = self.standing_orders.arrays(network)
        self._initial = initial_record(Notes, capacity_of(network))
        self._notes = self._initial[:0]

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._notes = np.repeat(self._initial, num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns what is due in each environment."""
        tables = packed_tables(self.network, observation)
        mask = checked_mask(self.network, action_mask, len(tables))
        if len(tables) != len(self._notes):
            raise InvalidInputError(
                f"observations must be of the {len(self._notes)} environments that began, "
                f"not of {len(tables)}"
            )
        actions = np.empty(len(tables), np.int64)
        net = tables_of(self.network)
        _act(
            *(net, self._repairs, self._sleep, tables, mask, self._ranks, self._notes),
            *(*self._arrays, actions),
        )
        return actions
