"""Why an action was judged as it was, in a sentence."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import tables_of
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    REPEAT,
    VIOLATION,
    checked_tables,
    judge_observed,
    judge_true,
    open_by_table,
)
from workflow_rl.workflow.orders import Order

VERDICTS: Final = {
    NOT_A_FIX: "no fix",
    REPEAT: "does not count",
    VIOLATION: "violation",
    COMPLIANT: "compliant",
}


@dataclass(frozen=True)
class Explanation:
    """A verdict with its reason."""

    verdict: int  # NOT_A_FIX, REPEAT, VIOLATION or COMPLIANT
    why: str
    due: str | None  # the unit, first in the order, that had an open host before the action
    due_hosts: tuple[str, ...]  # its open hosts

    @property
    def word(self) -> str:
        """The verdict in words."""
        return VERDICTS[self.verdict]


def explain_observed(table: NDArray[np.int64], action: int, order: Order) -> Explanation:
    """Judges an action by what Blue's table, packed as `State.table`, showed before it."""
    network = order.units.network
    tables = checked_tables([table], 1, network)
    judged = judge_observed(tables, [action], order.host_ranks[None], network)
    words = ("marked in Blue's table", "it is already marked Unknown, so removing it is a repeat")
    return _explained(
        int(judged.verdict[0]),
        int(open_by_table(tables_of(network)[0], tables[0])),
        action,
        order,
        words,
    )


def explain_true(held: int, removable: int, action: int, order: Order) -> Explanation:
    """Judges an action by the hosts where Red had a session, and one that Remove would kill."""
    network = order.units.network
    judged = judge_true([held], [removable], [action], order.host_ranks[None], network)
    words = ("held by Red", "there is no session that Remove would kill")
    return _explained(
        int(judged.verdict[0]),
        int(held) & ~(1 << network.number(network.foothold)),
        action,
        order,
        words,
    )


def _explained(
    verdict: int, open_hosts: int, action: int, order: Order, words: tuple[str, str]
) -> Explanation:
    is_open, repeats = words
    network = order.units.network
    hosts_of = dict(zip(order.units.names, order.units.hosts, strict=True))
    due = next((unit for unit in order if open_hosts & hosts_of[unit]), None)
    due_hosts = () if due is None else _names(network, open_hosts & hosts_of[due])
    if verdict == NOT_A_FIX:
        return Explanation(verdict, "only Remove and Restore are fixes", due, due_hosts)
    host = int(actions_of(network).hosts[action])
    name, unit = network.host_names[host], order.units.names[int(order.units.unit_of[host])]
    if verdict == COMPLIANT:
        what = "type" if order.units.kind == "types" else "unit"
        why = f"{name} is {is_open}, and {unit} is the first {what} in the order with such a host"
    elif verdict == REPEAT:
        why = f"no host is {is_open}" if due is None else f"{name}: {repeats}"
    elif not open_hosts >> host & 1:
        others = ", ".join(_names(network, open_hosts))
        why = f"{name} is not {is_open}, and {others} would have come first"
    else:
        earlier = ", ".join(due_hosts)
        why = f"{unit} was not due yet: {earlier} ({due}) is {is_open} and comes first"
    return Explanation(verdict, why, due, due_hosts)


def _names(network: Network, hosts: int) -> tuple[str, ...]:
    return tuple(name for h, name in enumerate(network.host_names) if hosts >> h & 1)
