"""What a playbook is made of: units in the order of repair, and what fixing their hosts means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflow_rl.agents.greedy import REMOVE_CAN_HELP
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.tables import HOST_NAMES, HOSTS
from workflow_rl.workflow.orders import ORDERS, TYPES, Order
from workflow_rl.workflow.units import FEWEST, FIXABLE

_COST: Final = {host.name: host.confidentiality for host in HOSTS}
_REMOVE_HELPS: Final = {HOST_NAMES[host] for host in REMOVE_CAN_HELP.nonzero()[0]}
_SEPARATORS: Final = frozenset(">→,;\"'`|\\")
_LONGEST: Final = 60  # characters of a unit's name


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


def names_of(plan: Plan) -> tuple[str, ...]:
    """Returns the units' names, first to be fixed first."""
    return tuple(unit.name for unit in plan)


def check_units(units: Mapping[str, Sequence[str]]) -> None:
    """Checks that units have usable names, and each host that can be fixed exactly one of them.

    Raises:
        InvalidInputError: they have not.
    """
    if len(units) < FEWEST:
        raise InvalidInputError(f"{len(units)} units are no order: name {FEWEST} or more")
    for name in units:
        if not 0 < len(name.strip()) <= _LONGEST or not name.isprintable():
            raise InvalidInputError(f"{name!r:.80} is no name of a unit")
        if _SEPARATORS & set(name):
            raise InvalidInputError(f"the name of a unit cannot be {name!r}")
    seen: dict[str, str] = {}
    for name, hosts in units.items():
        if not hosts:
            raise InvalidInputError(f"{name} has no host")
        for host in hosts:
            if host not in FIXABLE:
                raise InvalidInputError(f"{host!r:.80} of {name} is no host that can be fixed")
            if host in seen:
                raise InvalidInputError(f"{host} is in {seen[host]} and in {name}")
            seen[host] = name
    if missing := [host for host in FIXABLE if host not in seen]:
        raise InvalidInputError(f"{missing[0]} is in no unit")


def formatted(plan: Plan) -> str:
    """Writes the order of a plan as `op_server > enterprise > ...`."""
    return " > ".join(names_of(plan))


def is_of_types(plan: Plan) -> bool:
    """Returns whether a plan orders the five unit types."""
    return names_of(plan) in ORDERS and plan == plan_of(TYPES.read(names_of(plan)))
