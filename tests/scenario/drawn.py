"""Random networks of all features, and changes to them."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from workflow_rl.scenario.images import IMAGE_NAMES, IMAGES, PORTS
from workflow_rl.scenario.network import (
    CHALLENGE_ACTIONS,
    Blue,
    Host,
    Network,
    Reach,
    Reveal,
    Roles,
    Zone,
)

VALUES = st.sampled_from([0.0, 0.1, 0.1, 0.7, 1.0, 10.0, 50.0])
# Blue acts and watches on most hosts, so that games have something to show.
BLUES = st.sampled_from([*[Blue.WATCHED] * 6, Blue.UNWATCHED, Blue.NO_AGENT, Blue.HIDDEN])
ACTIONS = st.sampled_from(
    [
        *[CHALLENGE_ACTIONS] * 3,
        (*CHALLENGE_ACTIONS[::-1], "Misinform"),
        ("Sleep", "Monitor", "Analyse", "Remove", "Misinform", "Restore"),
        ("Restore", "DecoyApache", "Sleep"),
        ("Sleep",),
    ]
)


@st.composite
def _reveals(
    draw: st.DrawFn, names: tuple[str, ...], stoppable: Collection[str]
) -> tuple[Reveal, ...]:
    """What is told of some hosts, in their order; of those that run the OT service that, too."""
    told = []
    for name in sorted(draw(st.sets(st.sampled_from(names), max_size=3)), key=names.index):
        service = name in stoppable and draw(st.booleans())
        address = not service or draw(st.booleans())
        told.append(Reveal(name, address, address and draw(st.booleans()), service))
    return tuple(told)


@st.composite
def _zones(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[Zone, ...]:
    number = draw(st.integers(1, min(4, len(names))))
    zone_names = tuple(f"zone{z}" for z in range(number))
    mixed = draw(st.permutations(names))
    cuts = sorted(draw(st.sets(st.integers(1, len(names)), max_size=number - 1)))
    bounds = [0, *cuts, len(names)]
    inside = [mixed[a:b] for a, b in pairwise(bounds)]
    inside += [[] for _ in range(number - len(inside))]  # a zone may be empty
    reaches = st.sampled_from(
        [Reach.ROUTES, Reach.ROUTES, Reach.OPEN]
        if draw(st.booleans())
        else [Reach.OPEN, Reach.OPEN, Reach.GATED, Reach.CLOSED]
    )
    ports = st.one_of(st.none(), st.none(), st.lists(st.sampled_from(PORTS), unique=True))
    return tuple(
        Zone(
            name,
            tuple(hosts),
            reach := draw(reaches),
            tuple(draw(st.sets(st.sampled_from(zone_names)))) if reach is Reach.ROUTES else (),
            None if (open_ports := draw(ports)) is None else tuple(open_ports),
        )
        for name, hosts in zip(zone_names, inside, strict=True)
    )


@st.composite
def _roles(draw: st.DrawFn, names: tuple[str, ...]) -> Roles:
    some = st.lists(st.sampled_from(names), unique=True, max_size=4).map(tuple)
    return Roles(
        targets=draw(some),
        pivots=draw(some),
        entry=draw(st.one_of(st.none(), st.sampled_from(names))),
        retried_first=draw(some),
        retried_second=draw(some),
        green=tuple(draw(st.permutations([*draw(some), *[None] * draw(st.integers(0, 3))]))),
    )


@st.composite
def networks(draw: st.DrawFn, most: int = 20) -> Network:
    """Networks of 2 hosts or more, with every feature that a network can have."""
    names = tuple(f"host{h}" for h in range(draw(st.integers(2, most))))
    images = {name: draw(st.sampled_from(IMAGE_NAMES)) for name in names}
    stoppable = [name for name in names if IMAGES[images[name]].runs_ot_service]
    reveals = _reveals(names, stoppable)
    hosts = [
        Host(name, image, draw(VALUES), draw(VALUES), draw(reveals), draw(BLUES))
        for name, image in images.items()
    ]
    if all(host.blue is Blue.HIDDEN for host in hosts):  # Blue sees one at least
        hosts[-1] = replace(hosts[-1], blue=Blue.WATCHED)
    foothold = draw(st.sampled_from(names))
    known = [reveal for reveal in draw(reveals) if reveal.host != foothold]
    known.append(Reveal(foothold, zone=True))
    return Network(
        "random",
        tuple(hosts),
        draw(_zones(names)),
        foothold,
        tuple(sorted(known, key=lambda reveal: names.index(reveal.host))),
        draw(_roles(names)),
        draw(ACTIONS),
        foothold_charged=draw(st.booleans()),
    )


def padded(network: Network, number: int) -> Network:
    """A network with more hosts, listed last, that nobody reaches and nobody knows of."""
    names = tuple(f"spare{h}" for h in range(number))
    spare = tuple(Host(name, IMAGE_NAMES[h % len(IMAGE_NAMES)]) for h, name in enumerate(names))
    zone = Zone("spare", names, Reach.CLOSED)
    return replace(network, hosts=network.hosts + spare, zones=(*network.zones, zone))


def renamed(network: Network) -> Network:
    """The same network; its hosts and zones have other names, which sort in another order."""
    names = {name: f"Op_{99 - h}" for h, name in enumerate(network.host_names)}
    zones = {name: f"Enterprise {9 - z}" for z, name in enumerate(network.zone_names)}
    return replace(
        network,
        name="renamed",
        hosts=tuple(
            replace(host, name=names[host.name], reveals=_told(host.reveals, names))
            for host in network.hosts
        ),
        zones=tuple(
            replace(
                zone,
                name=zones[zone.name],
                hosts=tuple(names[host] for host in zone.hosts),
                routes=tuple(zones[route] for route in zone.routes),
            )
            for zone in network.zones
        ),
        foothold=names[network.foothold],
        known=_told(network.known, names),
        roles=_roles_of(network.roles, names),
        units=tuple((unit, tuple(names[h] for h in hosts)) for unit, hosts in network.units),
    )


def _told(reveals: tuple[Reveal, ...], names: Mapping[str, str]) -> tuple[Reveal, ...]:
    return tuple(replace(reveal, host=names[reveal.host]) for reveal in reveals)


def _roles_of(roles: Roles, names: Mapping[str, str]) -> Roles:
    groups = ("targets", "pivots", "retried_first", "retried_second")
    changed: dict[str, Any] = {
        group: tuple(names[host] for host in getattr(roles, group)) for group in groups
    }
    green = tuple(None if host is None else names[host] for host in roles.green)
    return replace(roles, **changed, entry=names.get(roles.entry or ""), green=green)


def has_misinform(network: Network) -> bool:
    return "Misinform" in network.actions
