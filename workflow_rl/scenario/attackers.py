"""What can be said of a network before anybody plays it.

What CybORG's own red agents do there, what cannot matter, and what Blue can do: by the rules alone.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workflow_rl.scenario.images import (
    DECOY_NAMES,
    EXPLOITS,
    IMAGE_NAMES,
    IMAGE_PORTS,
    IMAGE_REFUSES,
    IMAGE_YIELD,
    IMAGES,
    ServiceYield,
)
from workflow_rl.scenario.network import (
    WITHOUT_HOST,
    Blue,
    Host,
    Network,
    Reach,
    Zone,
)
from workflow_rl.scenario.roles import ENTRY_NAME, TARGET_NAME

_YIELDS_SHELL: Final = (
    ServiceYield.USER_SHELL,
    ServiceYield.PRIVILEGED_SHELL,
    ServiceYield.SSH_SESSION,
)
_THIRD: Final = 2  # B_line's index into what a sweep lists


class Course(StrEnum):
    """How an agent of CybORG fares."""

    PLAYS = "plays"
    STALLS = "stalls"  # it goes on for ever without getting on
    MAY_RAISE = "may raise"  # by its own draws or by what Blue does
    RAISES = "raises"


@dataclass(frozen=True)
class Forecast:
    """What CybORG's own agent does on a network."""

    red: str
    course: Course
    sentence: str


@dataclass(frozen=True)
class Spread:
    """What Red can come to at most, if Blue does nothing."""

    known: frozenset[str]  # hosts whose addresses it learns
    reached: frozenset[str]  # of those, hosts in zones that it comes to reach
    held: frozenset[str]  # of those, hosts that some exploit takes


# --- what Red can take --------------------------------------------------------------------------


def passing_ports(network: Network, host: Host) -> set[int]:
    """Returns the ports of a host that Red sees while it reaches its zone."""
    ports = _zone_of(network, host.name).ports
    listening = {service.port for service in IMAGES[host.image].services}
    return listening if ports is None else listening & set(ports)


def usable_exploits(network: Network, host: Host) -> tuple[str, ...]:
    """Returns the exploits that can take a host that Red reaches, before Blue does anything."""
    ports, yields = passing_ports(network, host), IMAGE_YIELD[IMAGE_NAMES.index(host.image)]
    return tuple(
        exploit.name
        for exploit, gain in zip(EXPLOITS, yields, strict=True)
        if gain in _YIELDS_SHELL
        and exploit.port in ports
        and (not exploit.also_one_of or ports & set(exploit.also_one_of))
    )


def spread_of(network: Network, *, gates: bool = True) -> Spread:
    """Returns what Red can come to.

    Args:
        network: where.
        gates: whether a gate that Red can open counts as open all the time, or as shut.
    """
    hosts = {host.name: host for host in network.hosts}
    known = {reveal.host for reveal in network.known if reveal.address}
    zones = {network.zone_of[reveal.host] for reveal in network.known if reveal.zone}
    held, before = {network.foothold}, -1
    reached: set[str] = set()
    while before < len(known) + len(zones) + len(held):
        before = len(known) + len(zones) + len(held)
        for zone in network.zones:
            first = {network.foothold} if zone.reach is Reach.GATED and not gates else held
            if not first & set(network.openers(zone)):
                continue
            if zone.name in zones:
                known |= set(zone.hosts)
            reached |= known & set(zone.hosts)
            held |= {name for name in reached if usable_exploits(network, hosts[name])}
        for name in held:
            known |= {reveal.host for reveal in hosts[name].reveals if reveal.address}
            zones |= {network.zone_of[r.host] for r in hosts[name].reveals if r.zone}
    return Spread(frozenset(known), frozenset(reached & known), frozenset(held))


def _zone_of(network: Network, host: str) -> Zone:
    return network.zones[network.zone_names.index(network.zone_of[host])]


# --- CybORG's agents ----------------------------------------------------------------------------


def forecasts(network: Network) -> tuple[Forecast, ...]:
    """Returns what CybORG's own B_line and Meander do on a network."""
    return _bline(network), _meander(network)


def default_red(network: Network) -> str:
    """Returns who attacks where nobody is named: the first of CybORG's two that can, else path."""
    for forecast in forecasts(network):
        if forecast.course is Course.PLAYS:
            return forecast.red
    return "path"


class _Ends(Exception):  # noqa: N818 - no error, but the end of a search
    """An agent gets no further."""

    def __init__(self, course: Course, sentence: str) -> None:
        super().__init__(sentence)
        self.course = course
        self.sentence = sentence


def _bline(network: Network) -> Forecast:
    ends = list(_bline_ends(network))
    for course in (Course.RAISES, Course.MAY_RAISE, Course.STALLS):
        such = [end for end in ends if end.course is course]
        if not such:
            continue
        some = f" ({len(such)} of its {len(ends)} ways)" if len(ends) > 1 else ""
        if len(such) < len(ends):
            course = Course.PLAYS if course is Course.STALLS else Course.MAY_RAISE
        return Forecast("bline", course, such[0].sentence + some)
    return Forecast("bline", Course.PLAYS, "it can follow its path to the end")


def _bline_ends(network: Network) -> Iterator[_Ends]:
    """Yields how each of B_line's ways ends, by the host that it draws first."""
    entry = network.roles.entry
    if entry is None:
        yield _Ends(Course.RAISES, f"KeyError at step 1: Red does not know {ENTRY_NAME}")
        return
    zone = _zone_of(network, entry)
    if not _reached_by(network, zone, {network.foothold}):
        yield _Ends(Course.STALLS, f"it sweeps {zone.name}, which it does not reach, for ever")
        return
    first = [host for host in zone.hosts if host != entry]
    if not first:
        yield _Ends(Course.RAISES, f"IndexError at step 2: {entry} is alone in {zone.name}")
    for host in first:
        try:
            _follow_bline(network, host)
        except _Ends as end:
            yield end
        else:
            yield _Ends(Course.PLAYS, "")


def _follow_bline(network: Network, first: str) -> None:
    """Follows B_line's path from the first host that it draws.

    Raises:
        _Ends: it gets no further.
    """
    hosts = {host.name: host for host in network.hosts}
    held = {network.foothold}
    target = network.roles.targets[0] if network.roles.targets else TARGET_NAME

    def take(name: str) -> None:
        if not usable_exploits(network, hosts[name]):
            raise _Ends(Course.STALLS, f"no exploit takes {name}, which it tries for ever")
        held.add(name)

    def scan(name: str) -> None:
        zone = _zone_of(network, name)
        if not passing_ports(network, hosts[name]) or not _reached_by(network, zone, held):
            raise _Ends(Course.RAISES, f"IndexError when it has scanned {name}: it sees no port")

    def shown(by: str, name: str) -> bool:
        return any(reveal.host == name and reveal.address for reveal in hosts[by].reveals)

    take(first)
    listed = [first, *(reveal.host for reveal in hosts[first].reveals if reveal.host != first)]
    second = next((host for host in listed if host in network.roles.pivots), None)
    if second is None:
        raise _Ends(Course.RAISES, f"IndexError: {first} reveals no pivot")
    if not shown(first, second):
        raise _Ends(Course.RAISES, f"KeyError: {first} does not reveal the address of {second}")
    scan(second)
    gate_may_shut = _depends_on_gate(network, second, held | {second})
    take(second)
    if not any(reveal.host == second and reveal.zone for reveal in hosts[second].reveals):
        raise _Ends(Course.RAISES, f"KeyError: {second} does not reveal its own subnet")
    swept = _zone_of(network, second)
    if len(swept.hosts) <= _THIRD:
        raise _Ends(
            Course.RAISES, f"IndexError: {swept.name} has {len(swept.hosts)} hosts, it wants three"
        )
    third = swept.hosts[_THIRD]
    scan(third)
    take(third)
    if not shown(third, target):
        raise _Ends(Course.RAISES, f"KeyError: {third} does not reveal the address of {target}")
    if gate_may_shut or _depends_on_gate(network, third, held):
        raise _Ends(Course.MAY_RAISE, "IndexError if Blue shuts the gate before it is through")
    goal = _zone_of(network, target)
    if not passing_ports(network, hosts[target]) or not _reached_by(network, goal, held):
        raise _Ends(Course.STALLS, f"it does not reach {target} and begins anew for ever")
    take(target)
    path = (first, second, third, target)
    told = any(reveal.ot_service for host in path for reveal in hosts[host].reveals)
    if not told or not IMAGES[hosts[target].image].runs_ot_service:
        raise _Ends(Course.STALLS, f"it never stops a service on {target}, and tries for ever")


def _reached_by(network: Network, zone: Zone, held: Collection[str]) -> bool:
    return any(host in held for host in network.openers(zone))


def _depends_on_gate(network: Network, host: str, held: Collection[str]) -> bool:
    """Returns whether Blue can shut the gate to a host: the foothold does not hold it open."""
    gated = _zone_of(network, host).reach is Reach.GATED
    return gated and network.foothold not in network.roles.pivots


def _meander(network: Network) -> Forecast:
    course, sentence = _meander_ends(network)
    return Forecast("meander", course, sentence)


def _meander_ends(network: Network) -> tuple[Course, str]:
    most, least, roles = spread_of(network), spread_of(network, gates=False), network.roles
    if network.foothold in (*roles.retried_first, *roles.retried_second):
        return Course.MAY_RAISE, (
            f"KeyError at an early failed exploit: {network.foothold}, where it begins, is among "
            "the hosts that it then takes anew"
        )
    target = next((host for host in roles.targets if host in most.held), None)
    if target:
        shown = any(
            reveal.ot_service
            for host in network.hosts
            for reveal in host.reveals
            if host.name in most.held
        )
        if shown and IMAGES[network.hosts[network.number(target)].image].runs_ot_service:
            return Course.PLAYS, f"it can come to {target} and stop its service"
        return Course.STALLS, f"it takes {target} and cannot stop a service there"
    hard = sorted(least.known - most.held, key=network.number)
    if hard:
        return Course.STALLS, f"it never takes a target, and tries {_several(hard)} for ever"
    gated = any(_zone_of(network, host).reach is Reach.GATED for host in most.known)
    course = Course.MAY_RAISE if gated else Course.RAISES
    return course, "NotImplementedError when it has taken every host and has no target"


def _several(names: Collection[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + more


# --- what cannot matter, and what Blue can do ---------------------------------------------------


def cannot_matter(network: Network) -> tuple[str, ...]:
    """Returns sentences about what is in a network and never plays a part."""
    return tuple(_cannot_matter(network))


def _cannot_matter(network: Network) -> Iterator[str]:
    spread, roles = spread_of(network), network.roles
    for zone in network.zones:
        if zone.reach is Reach.GATED and not roles.pivots:
            yield f"The zone {zone.name} is closed: it is gated, and there is no pivot."
        elif zone.reach is not Reach.GATED and not network.openers(zone):
            yield f"The zone {zone.name} is closed."
        elif not zone.hosts:
            yield f"The zone {zone.name} has no host."
    unknown = [host for host in network.host_names if host not in spread.known]
    if unknown:
        yield f"Red never learns of {', '.join(unknown)}."
    beyond = [h for h in network.host_names if h in spread.known and h not in spread.reached]
    if beyond:
        yield f"Red never reaches {', '.join(beyond)}."
    hard = [h for h in network.host_names if h in spread.reached and h not in spread.held]
    if hard:
        yield f"No exploit takes {', '.join(hard)}."
    if not set(roles.targets) & spread.held:
        yield "Red never takes a target, so that no service is ever stopped."
    idle = [
        host.name
        for host in network.hosts
        if IMAGES[host.image].runs_ot_service and host.name not in roles.targets
    ]
    if idle:
        yield f"The OT service of {', '.join(idle)} is no target and never stopped."
    for kind in network.actions:
        if kind in DECOY_NAMES and not any(places_decoy(host, kind) for host in network.hosts):
            yield f"{kind} can be placed nowhere."
    for blue, what in (
        (Blue.NO_AGENT, "Blue's actions have no effect on"),
        (Blue.HIDDEN, "Blue neither sees nor can act on"),
        (Blue.UNWATCHED, "Blue sees no event on"),
    ):
        names = [host.name for host in network.hosts if host.blue is blue]
        if names:
            yield f"{what} {', '.join(names)}."


def places_decoy(host: Host, kind: str) -> bool:
    """Returns whether Blue can place a kind of decoy on a host that has none yet."""
    image = IMAGE_NAMES.index(host.image)
    refused = IMAGE_REFUSES[image, DECOY_NAMES.index(kind)] & IMAGE_PORTS[image]
    return not refused and host.blue in (Blue.WATCHED, Blue.UNWATCHED)


def what_blue_can(network: Network) -> tuple[str, ...]:
    """Returns sentences about what Blue sees and does."""
    hosts, observed = len(network.hosts), len(network.observed)
    actions = sum(1 if kind in WITHOUT_HOST else hosts for kind in network.actions)
    watched = sum(host.blue is Blue.WATCHED for host in network.hosts)
    decoys = [kind for kind in network.actions if kind in DECOY_NAMES]
    placed = sum(places_decoy(host, kind) for host in network.hosts for kind in decoys)
    return (
        f"Blue has {actions:,} actions: {', '.join(network.actions)}.",
        f"Blue observes {observed} of {hosts} hosts ({4 * observed} bits) and watches {watched}.",
        f"Of its {len(decoys) * hosts:,} actions that place a decoy, {placed:,} can have an effect."
        if decoys
        else "It has no action that places a decoy of its choice.",
    )
