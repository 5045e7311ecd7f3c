"""Standing orders: at most twelve rules for a defender, as data, as arrays for kernels, in words.

The rules that come with the package were found by `python -m benchmarks.standing_orders`, which
searches their order and parameters by playing them, and simplified by hand where no game was lost.
"""

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.images import DECOY_NAMES, ServiceYield
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import signed, tables_of

NOWHERE: Final = -1
MOST_RULES: Final = 12  # that a person is asked to follow
_FILE: Final = Path(__file__).with_name("standing_orders.json")
_REPEATED: Final = "DecoyVsftpd"  # a decoy that is never refused, however often it stands
_DECOY: Final = "Decoy"  # how the names of decoys begin


class Response(IntEnum):
    """What to do about a mark."""

    LEAVE = 0
    ANALYSE = 1  # once; the mark becomes Privileged where malware is found
    REMOVE = 2
    RESTORE = 3


class Wait(IntEnum):
    """What must stand before a repair."""

    NOTHING = 0
    EXPECTED = 1  # the decoys of the host where Red is expected next
    ALL = 2  # all decoys of the list


@dataclass(frozen=True)
class HostRule:
    """What to do about the marks of one host."""

    user: tuple[Response, Response, Response]  # at the 1st, 2nd and later exploits since a Restore
    unknown: Response
    privileged: Response
    once: bool = False  # whether it is left once it has been restored
    wait: Wait = Wait.NOTHING

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "user": [response.name.lower() for response in self.user],
            "unknown": self.unknown.name.lower(),
            "privileged": self.privileged.name.lower(),
            "once": self.once,
            "wait": self.wait.name.lower(),
        }

    @property
    def is_idle(self) -> bool:
        """Whether it leaves every mark."""
        return {*self.user, self.unknown, self.privileged} == {Response.LEAVE}

    def columns(self) -> tuple[int, ...]:
        """Returns its row of `Arrays.rules`."""
        return (*self.user, self.unknown, self.privileged, self.once, self.wait)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "HostRule":
        """Reads what `as_json` returned."""
        first, second, later = (Response[name.upper()] for name in data["user"])
        return cls(
            user=(first, second, later),
            unknown=Response[data["unknown"].upper()],
            privileged=Response[data["privileged"].upper()],
            once=data["once"],
            wait=Wait[data["wait"].upper()],
        )


@dataclass(frozen=True)
class StandingOrders:
    """The rules of one defender."""

    decoys: tuple[tuple[str, str], ...]  # (host, decoy), first to be placed first
    expected: Mapping[str, str]  # after a scan of a host: where Red is expected next
    hosts: Mapping[str, HostRule]
    restored_early: str | None  # a host that is restored once while nothing is marked
    signs: tuple[str, ...]  # as soon as one of these hosts was scanned; none: at once

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "decoys": [list(pair) for pair in self.decoys],
            "expected": dict(self.expected),
            "hosts": {name: rule.as_json() for name, rule in self.hosts.items()},
            "restored_early": self.restored_early,
            "signs": list(self.signs),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "StandingOrders":
        """Reads what `as_json` returned."""
        return cls(
            decoys=tuple((host, decoy) for host, decoy in data["decoys"]),
            expected=dict(data["expected"]),
            hosts={name: HostRule.from_json(rule) for name, rule in data["hosts"].items()},
            restored_early=data["restored_early"],
            signs=tuple(data["signs"]),
        )

    def arrays(self, network: Network = SCENARIO2) -> "Arrays":
        """Returns it by the numbers of a network's hosts and actions."""
        number, named = network.number, actions_of(network).names
        expected = np.full(len(network.hosts), NOWHERE, np.int16)
        for scanned, host in self.expected.items():
            expected[number(scanned)] = number(host)
        rules = np.zeros((len(network.hosts), len(Column)), np.int16)
        for name, host_rule in self.hosts.items():
            rules[number(name)] = host_rule.columns()
        return Arrays(
            np.array([named.index(f"{d} {h}") for h, d in self.decoys], np.int16),
            expected,
            rules,
            NOWHERE if self.restored_early is None else number(self.restored_early),
            signed(sum(1 << number(host) for host in self.signs)),
        )


class Column(IntEnum):
    """Of a host's row of `Arrays.rules`."""

    FIRST = 0
    SECOND = 1
    LATER = 2
    UNKNOWN = 3
    PRIVILEGED = 4
    ONCE = 5
    WAIT = 6


class Arrays(NamedTuple):
    """Standing orders as kernels read them."""

    decoys: NDArray[np.int16]  # (m,) actions, first to be placed first
    expected: NDArray[np.int16]  # (host scanned last,) the host where Red is expected, or NOWHERE
    rules: NDArray[np.int16]  # (host, Column)
    early: int  # the host of the early Restore, or NOWHERE
    signs: int  # the set of hosts


# --- in words -----------------------------------------------------------------------------------

_VERBS: Final = {
    Response.LEAVE: "leave it",
    Response.ANALYSE: "Analyse, once after each exploit",
    Response.REMOVE: "Remove",
    Response.RESTORE: "Restore",
}
_SINCE: Final = "since its last Restore"
_WAITS: Final = {
    Wait.NOTHING: "",
    Wait.EXPECTED: " First place the decoys of the host where Red is expected.",
    Wait.ALL: " First place all decoys.",
}


def sentences_of(rules: StandingOrders) -> list[str]:
    """Returns the rules as sentences, the first that applies first."""
    repairs = [_repair(names, rule) for rule, names in _same(rules.hosts) if not rule.is_idle]
    left = [name for name, rule in rules.hosts.items() if rule.is_idle]
    return [
        *([_early(rules)] if rules.restored_early else []),
        *repairs,
        *([f"Leave every mark on {_listed(left)}."] if left else []),
        "Of several hosts to repair take the first in the order. Restore a marked host that comes "
        "before it in the order first, even one that would be left.",
        _expected(rules.expected),
        f"While nothing is to be repaired, place the first decoy of this list that does not stand: "
        f"{_decoys(rules.decoys)}.",
        "With every decoy in place, wait.",
    ]


def _same(hosts: Mapping[str, HostRule]) -> list[tuple[HostRule, list[str]]]:
    """Returns each rule with the hosts that have it."""
    rules = dict.fromkeys(hosts.values())
    return [(rule, [n for n in hosts if hosts[n] == rule]) for rule in rules]


def _early(rules: StandingOrders) -> str:
    when = f" and {_listed(rules.signs, 'or')} was scanned" if rules.signs else ""
    return f"Restore {rules.restored_early} once, as soon as no host is marked{when}."


def _repair(names: list[str], rule: HostRule) -> str:
    first, second, later = (_VERBS[response] for response in rule.user)
    if first == second == later:
        user = first
    elif second == later:
        user = f"{first} at the first exploit {_SINCE}, then {second}"
    elif first == second:
        user = f"{first} at the first two exploits {_SINCE}, then {later}"
    else:
        user = f"{first} at the first exploit {_SINCE}, {second} at the second, then {later}"
    once = " Restore it once in a game; after that leave it." if rule.once else ""
    unknown, privileged = _VERBS[rule.unknown], _VERBS[rule.privileged]
    if user == unknown == privileged:
        marks = f"whatever the mark: {user}"
    elif unknown == privileged:
        marks = f"marked User: {user}; Unknown or Privileged: {unknown}"
    else:
        marks = f"marked User: {user}; Unknown: {unknown}; Privileged: {privileged}"
    return f"{_listed(names)}: {marks}.{once}{_WAITS[rule.wait]}"


def _expected(expected: Mapping[str, str]) -> str:
    targets = dict.fromkeys(expected.values())
    parts = [f"{_listed([s for s in expected if expected[s] == t], 'or')}: {t}" for t in targets]
    where = "; ".join(parts)
    return f"Expect Red where the last scan leads: {where}. Place the decoys of that host first."


def _decoys(decoys: tuple[tuple[str, str], ...]) -> str:
    parts: list[str] = []
    for host, group in itertools.groupby(decoys, key=lambda pair: pair[0]):
        parts.append(f"{host}: {', '.join(decoy.removeprefix(_DECOY) for _, decoy in group)}")
    return "; ".join(parts)


def _listed(names: Iterable[str], last: str = "and") -> str:
    *others, final = names
    return f"{', '.join(others)} {last} {final}" if others else final


def standing_orders_of(network: Network) -> StandingOrders:
    """Returns the rules for a network: those that were searched for Scenario2, else usual ones.

    A host is repaired by Remove where that can help, else by Restore. Decoys stand on hosts that
    lead on and on targets first, the most valuable ones before the others.
    """
    if network == SCENARIO2:
        return STANDING_ORDERS
    net: Any = tables_of(network)[0]
    acted = [host for host in network.hosts if int(net["agents"]) >> network.number(host.name) & 1]
    acted = [host for host in acted if host.name != network.foothold and host.blue != "hidden"]
    rules = {host.name: _usual_rule(net["yields"][network.number(host.name)]) for host in acted}
    leads = {host.name: [r.host for r in host.reveals if r.host != host.name] for host in acted}
    first = sorted(
        acted,
        key=lambda h: (not (leads[h.name] or h.name in network.roles.targets), -h.value),
    )
    decoys = [
        (host.name, name)
        for host in first
        for decoy, name in enumerate(DECOY_NAMES)
        if net["placeable"][network.number(host.name)] >> decoy & 1 and name != _REPEATED
    ]
    expected = {host: told[0] for host, told in leads.items() if told}
    return StandingOrders(tuple(decoys), expected, rules, None, ())


def _usual_rule(yields: NDArray[np.int8]) -> HostRule:
    remove, restore = Response.REMOVE, Response.RESTORE
    if np.isin(yields, (ServiceYield.NO_SERVICE, ServiceYield.NO_ACCOUNT)).all():
        return HostRule((remove,) * 3, Response.LEAVE, restore)  # only false alarms
    if (yields == ServiceYield.USER_SHELL).any():
        return HostRule((remove,) * 3, restore, restore)
    return HostRule((restore,) * 3, restore, restore)


STANDING_ORDERS: Final = StandingOrders.from_json(json.loads(_FILE.read_text(encoding="utf-8")))
