"""Units: what a workflow puts in order, each a group of hosts.

The documents' five unit types are one choice; single hosts, the subnets, or user-defined groups are
others. There are two to twelve units, and every host that can be fixed is in exactly one.

Red's permanent foothold, User0 on Scenario2, is never open, so it belongs to no unit, whatever the
kind: it stands where the next host of its zone does, User1, which only decoys ever notice.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config.units import ANY, UNIT_KINDS, Groups, read_groups
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network

FEWEST: Final = 2
MOST: Final = 12
REST: Final = "rest"  # the last unit: of the hosts that no group names

SHORT_ORDER: Final = 34  # columns of an order in a table of 80
_WHOLE: Final = 4  # letters of a name that is not shortened
_LEAST: Final = 3  # letters of a short name, where there is room for them
_PART: Final = re.compile(r"\d+|[^\W\d_]+")  # of a name: letters, or a number
_NAME: Final = re.compile(r"\w([\w-]*\w)?")  # so that an order of such names can be read


@dataclass(frozen=True)
class Units:
    """Groups of hosts with names, in the order in which they are listed."""

    names: tuple[str, ...]
    hosts: tuple[int, ...]  # the set of hosts of each
    kind: str  # types, hosts, subnets or groups
    network: Network = SCENARIO2

    def __len__(self) -> int:
        """Returns how many there are."""
        return len(self.names)

    @cached_property
    def unit_of(self) -> NDArray[np.int8]:
        """(hosts,) the unit of each host."""
        found = [
            next((u for u, hosts in enumerate(self.hosts) if hosts >> host & 1), 0)
            for host in range(len(self.network.hosts))
        ]
        foothold = self.network.number(self.network.foothold)
        found[foothold] = found[stands_for_foothold(self.network)]
        return np.array(found, np.int8)

    @property
    def groups(self) -> dict[str, list[str]]:
        """The names of each unit's hosts."""
        return {
            name: [host for h, host in enumerate(self.network.host_names) if hosts >> h & 1]
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


def fixable(network: Network) -> tuple[str, ...]:
    """Returns the hosts that can be fixed: all but Red's foothold."""
    return tuple(name for name in network.host_names if name != network.foothold)


def fixable_hosts(network: Network) -> NDArray[np.int64]:
    """Returns the numbers of the hosts that can be fixed."""
    return np.array([network.number(name) for name in fixable(network)], np.int64)


def stands_for_foothold(network: Network) -> int:
    """Returns the host whose rank Red's foothold has: the next of its zone, else any other."""
    names, foothold = fixable(network), network.number(network.foothold)
    beside = [h for h in names if network.zone_of[h] == network.home]
    later = [h for h in beside if network.number(h) > foothold]
    return network.number((later or beside or list(names))[0])


def _set_of(network: Network, hosts: Iterable[str]) -> int:
    return sum(1 << network.number(name) for name in set(hosts) - {network.foothold})


def _types(network: Network) -> dict[str, tuple[str, ...]]:
    """Returns the hosts of each type: as the network groups them, else its zones."""
    return dict(network.units) or {zone.name.lower(): zone.hosts for zone in network.zones}


@cache
def _of_kind(kind: str, network: Network) -> Units:
    if kind == "hosts":
        groups: dict[str, tuple[str, ...]] = {name: (name,) for name in fixable(network)}
    elif kind == "subnets":
        groups = {zone.name.lower(): zone.hosts for zone in network.zones}
    else:
        groups = _types(network)
    named = {name: _set_of(network, hosts) for name, hosts in groups.items()}
    named = {name: hosts for name, hosts in named.items() if hosts}
    _check_number(list(named), at_least=FEWEST)
    return Units(tuple(named), tuple(named.values()), kind, network)


def units_of(setting: str | Mapping[str, Any] | Units, network: Network = SCENARIO2) -> Units:
    """Returns the units of a setting.

    Args:
        setting: as a configuration holds it: the name of a kind, or hosts by the name of their
            group; hosts in no group form a last unit, `rest`.
        network: whose hosts they are.

    Raises:
        InvalidInputError: they are no units; the sentence names the host or the group.
    """
    if isinstance(setting, Units):
        return setting
    if isinstance(setting, Mapping):
        return _grouped(read_groups(setting), network)
    if setting == ANY:
        raise InvalidInputError(
            "the units any have no orders to name: they are only for training on all orders"
        )
    if setting not in UNIT_KINDS:
        kinds = ", ".join(kind for kind in UNIT_KINDS if kind != ANY)
        raise InvalidInputError(f"unknown units {shown(setting)}: choose one of {kinds}, or groups")
    return _of_kind(setting, network)


def _grouped(groups: Groups, network: Network) -> Units:
    by_name = {name.casefold(): name for name in network.host_names}
    for group in groups:
        if not _NAME.fullmatch(group):
            raise InvalidInputError(
                f"{shown(group)} cannot name a unit: use letters, digits, _ and - only"
            )
    _check_number(list(groups), at_least=0)
    home: dict[str, str] = {}  # host -> its group
    for group, hosts in groups.items():
        for host in hosts:
            name = by_name.get(host.casefold())
            if name is None:
                raise InvalidInputError(
                    f"unknown host {shown(host)} in {group}: the hosts are "
                    f"{', '.join(fixable(network))}"
                )
            if name == network.foothold:
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
    named = {group: _set_of(network, (h for h in home if home[h] == group)) for group in groups}
    unnamed = _set_of(network, (host for host in fixable(network) if host not in home))
    if unnamed and REST in named:
        raise InvalidInputError(
            f"{REST} is the unit of the hosts that are in no group: name that group otherwise"
        )
    if unnamed:
        named[REST] = unnamed
    if len({name.casefold() for name in named}) < len(named):
        raise InvalidInputError(f"the names {', '.join(named)} differ only in upper and lower case")
    _check_number(list(named), at_least=FEWEST)
    return Units(tuple(named), tuple(named.values()), "groups", network)


def _check_number(names: list[str], at_least: int) -> None:
    if not at_least <= len(names) <= MOST:
        raise InvalidInputError(
            f"a workflow orders {FEWEST} to {MOST} units, not {len(names)}: {', '.join(names)}"
        )


TYPE_UNITS: Final = units_of("types")
