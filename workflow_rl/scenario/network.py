"""A network as one frozen object: hosts, zones, what Red begins with, and roles instead of names.

Everything that the rules need is derived from it (`tables.tables_of`); nothing else knows a host.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.images import DECOY_NAMES, IMAGES, PORTS

MOST_HOSTS: Final = 64
MOST_VALUE: Final = 50.0  # a step of one host: what all cost together fits 16 bits of tenths

# Blue's actions on a host, and those without one, as CybORG names them.
WITHOUT_HOST: Final = ("Sleep", "Monitor")
ON_HOST: Final = ("Analyse", "Remove", *DECOY_NAMES, "Restore", "Misinform")
CHALLENGE_ACTIONS: Final = (*WITHOUT_HOST, *(kind for kind in ON_HOST if kind != "Misinform"))


class Blue(StrEnum):
    """What Blue has on a host."""

    WATCHED = "watched"  # acts there, and its monitor sees the events there
    UNWATCHED = "unwatched"  # acts there, and sees nothing
    NO_AGENT = "no-agent"  # its actions there have no effect, and it sees nothing
    HIDDEN = "hidden"  # the host is not in the observation, and an action there is invalid


class Reach(StrEnum):
    """By which rule Red reaches a zone."""

    OPEN = "open"  # always
    CLOSED = "closed"  # never
    GATED = "gated"  # while Red holds a pivot, wherever that is
    ROUTES = "routes"  # while Red holds a host of a zone with a route to it, or of the zone itself


class Reachability(StrEnum):
    """Whose rule of reachability a network uses."""

    CYBORG = "cyborg"  # one gate, no way through two zones
    ROUTES = "routes"  # Red goes on from what it holds


@dataclass(frozen=True)
class Reveal:
    """What an escalation, or the beginning of the game, shows Red of a host."""

    host: str
    address: bool = True
    zone: bool = False
    ot_service: bool = False  # that the host runs it, if it does


@dataclass(frozen=True)
class Host:
    """A machine."""

    name: str
    image: str  # what runs there: one of IMAGES
    value: float = 0.1  # charged per step while Red holds a privileged session
    service_value: float = 0.1  # charged per step while its OT service is down
    reveals: tuple[Reveal, ...] = ()  # by an escalation there, in the order of the hosts
    blue: Blue = Blue.WATCHED


@dataclass(frozen=True)
class Zone:
    """Hosts that share their reachability."""

    name: str
    hosts: tuple[str, ...]  # in the order in which a sweep lists them
    reach: Reach = Reach.OPEN
    routes: tuple[str, ...] = ()  # zones from which it is reached, for Reach.ROUTES
    ports: tuple[int, ...] | None = None  # only these pass; None: all


@dataclass(frozen=True)
class Roles:
    """Which hosts play the parts that CybORG gives by name."""

    targets: tuple[str, ...] = ()  # whose OT service the red scripts stop
    pivots: tuple[str, ...] = ()  # what opens gated zones; B_line's second stage
    entry: str | None = None  # the host whose zone B_line begins with, known at the start
    retried_first: tuple[str, ...] = ()  # what Meander takes anew after a failed exploit,
    retried_second: tuple[str, ...] = ()  # and else these
    green: tuple[str | None, ...] = ()  # whom Green scans, each as likely; None: nobody


@dataclass(frozen=True)
class Network:
    """What the rules of the game are played on."""

    name: str
    hosts: tuple[Host, ...]  # in the order of observations and actions
    zones: tuple[Zone, ...]
    foothold: str  # where Red begins, with a session that it never loses
    known: tuple[Reveal, ...]  # what Red knows at the start
    foothold_is_charged: bool = True  # not if Red begins as another system's administrator
    roles: Roles = field(default_factory=Roles)
    actions: tuple[str, ...] = CHALLENGE_ACTIONS  # kinds of Blue's actions, in their order
    units: tuple[tuple[str, tuple[str, ...]], ...] = ()  # groups of hosts that orders rank

    def __post_init__(self) -> None:
        """Checks that the parts fit together.

        Raises:
            InvalidInputError: they do not.
        """
        _check(self)

    def __hash__(self) -> int:
        """Returns the hash of the digest, which is made once."""
        return hash(self.digest)

    @cached_property
    def host_names(self) -> tuple[str, ...]:
        """The hosts, in order."""
        return tuple(host.name for host in self.hosts)

    @cached_property
    def zone_names(self) -> tuple[str, ...]:
        """The zones, in order."""
        return tuple(zone.name for zone in self.zones)

    @cached_property
    def zone_of(self) -> dict[str, str]:
        """The zone of each host, by name."""
        return {host: zone.name for zone in self.zones for host in zone.hosts}

    @property
    def home(self) -> str:
        """The zone of Red's foothold."""
        return self.zone_of[self.foothold]

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """The hosts of Blue's observation, in order."""
        return tuple(host.name for host in self.hosts if host.blue is not Blue.HIDDEN)

    @property
    def reachability(self) -> Reachability:
        """Whose rule of reachability it uses."""
        by_routes = any(zone.reach is Reach.ROUTES for zone in self.zones)
        return Reachability.ROUTES if by_routes else Reachability.CYBORG

    @cached_property
    def digest(self) -> str:
        """A hash of everything but its own name: equal digests, equal games."""
        parts = asdict(self)
        del parts["name"]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def number(self, host: str) -> int:
        """Returns the index of a host."""
        return self.host_names.index(host)

    def openers(self, zone: Zone) -> tuple[str, ...]:
        """Returns the hosts by which a zone is reached: while Red holds one of them.

        The foothold is always held, so that what it opens is always open.
        """
        match zone.reach:
            case Reach.OPEN:
                return (self.foothold,)
            case Reach.CLOSED:
                return ()
            case Reach.GATED:
                return self.roles.pivots
            case Reach.ROUTES:
                near = {zone.name, *zone.routes}
                return tuple(host for host in self.host_names if self.zone_of[host] in near)


def _check(network: Network) -> None:
    hosts, zones = network.host_names, network.zone_names
    if not 1 <= len(hosts) <= MOST_HOSTS:
        raise InvalidInputError(f"hosts: {len(hosts)} of them; allowed are 1 to {MOST_HOSTS}")
    _check_names("host", hosts)
    _check_names("zone", zones)
    _check_zones(network)
    for host in network.hosts:
        _check_host(host, hosts)
    _check_known("foothold", (network.foothold,), hosts)
    _check_known("known", (reveal.host for reveal in network.known), hosts)
    start = Reveal(network.foothold, address=True, zone=True)
    told = [reveal for reveal in network.known if reveal.host == network.foothold]
    if not any(reveal.address and reveal.zone for reveal in told):
        raise InvalidInputError(
            f"known: Red must know the address and the zone of its foothold {start.host}"
        )
    roles = network.roles
    for name in ("targets", "pivots", "retried_first", "retried_second"):
        _check_known(f"roles.{name}", getattr(roles, name), hosts)
    _check_known("roles.entry", (roles.entry,) if roles.entry else (), hosts)
    _check_known("roles.green", (host for host in roles.green if host), hosts)
    for kind in network.actions:
        if kind not in WITHOUT_HOST + ON_HOST:
            allowed = ", ".join(WITHOUT_HOST + ON_HOST)
            raise InvalidInputError(f"actions: unknown {shown(kind)}; allowed are {allowed}")
    if len(set(network.actions)) != len(network.actions) or "Sleep" not in network.actions:
        raise InvalidInputError("actions: each kind once, and Sleep among them")
    for unit, members in network.units:
        _check_known(f"units.{unit}", members, hosts)


def _check_names(what: str, names: tuple[str, ...]) -> None:
    met: dict[str, str] = {}
    for name in names:
        if not name or not name.isprintable() or name != name.strip() or len(name) > 64:
            raise InvalidInputError(
                f"{what} {shown(name)}: a name has 1 to 64 printable characters and no space at "
                "either end"
            )
        if (other := met.setdefault(name.casefold(), name)) != name or names.count(name) > 1:
            raise InvalidInputError(
                f"{what} {shown(name)}: the name differs from {shown(other)} in case only"
                if other != name
                else f"{what} {shown(name)}: named twice"
            )


def _check_zones(network: Network) -> None:
    home_of: dict[str, str] = {}
    for zone in network.zones:
        _check_known(f"zone {zone.name}", zone.hosts, network.host_names)
        _check_known(f"zone {zone.name}: from", zone.routes, network.zone_names, "zone")
        for host in zone.hosts:
            if host in home_of:
                raise InvalidInputError(
                    f"host {host}: in two zones, {home_of[host]} and {zone.name}; allowed is one"
                )
            home_of[host] = zone.name
        for port in zone.ports or ():
            if port not in PORTS:
                allowed = ", ".join(map(str, PORTS))
                raise InvalidInputError(
                    f"zone {zone.name}: ports: nothing listens on {port}; allowed are {allowed}"
                )
    for host in network.host_names:
        if host not in home_of:
            raise InvalidInputError(f"host {host}: in no zone; every host is in one")


def _check_host(host: Host, hosts: tuple[str, ...]) -> None:
    if host.image not in IMAGES:
        raise InvalidInputError(
            f"host {host.name}: unknown image {shown(host.image)}; allowed are {', '.join(IMAGES)}"
        )
    for name in ("value", "service_value"):
        value = getattr(host, name)
        if not 0 <= value <= MOST_VALUE or abs(10 * value - round(10 * value)) > 1e-9:
            raise InvalidInputError(
                f"host {host.name}: {name} {shown(value)} is not allowed; allowed are 0 to "
                f"{MOST_VALUE:g} in steps of 0.1"
            )
    _check_known(f"host {host.name}: reveals", (reveal.host for reveal in host.reveals), hosts)


def _check_known(
    what: str, names: Iterable[str], known: tuple[str, ...], kind: str = "host"
) -> None:
    for name in names:
        if name not in known:
            raise InvalidInputError(f"{what}: there is no {kind} {shown(name)}")
