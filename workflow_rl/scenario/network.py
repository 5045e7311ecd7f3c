"""A network as one frozen object: hosts, zones, what Red begins with, and roles instead of names.

Everything that the rules need is derived from it (`tables.tables_of`); nothing else knows a host.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeVar

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.images import DECOY_NAMES, IMAGE_NAMES, IMAGES, PORTS, Image

MOST_HOSTS: Final = 64
MOST_VALUE: Final = 50.0  # a step of one host: what all cost together fits 16 bits of tenths
LONGEST_NAME: Final = 64

Name = TypeVar("Name", str, int)

# Blue's actions on a host, and those without one, as CybORG names them.
WITHOUT_HOST: Final = ("Sleep", "Monitor")
ON_HOST: Final = ("Analyse", "Remove", *DECOY_NAMES, "Restore", "Misinform")
CHALLENGE_ACTIONS: Final = (*WITHOUT_HOST, *(kind for kind in ON_HOST if kind != "Misinform"))


class NetworkError(InvalidInputError):
    """Parts of a network that do not fit together."""

    def __init__(self, part: tuple[str, ...], sentence: str) -> None:
        """Takes the part that is wrong, by the names of our format, and what is wrong with it."""
        super().__init__(f"{'.'.join(part)}: {sentence}")
        self.part = part
        self.sentence = sentence


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
    ot_service: bool = False  # that the host runs it


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
    roles: Roles = field(default_factory=Roles)
    actions: tuple[str, ...] = CHALLENGE_ACTIONS  # kinds of Blue's actions, in their order
    units: tuple[tuple[str, tuple[str, ...]], ...] = ()  # groups of hosts that orders rank
    foothold_charged: bool = True  # False: the foothold is charged for later sessions only

    def __post_init__(self) -> None:
        """Checks that the parts fit together.

        Raises:
            NetworkError: they do not.
        """
        _check(self)

    def __hash__(self) -> int:
        """Returns the hash of the digest, which is made once."""
        return hash(self.digest)

    def __str__(self) -> str:
        """Returns its name."""
        return self.name

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
        """A hash of all but its own name and its units: equal digests, equal games."""
        parts = asdict(self)
        del parts["name"], parts["units"]
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


def check_network(name: str, trained: Network, played: Network) -> None:
    """Checks that what was trained on one network is played on the same.

    Raises:
        InvalidInputError: it is another one.
    """
    if trained.digest != played.digest:
        raise InvalidInputError(
            f"{name} was trained on the network {trained.name}, and the game is played on "
            f"{played.name}: its hosts and actions are others"
        )


def _check(network: Network) -> None:
    hosts, zones = network.host_names, network.zone_names
    for kind, names in (("hosts", hosts), ("zones", zones)):
        if not 1 <= len(names) <= MOST_HOSTS:
            raise NetworkError((kind,), f"there are {len(names)}; allowed are 1 to {MOST_HOSTS}")
        _check_names(kind, names)
    _check_zones(network)
    stoppable = {host.name for host in network.hosts if _image(host).runs_ot_service}
    for host in network.hosts:
        _check_values(host)
        _check_reveals(("hosts", host.name, "reveals"), host.reveals, hosts, stoppable)
    if not network.observed:
        raise NetworkError(("hosts",), "all of them are hidden; Blue must see at least one")
    _check_named(("foothold",), (network.foothold,), hosts)
    _check_reveals(("known",), network.known, hosts, stoppable)
    if Reveal(network.foothold, address=True, zone=True) not in (
        replace(reveal, ot_service=False) for reveal in network.known
    ):
        raise NetworkError(
            ("known",), f"Red must know the address and the zone of its foothold {network.foothold}"
        )
    roles = network.roles
    for name in ("targets", "pivots", "retried_first", "retried_second"):
        _check_named(("roles", name), getattr(roles, name), hosts)
    _check_named(("roles", "entry"), (roles.entry,) if roles.entry else (), hosts)
    _check_named(("roles", "green"), tuple(host for host in roles.green if host), hosts)
    _check_named(("actions",), network.actions, WITHOUT_HOST + ON_HOST, "kind of action")
    if "Sleep" not in network.actions:
        raise NetworkError(("actions",), "Sleep must be one of them")
    _check_names("units", tuple(name for name, _ in network.units))
    for unit, members in network.units:
        _check_named(("units", unit), members, hosts)
        if not members:
            raise NetworkError(("units", unit), "there must be at least one host in it")
    grouped = [host for _, members in network.units for host in members]
    _check_named(("units",), tuple(grouped), hosts)


def _check_names(kind: str, names: tuple[str, ...]) -> None:
    met: dict[str, str] = {}
    for name in names:
        if not name or not name.isprintable() or name != name.strip() or len(name) > LONGEST_NAME:
            raise NetworkError(
                (kind, name),
                f"a name has 1 to {LONGEST_NAME} printable characters and no space at either end",
            )
        if (key := name.casefold()) in met:
            other = met[key]
            how = "twice" if other == name else f"and {shown(other)}, which differ in case only"
            raise NetworkError((kind, name), f"there is {shown(name)} {how}")
        met[key] = name


def _check_zones(network: Network) -> None:
    home_of: dict[str, str] = {}
    for zone in network.zones:
        part = ("zones", zone.name)
        _check_named((*part, "hosts"), zone.hosts, network.host_names)
        _check_named((*part, "from"), zone.routes, network.zone_names, "zone")
        if zone.routes and zone.reach is not Reach.ROUTES:
            raise NetworkError((*part, "from"), f"a zone that is {zone.reach} has no routes")
        _check_named((*part, "ports"), zone.ports or (), PORTS, "service that listens on port")
        for host in zone.hosts:
            if host in home_of:
                raise NetworkError(
                    ("hosts", host, "zone"),
                    f"{host} is in two zones, {home_of[host]} and {zone.name}; allowed is one",
                )
            home_of[host] = zone.name
    for host in network.host_names:
        if host not in home_of:
            raise NetworkError(
                ("hosts", host, "zone"), f"{host} is in no zone; each host is in one"
            )


def _image(host: Host) -> Image:
    _check_named(("hosts", host.name, "image"), (host.image,), IMAGE_NAMES, "image")
    return IMAGES[host.image]


def _check_values(host: Host) -> None:
    for name in ("value", "service_value"):
        value = getattr(host, name)
        if not 0 <= value <= MOST_VALUE or abs(10 * value - round(10 * value)) > 1e-9:
            raise NetworkError(
                ("hosts", host.name, name),
                f"{shown(value)} is not allowed; allowed is 0 to {MOST_VALUE:,.0f} in steps of 0.1",
            )


def _check_reveals(
    part: tuple[str, ...],
    reveals: tuple[Reveal, ...],
    hosts: tuple[str, ...],
    stoppable: Collection[str],
) -> None:
    named = tuple(reveal.host for reveal in reveals)
    _check_named(part, named, hosts)
    if sorted(named, key=hosts.index) != list(named):
        raise NetworkError(part, "they must be in the order of the hosts")
    for reveal in reveals:
        if reveal.ot_service and reveal.host not in stoppable:
            raise NetworkError(part, f"{reveal.host} does not run the OT service")
        if reveal.zone and not reveal.address:
            raise NetworkError(part, f"of {reveal.host} the zone is revealed without the address")
        if not reveal.address and not reveal.ot_service:
            raise NetworkError(part, f"of {reveal.host} neither address nor service is revealed")


def _check_named(
    part: tuple[str, ...], names: tuple[Name, ...], known: tuple[Name, ...], kind: str = "host"
) -> None:
    for index, name in enumerate(names):
        if name not in known:
            allowed = f"; allowed are {', '.join(map(str, known))}" if len(known) <= 16 else ""
            raise NetworkError(part, f"there is no {kind} {shown(name)}{allowed}")
        if name in names[:index]:
            raise NetworkError(part, f"{shown(name)} is named twice")
