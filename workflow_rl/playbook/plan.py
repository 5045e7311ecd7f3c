"""What a playbook is made of: units in the order of repair, and what fixing their hosts means."""

from dataclasses import dataclass
from typing import Final

from workflow_rl.scenario.tables import HOST_NAMES, HOSTS, SERVICE_YIELD, ServiceYield
from workflow_rl.workflow.orders import ORDERS, Order

_COST: Final = {host.name: host.confidentiality for host in HOSTS}
# Where some exploit opens a user-level shell, the only thing that Remove can kill.
_REMOVE_HELPS: Final = {
    name
    for name, yields in zip(HOST_NAMES, SERVICE_YIELD, strict=True)
    if ServiceYield.USER_SHELL in yields
}


@dataclass(frozen=True)
class Unit:
    """Hosts that an order does not tell apart."""

    name: str
    hosts: tuple[str, ...]  # that can be fixed

    @property
    def removable(self) -> tuple[str, ...]:
        """Hosts where Red may hold a user-level shell, the only thing that Remove kills."""
        return tuple(host for host in self.hosts if host in _REMOVE_HELPS)

    @property
    def costs(self) -> dict[float, tuple[str, ...]]:
        """What Red's privileged access costs in every step, and on which hosts; highest first."""
        prices = sorted({_COST[host] for host in self.hosts}, reverse=True)
        return {p: tuple(host for host in self.hosts if _COST[host] == p) for p in prices}


Plan = tuple[Unit, ...]  # first to be fixed first


def plan_of(order: Order) -> Plan:
    """Returns the units of an order."""
    groups = order.units.groups
    return tuple(Unit(name, tuple(groups[name])) for name in order)


def formatted(plan: Plan) -> str:
    """Writes the order of a plan as `op_server > enterprise > ...`."""
    return " > ".join(unit.name for unit in plan)


def is_of_types(plan: Plan) -> bool:
    """Returns whether a plan orders the five unit types."""
    return set(plan) == set(plan_of(ORDERS[0]))
