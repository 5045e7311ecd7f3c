"""What a playbook is made of: units in the order of repair, and what fixing their hosts means."""

from dataclasses import dataclass

from workflow_rl.scenario.images import IMAGE_NAMES, IMAGE_YIELD, ServiceYield
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Host, Network
from workflow_rl.workflow.orders import ORDERS, Order


def _remove_helps(host: Host) -> bool:
    """Says whether some exploit opens a user-level shell, the only thing that Remove can kill."""
    return ServiceYield.USER_SHELL in IMAGE_YIELD[IMAGE_NAMES.index(host.image)]


@dataclass(frozen=True)
class Unit:
    """Hosts that an order does not tell apart."""

    name: str
    hosts: tuple[str, ...]  # that can be fixed
    network: Network = SCENARIO2

    @property
    def removable(self) -> tuple[str, ...]:
        """Hosts where Red may hold a user-level shell, the only thing that Remove kills."""
        return tuple(host.name for host in self._described if _remove_helps(host))

    @property
    def costs(self) -> dict[float, tuple[str, ...]]:
        """What Red's privileged access costs in every step, and on which hosts; highest first."""
        prices = sorted({host.value for host in self._described}, reverse=True)
        return {p: tuple(h.name for h in self._described if h.value == p) for p in prices}

    @property
    def _described(self) -> list[Host]:
        return [self.network.hosts[self.network.number(host)] for host in self.hosts]


Plan = tuple[Unit, ...]  # first to be fixed first


def plan_of(order: Order) -> Plan:
    """Returns the units of an order."""
    groups = order.units.groups
    return tuple(Unit(name, tuple(groups[name]), order.units.network) for name in order)


def formatted(plan: Plan) -> str:
    """Writes the order of a plan as `op_server > enterprise > ...`."""
    return " > ".join(unit.name for unit in plan)


def is_of_types(plan: Plan) -> bool:
    """Returns whether a plan orders the five unit types."""
    return set(plan) == set(plan_of(ORDERS[0]))
