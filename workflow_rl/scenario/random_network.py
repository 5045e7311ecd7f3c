"""Networks drawn at random, for studies and for tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from random import Random
from typing import Final, TypeVar

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.images import IMAGES, PORTS
from workflow_rl.scenario.network import (
    CHALLENGE_ACTIONS,
    MOST_HOSTS,
    ON_HOST,
    WITHOUT_HOST,
    Blue,
    Host,
    Network,
    Reach,
    Reachability,
    Reveal,
    Zone,
)
from workflow_rl.scenario.roles import ENTRY_NAME, TARGET_NAME, roles_by_name, roles_by_place

FEWEST_HOSTS: Final = 4
MOST_ZONES: Final = 10
_ZONES: Final = (
    *("office", "servers", "plant", "dmz", "lab", "branch", "backup", "finance", "guest", "core"),
)
_MACHINES: Final = ("pc", "web", "db", "mail", "files", "hmi", "cam", "app", "gate", "box")
_CYBORG_MACHINES: Final = (
    *("User", "Enterprise", "Op_Host", "OpsBox", "Entry", "Defender", "pc", "web", "srv"),
)
_PLAIN_IMAGES: Final = tuple(
    name
    for name, image in IMAGES.items()
    if image.weak_ssh_account and not image.runs_ot_service and name != "linux_decoy_host"
)
_HARD_IMAGES: Final = ("Velociraptor_Server", "Kali_Box")  # no exploit works there
_SELDOM: Final = (Blue.NO_AGENT, Blue.HIDDEN)
_VALUES: Final = ((0.0, 2), (0.1, 6), (1.0, 4), (10.0, 1))
_HARD: Final = 0.08  # of the hosts that are no targets
_MORE_ROUTES: Final = 0.25  # of the zones
_LAID: Final = 0.7  # of the networks of CybORG's rule, a path for B_line
_PIVOT: Final = "Enterprise0"  # on it
_HOME_HOSTS: Final = 2  # that it needs at least
_STAGE_HOSTS: Final = 3
_SHOWS_ANOTHER: Final = 0.4  # of the hosts

T = TypeVar("T")


@dataclass(frozen=True)
class _Draft:
    """A network of which the hosts stand in their zones."""

    rng: Random
    rare: float
    zones: tuple[str, ...]
    parent: dict[str, str]  # of each zone but the first, the one from which it is reached
    members: dict[str, list[str]]  # of each zone
    images: dict[str, str]  # of each host
    foothold: str
    stage: str | None = None  # the zone through which B_line's path leads, if it was laid

    def rarely(self) -> bool:
        """Returns whether a rarer feature is drawn."""
        return self.rng.random() < self.rare


def random_network(
    hosts: int,
    zones: int,
    seed: int,
    reachability: Reachability = Reachability.ROUTES,
    rare: float = 0.0,
) -> Network:
    """Returns a network drawn at random, the same for the same arguments.

    By routes each zone but Red's is reached from another, some host there shows Red the way, and
    far from home there is a host with the OT service. Of the networks of CybORG's rule most have
    the path that its B_line wants.

    Args:
        hosts: how many.
        zones: how many, at most one for each host.
        seed: of the draws.
        reachability: by which rule Red gets from zone to zone; of CybORG's, so that CybORG can
            play the network.
        rare: the probability of each rarer feature: port lists, hosts that Blue does not see or has
            no agent on, several targets, other actions, more knowledge at the start.

    Raises:
        InvalidInputError: a number is out of its range.
    """
    _check_range("hosts", hosts, Integral, FEWEST_HOSTS, MOST_HOSTS)
    _check_range("zones", zones, Integral, 1, min(MOST_ZONES, hosts))
    _check_range("seed", seed, Integral, 0, 2**63 - 1)
    _check_range("rare", rare, Real, 0, 1)
    draft = _draft(
        Random(f"{hosts} {zones} {seed} {reachability} {rare}"),
        hosts,
        zones,
        rare,
        reachability is Reachability.CYBORG,
    )
    return (_of_cyborg if reachability is Reachability.CYBORG else _of_routes)(draft, seed)


def _check_range(what: str, value: float, kind: type, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        number = "whole number" if kind is Integral else "number"
        raise InvalidInputError(
            f"{what} must be a {number} from {low} to {high}, not {shown(value)}"
        )


def _draft(rng: Random, hosts: int, zones: int, rare: float, cyborg: bool) -> _Draft:
    names = _host_names(rng, hosts, cyborg)
    places = _zone_names(rng, zones)
    parent = {place: places[rng.randrange(number)] for number, place in enumerate(places) if number}
    members: dict[str, list[str]] = {place: [] for place in places}
    order = names[:]
    rng.shuffle(order)
    if cyborg and TARGET_NAME in order:  # far from home, where there is a far
        order.remove(TARGET_NAME)
        order.insert(0, TARGET_NAME)
    for number, place in enumerate(reversed(places)):
        members[place].append(order[number])
    for host in order[zones:]:
        members[rng.choice((places[0], *places))].append(host)
    foothold = rng.choice(members[places[0]])
    stage = None
    if cyborg and rng.random() >= rare:
        foothold = ENTRY_NAME
        _move(members, ENTRY_NAME, places[0])
        if zones > 1 and rng.random() < _LAID:
            stage = _lay_path(members, places)
    far = members[places[-1]]
    targets = {TARGET_NAME} if cyborg else {rng.choice(far)}
    if rng.random() < rare:
        targets |= {rng.choice(names)}
    images = {
        host: "OP_Server" if host in targets - {foothold} else rng.choice(_PLAIN_IMAGES)
        for host in names
    }
    path = {*members[places[0]], *members[stage]} if stage else {foothold}
    for host in names:
        if images[host] != "OP_Server" and host not in path and rng.random() < _HARD:
            images[host] = rng.choice(_HARD_IMAGES)
    return _Draft(rng, rare, tuple(places), parent, members, images, foothold, stage)


def _move(members: dict[str, list[str]], host: str, place: str) -> None:
    """Moves a host to a zone, in exchange for another one unless a zone would be empty."""
    (now,) = (zone for zone, hosts in members.items() if host in hosts)
    if now == place:
        return
    others = [other for other in members[place] if other not in (ENTRY_NAME, TARGET_NAME)]
    members[now].remove(host)
    if others:
        members[place].remove(others[0])
        members[now].append(others[0])
    members[place].append(host)


def _lay_path(members: dict[str, list[str]], places: Sequence[str]) -> str | None:
    """Moves hosts so that B_line can go through a zone; returns it, None if they are too few."""
    home, stage = places[:2]
    _move(members, _PIVOT, stage)
    while len(members[stage]) < _STAGE_HOSTS and len(members[home]) > _HOME_HOSTS:
        spare = next(host for host in members[home] if host not in (ENTRY_NAME, TARGET_NAME))
        members[home].remove(spare)
        members[stage].append(spare)
    enough = len(members[stage]) >= _STAGE_HOSTS and len(members[home]) >= _HOME_HOSTS
    return stage if enough else None


def _host_names(rng: Random, hosts: int, cyborg: bool) -> list[str]:
    machines = _CYBORG_MACHINES if cyborg else _MACHINES
    names = [ENTRY_NAME, _PIVOT, TARGET_NAME] if cyborg else []
    count = dict.fromkeys(machines, 0) | {name.rstrip("0"): 1 for name in names}
    while len(names) < hosts:
        machine = rng.choice(machines)
        names.append(f"{machine}{count[machine]}")
        count[machine] += 1
    if rng.random() < 0.5:
        rng.shuffle(names)
    else:
        names.sort()
    return names


def _zone_names(rng: Random, zones: int) -> list[str]:
    others = list(_ZONES[1:])
    rng.shuffle(others)
    return [_ZONES[0], *others][:zones]


# --- what both rules of reachability have -------------------------------------------------------


def _hosts(draft: _Draft) -> tuple[Host, ...]:
    rng, zone_of = draft.rng, {h: zone for zone, hosts in draft.members.items() for h in hosts}
    shows: dict[str, set[str]] = {host: set() for host in draft.images}
    for zone, near in draft.parent.items():  # somebody shows the way
        able = [host for host in draft.members[near] if draft.images[host] not in _HARD_IMAGES]
        shows[rng.choice(able or draft.members[near])].add(rng.choice(draft.members[zone]))
    for host, zone in zone_of.items():
        if rng.random() < _SHOWS_ANOTHER:
            near = rng.choice([zone, *[z for z, at in draft.parent.items() if at == zone]])
            shows[host].add(rng.choice(draft.members[near]))
    if draft.stage:
        for host in set(draft.members[draft.zones[0]]) - {draft.foothold}:
            shows[host].add(_PIVOT)
        for host in draft.members[draft.stage]:
            shows[host].add(TARGET_NAME)
    order = list(draft.images)

    def reveal(host: str, other: str) -> Reveal:
        stoppable = draft.images[other] == "OP_Server"
        if host == other:
            tells = (draft.stage and host == _PIVOT) or not draft.rarely()
            return Reveal(host, zone=bool(tells), ot_service=stoppable)
        return Reveal(other, zone=draft.rarely(), ot_service=stoppable and draft.rarely())

    def blue(host: str) -> Blue:
        if not draft.rarely():
            return Blue.WATCHED
        return Blue.UNWATCHED if host == order[0] else rng.choice(_SELDOM)

    return tuple(
        Host(
            name=host,
            image=draft.images[host],
            value=0.0 if host == draft.foothold else _weighted(rng, _VALUES),
            service_value=10.0 if draft.images[host] == "OP_Server" else 0.1,
            reveals=tuple(
                reveal(host, other)
                for other in order
                if other in shows[host]
                or (other == host and (draft.stage is not None or not draft.rarely()))
            ),
            blue=blue(host),
        )
        for host in order
    )


def _known(draft: _Draft) -> tuple[Reveal, ...]:
    other = draft.rng.choice(list(draft.images)) if draft.rarely() else draft.foothold
    return tuple(
        Reveal(host, zone=host == draft.foothold)
        for host in draft.images
        if host in (draft.foothold, other)
    )


def _actions(draft: _Draft) -> tuple[str, ...]:
    if not draft.rarely():
        return CHALLENGE_ACTIONS
    kinds = [kind for kind in ON_HOST if kind == "Restore" or draft.rng.random() < 0.6]
    draft.rng.shuffle(kinds)
    return (*WITHOUT_HOST, *kinds)


def _ports(draft: _Draft) -> tuple[int, ...] | None:
    if not draft.rarely():
        return None
    return tuple(sorted({22, *draft.rng.sample(PORTS, draft.rng.randint(1, 5))}))


def _weighted(rng: Random, weights: Sequence[tuple[T, int]]) -> T:
    return rng.choices([value for value, _ in weights], [weight for _, weight in weights])[0]


def _sweep(draft: _Draft, zone: str, order: Callable[[str], int]) -> tuple[str, ...]:
    """Returns the hosts of a zone in the order of a sweep, seldom that of the hosts."""
    if draft.rarely():
        return tuple(draft.members[zone])
    return tuple(sorted(draft.members[zone], key=order))


# --- the two rules ------------------------------------------------------------------------------


def _of_routes(draft: _Draft, seed: int) -> Network:
    hosts, order = _hosts(draft), list(draft.images).index

    def routes(number: int, zone: str) -> tuple[str, ...]:
        if zone not in draft.parent:
            return ()
        others = [z for z in draft.zones[:number] if z != draft.parent[zone]]
        more = [draft.rng.choice(others)] if others and draft.rng.random() < _MORE_ROUTES else []
        return (draft.parent[zone], *more)

    zones = tuple(
        Zone(
            zone,
            _sweep(draft, zone, order),
            Reach.ROUTES,
            routes(number, zone),
            _ports(draft) if number else None,
        )
        for number, zone in enumerate(draft.zones)
    )
    known = _known(draft)
    return Network(
        name=f"random-{len(hosts)}-{len(zones)}-{seed}",
        hosts=hosts,
        zones=zones,
        foothold=draft.foothold,
        known=known,
        roles=roles_by_place(hosts, zones, draft.foothold),
        actions=_actions(draft),
    )


def _of_cyborg(draft: _Draft, seed: int) -> Network:
    hosts, order = _hosts(draft), list(draft.images).index
    rng = draft.rng

    def zone(number: int, name: str) -> Zone:
        members = _sweep(draft, name, order)
        if number == 0 or name == draft.stage:
            return Zone(name, members)
        reach = _weighted(rng, ((Reach.OPEN, 5), (Reach.GATED, 3), (Reach.CLOSED, 1)))
        return Zone(name, members, reach, ports=_ports(draft) if reach is Reach.OPEN else None)

    zones = tuple(zone(number, name) for number, name in enumerate(draft.zones))
    known, names = _known(draft), tuple(draft.images)
    return Network(
        name=f"random-{len(hosts)}-{len(zones)}-{seed}",
        hosts=hosts,
        zones=zones,
        foothold=draft.foothold,
        known=known,
        roles=roles_by_name(names, known, rng.sample(names, rng.randint(1, len(names)))),
        actions=_actions(draft),
        foothold_charged=not draft.rarely(),
    )
