"""Units: what a workflow puts in order, each a group of hosts.

The documents' five unit types are one choice; single hosts, the subnets, or user-defined groups are
others. There are two to twelve units, and every host that can be fixed is in exactly one.

User0 is Red's permanent foothold and never open, so it belongs to no unit, whatever the kind: it
stands where User1 does, its neighbour with the same image, which only decoys ever notice.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config.units import ANY, UNIT_KINDS, Groups, read_groups
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tables import HOST_NAMES, NUM_HOSTS, SUBNET_HOSTS, USER0, Subnet, host_set
from workflow_rl.scenario.units import UNIT_HOSTS, UNITS

FEWEST: Final = 2
MOST: Final = 12
REST: Final = "rest"  # the last unit: of the hosts that no group names
FIXABLE: Final = tuple(name for name in HOST_NAMES if name != HOST_NAMES[USER0])
FIXABLE_HOSTS: Final = np.array([HOST_NAMES.index(name) for name in FIXABLE])
STANDS_FOR_USER0: Final = HOST_NAMES.index("User1")

SHORT_ORDER: Final = 34  # columns of an order in a table of 80
_WHOLE: Final = 4  # letters of a name that is not shortened
_LEAST: Final = 3  # letters of a short name, where there is room for them
_PART: Final = re.compile(r"\d+|[^\W\d_]+")  # of a name: letters, or a number
_FIXABLE_SET: Final = host_set(FIXABLE)
_BY_NAME: Final = {name.casefold(): name for name in HOST_NAMES}
_NAME: Final = re.compile(r"\w([\w-]*\w)?")  # so that an order of such names can be read


@dataclass(frozen=True)
class Units:
    """Groups of hosts with names, in the order in which they are listed."""

    names: tuple[str, ...]
    hosts: tuple[int, ...]  # the set of hosts of each
    kind: str  # types, hosts, subnets or groups

    def __len__(self) -> int:
        """Returns how many there are."""
        return len(self.names)

    @cached_property
    def unit_of(self) -> NDArray[np.int8]:
        """(13,) the unit of each host."""
        found = [
            next((u for u, hosts in enumerate(self.hosts) if hosts >> host & 1), -1)
            for host in range(NUM_HOSTS)
        ]
        found[USER0] = found[STANDS_FOR_USER0]
        return np.array(found, np.int8)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The names of each unit's hosts."""
        return {
            name: [HOST_NAMES[h] for h in range(NUM_HOSTS) if hosts >> h & 1]
            for name, hosts in zip(self.names, self.hosts, strict=True)
        }

    @property
    def setting(self) -> str | dict[str, list[str]]:
        """What a configuration or a policy's description stores to have them back."""
        return self.groups if self.kind == "groups" else self.kind

    @cached_property
    def short_names(self) -> dict[str, str]:
        """The short name of each unit: its shortest unambiguous beginning.

        Where that leaves no room for an order it is the first letters of its last word, `H0` for
        Op_Host0, or of all its words, as few as keep the units apart.
        """
        names = {unit: _beginning(unit, self.names) for unit in self.names}
        if len(" > ".join(names.values())) <= SHORT_ORDER:
            return names
        for letters in range(1, max(map(len, self.names))):
            for whole in (False, True):
                tight = {unit: _initials(unit, letters, whole) for unit in self.names}
                if all(tight.values()) and len(set(tight.values())) == len(self):
                    return tight
        return names

    @property
    def legend(self) -> str:
        """The short names with their units, of those that are shortened."""
        shortened = [(short, unit) for unit, short in self.short_names.items() if short != unit]
        return ", ".join(f"{short} {unit}" for short, unit in shortened)

    def __str__(self) -> str:
        """Returns the kind, or which hosts are in which group."""
        if self.kind != "groups":
            return self.kind
        return "; ".join(f"{name}: {', '.join(hosts)}" for name, hosts in self.groups.items())


def _beginning(unit: str, units: tuple[str, ...]) -> str:
    if len(unit) <= _WHOLE:
        return unit
    others = [other for other in units if other != unit]
    lengths = range(_LEAST, len(unit))
    return next(
        (unit[:n] for n in lengths if not any(o.startswith(unit[:n]) for o in others)), unit
    )


def _initials(unit: str, letters: int, whole: bool) -> str:
    parts = _PART.findall(unit)
    words = [part for part in parts if not part.isdigit()]
    kept = parts if whole else [part for part in parts if part not in words[:-1]]
    return "".join(part if part.isdigit() else part[:letters] for part in kept)


def _fixable(hosts: int) -> int:
    return int(hosts) & _FIXABLE_SET


TYPE_UNITS: Final = Units(UNITS, tuple(_fixable(hosts) for hosts in UNIT_HOSTS), "types")
_KINDS: Final = {
    "types": TYPE_UNITS,
    "hosts": Units(FIXABLE, tuple(host_set([name]) for name in FIXABLE), "hosts"),
    "subnets": Units(
        tuple(subnet.name.lower() for subnet in Subnet),
        tuple(_fixable(hosts) for hosts in SUBNET_HOSTS),
        "subnets",
    ),
}


def units_of(setting: str | Mapping[str, Any] | Units) -> Units:
    """Returns the units of a setting.

    Args:
        setting: as a configuration holds it: the name of a kind, or hosts by the name of their
            group; hosts in no group form a last unit, `rest`.

    Raises:
        InvalidInputError: they are no units; the sentence names the host or the group.
    """
    if isinstance(setting, Units):
        return setting
    if isinstance(setting, Mapping):
        return _grouped(read_groups(setting))
    if setting == ANY:
        raise InvalidInputError(
            "the units any have no orders to name: they are only for training on all orders"
        )
    if setting not in _KINDS:
        kinds = ", ".join(kind for kind in UNIT_KINDS if kind != ANY)
        raise InvalidInputError(f"unknown units {shown(setting)}: choose one of {kinds}, or groups")
    return _KINDS[setting]


def _grouped(groups: Groups) -> Units:
    for group in groups:
        if not _NAME.fullmatch(group):
            raise InvalidInputError(
                f"{shown(group)} cannot name a unit: use letters, digits, _ and - only"
            )
    _check_number(list(groups), at_least=0)
    home: dict[str, str] = {}  # host -> its group
    for group, hosts in groups.items():
        for host in hosts:
            name = _BY_NAME.get(host.casefold())
            if name is None:
                raise InvalidInputError(
                    f"unknown host {shown(host)} in {group}: the hosts are {', '.join(FIXABLE)}"
                )
            if name == HOST_NAMES[USER0]:
                raise InvalidInputError(
                    f"{name} in {group} is Red's permanent foothold and never open to fix: leave "
                    "it out"
                )
            if name in home:
                raise InvalidInputError(
                    f"{name} is named twice, in {home[name]} and in {group}: a host has one unit"
                )
            home[name] = group
        if not hosts:
            raise InvalidInputError(f"the unit {group} has no hosts")
    named = {group: host_set(h for h in home if home[h] == group) for group in groups}
    unnamed = host_set(host for host in FIXABLE if host not in home)
    if unnamed and REST in named:
        raise InvalidInputError(
            f"{REST} is the unit of the hosts that are in no group: name that group otherwise"
        )
    if unnamed:
        named[REST] = unnamed
    if len({name.casefold() for name in named}) < len(named):
        raise InvalidInputError(f"the names {', '.join(named)} differ only in upper and lower case")
    _check_number(list(named), at_least=FEWEST)
    return Units(tuple(named), tuple(named.values()), "groups")


def _check_number(names: list[str], at_least: int) -> None:
    if not at_least <= len(names) <= MOST:
        raise InvalidInputError(
            f"a workflow orders {FEWEST} to {MOST} units, not {len(names)}: {', '.join(names)}"
        )
