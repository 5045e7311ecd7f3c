"""Our own format of a network: TOML that is short enough to write by hand.

docs/networks.md describes it field by field, from the tables here.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from workflow_rl.scenario.images import IMAGE_NAMES, IMAGES
from workflow_rl.scenario.network import (
    CHALLENGE_ACTIONS,
    MOST_HOSTS,
    MOST_VALUE,
    Blue,
    Host,
    Network,
    Reach,
    Reachability,
    Reveal,
    Roles,
    Zone,
)
from workflow_rl.scenario.roles import roles_by_name, roles_by_place
from workflow_rl.scenario.toml_tree import tree_of_toml
from workflow_rl.scenario.tree import Node, locating


@dataclass(frozen=True)
class Entry:
    """A field of the format."""

    kind: str
    default: str | None  # None: it must be given
    meaning: str


FILE: Final = {
    "name": Entry("text", "the file's name", "what the network is called"),
    "reachability": Entry(
        "`routes` or `cyborg`",
        "`routes`",
        "by which rule Red gets from zone to zone: going on from what it holds, or CybORG's",
    ),
    "foothold": Entry("a host", None, "where Red begins, with a session that it never loses"),
    "foothold_charged": Entry(
        "true or false", "true", "whether Red's first session counts for the foothold's value"
    ),
    "known": Entry(
        "list of reveals", "the foothold, with its zone", "what else Red knows at the start"
    ),
    "actions": Entry(
        "list of kinds", "CAGE-2's 13", "the kinds of Blue's actions, in the order of their numbers"
    ),
    "zones": Entry("table", None, "the zones, in order"),
    "hosts": Entry("table", None, "the hosts, in the order of observations and actions"),
    "units": Entry(
        "table", "none", "groups of hosts that orders rank: lists of hosts by the unit's name"
    ),
    "roles": Entry("table", "see below", "which hosts play which part"),
}
ZONE: Final = {
    "from": Entry(
        "list of zones", "none", "Red reaches the zone while it holds a host of one of these"
    ),
    "ports": Entry("list of ports", "all", "only these ports of its hosts are reached"),
    "reach": Entry(
        "`routes`, `open`, `closed` or `gated`",
        "`routes`; with CybORG's rule `open`",
        "when Red reaches the zone: along `from` and from inside, always, never, or while it holds "
        "a pivot",
    ),
    "hosts": Entry(
        "list of hosts", "as in `[hosts]`", "its hosts, in the order in which a sweep lists them"
    ),
}
HOST: Final = {
    "zone": Entry("a zone", None, "where the host stands"),
    "image": Entry("an image", None, "what runs on it"),
    "value": Entry(f"0 to {MOST_VALUE:g}", "0.1", "charged per step while Red is privileged there"),
    "service_value": Entry(
        f"0 to {MOST_VALUE:g}", "0.1", "charged per step while its OT service is down"
    ),
    "reveals": Entry(
        "list of reveals", "itself", "what an escalation there shows Red, beside the host itself"
    ),
    "blue": Entry(
        "`watched`, `unwatched`, `no-agent` or `hidden`", "`watched`", "what Blue has there"
    ),
}
REVEAL: Final = {
    "host": Entry("a host", None, "of which something is shown"),
    "address": Entry("true or false", "true", "its address"),
    "zone": Entry("true or false", "false", "its zone, which Red then sweeps"),
    "service": Entry("true or false", "false", "that it runs the OT service"),
}
ROLES: Final = {
    "targets": Entry("list of hosts", "hosts with the OT service", "whose service Red stops"),
    "pivots": Entry(
        "list of hosts",
        "between the home zone and the targets, where a route leads on or another host is revealed",
        "what opens gated zones, and where B_line goes from the home zone",
    ),
    "entry": Entry('a host, or ""', "the foothold", "the host whose zone B_line begins with"),
    "retried_first": Entry(
        "list of hosts", "zones of the targets", "what Meander takes anew after a failed exploit"
    ),
    "retried_second": Entry(
        "list of hosts", "the other zones but home", "what it takes anew when it has none of those"
    ),
    "green": Entry(
        'list of hosts, or ""',
        "all but the zones of the targets",
        "whom Green scans",
    ),
}
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


# --- reading ------------------------------------------------------------------------------------


def network_from_toml(text: str, file: str, name: str = "network") -> Network:
    """Returns the network of a file of our own format.

    Args:
        text: what the file holds.
        file: what it is called in refusals.
        name: what the network is called if the file does not say.

    Raises:
        InvalidInputError: it is no such file, or its parts do not fit together.
    """
    root = tree_of_toml(text, file)
    fields = _fields(root, FILE)
    nodes = fields["hosts"].named()
    if not 1 <= len(nodes) <= MOST_HOSTS:
        raise fields["hosts"].refusal(f"there are {len(nodes)}; allowed are 1 to {MOST_HOSTS}")
    cyborg = "reachability" in fields and (
        fields["reachability"].one_of(tuple(Reachability)) == Reachability.CYBORG
    )
    foothold = fields["foothold"].text()
    with locating(root, lambda part: part):
        hosts = tuple(_host(host, node, tuple(nodes)) for host, node in nodes.items())
        zones = _zones(fields["zones"], nodes, Reach.OPEN if cyborg else Reach.ROUTES, cyborg)
        own = {foothold: Reveal(foothold, zone=True)}
        known = _reveals(fields.get("known"), tuple(nodes), own)
        given = fields.get("roles")
        return Network(
            name=fields["name"].text() if "name" in fields else name,
            hosts=hosts,
            zones=zones,
            foothold=foothold,
            known=known,
            roles=_roles(given, _default_roles(cyborg, hosts, zones, foothold, known)),
            actions=fields["actions"].texts() if "actions" in fields else CHALLENGE_ACTIONS,
            units=_units(fields.get("units")),
            foothold_charged=fields["foothold_charged"].flag()
            if "foothold_charged" in fields
            else True,
        )


def _fields(node: Node, entries: Mapping[str, Entry]) -> dict[str, Node]:
    required = [name for name, entry in entries.items() if entry.default is None]
    return node.fields(required, [name for name in entries if name not in required])


def _host(name: str, node: Node, hosts: tuple[str, ...]) -> Host:
    fields = _fields(node, HOST)
    image = fields["image"].one_of(IMAGE_NAMES)
    usual = Host(name, image)
    return Host(
        name=name,
        image=image,
        value=fields["value"].number() if "value" in fields else usual.value,
        service_value=fields["service_value"].number()
        if "service_value" in fields
        else usual.service_value,
        reveals=_reveals(fields.get("reveals"), hosts, {name: _itself(usual)}),
        blue=Blue(fields["blue"].one_of(tuple(Blue))) if "blue" in fields else usual.blue,
    )


def _itself(host: Host) -> Reveal:
    """Returns what an escalation shows of the host itself unless the file says otherwise."""
    return Reveal(host.name, zone=True, ot_service=IMAGES[host.image].runs_ot_service)


def _reveals(
    node: Node | None, hosts: tuple[str, ...], usual: Mapping[str, Reveal]
) -> tuple[Reveal, ...]:
    found = dict(usual)
    named: set[str] = set()
    for part in node.parts() if node else ():
        reveal = _reveal(part)
        if reveal.host not in hosts:
            raise part.refusal(f"there is no host {reveal.host!r}")
        if reveal.host in named:
            raise part.refusal(f"{reveal.host!r} is named twice")
        named.add(reveal.host)
        found[reveal.host] = reveal
    order = dict.fromkeys((*hosts, *usual))  # the foothold may be no host at all: found later
    return tuple(found[host] for host in order if host in found and _tells(found[host]))


def _tells(reveal: Reveal) -> bool:
    return reveal.address or reveal.zone or reveal.ot_service


def _reveal(part: Node) -> Reveal:
    if not isinstance(part.value, dict):
        return Reveal(part.text())
    fields = _fields(part, REVEAL)
    shows = {
        name: fields[name].flag() if name in fields else name == "address"
        for name in ("address", "zone", "service")
    }
    return Reveal(fields["host"].text(), shows["address"], shows["zone"], shows["service"])


def _zones(node: Node, hosts: Mapping[str, Node], usual: Reach, cyborg: bool) -> tuple[Zone, ...]:
    zones, members = node.named(), {zone: list[str]() for zone in node.named()}
    for host, fields in hosts.items():
        place = fields.named()["zone"]
        if place.text() not in zones:
            raise place.refusal(f"there is no zone {place.value!r}")
        members[place.text()].append(host)
    return tuple(_zone(zone, zones[zone], members[zone], usual, cyborg) for zone in zones)


def _zone(name: str, node: Node, members: list[str], usual: Reach, cyborg: bool) -> Zone:
    fields = _fields(node, ZONE)
    reach = Reach(fields["reach"].one_of(tuple(Reach))) if "reach" in fields else usual
    if cyborg and (reach is Reach.ROUTES or "from" in fields):
        place = fields.get("reach", fields.get("from", node))
        raise place.refusal("CybORG's rule knows no routes; reachability must be routes")
    hosts = fields["hosts"].texts() if "hosts" in fields else tuple(members)
    if sorted(hosts) != sorted(members):
        raise fields["hosts"].refusal(
            f"the hosts whose zone is {name} are {', '.join(members) or 'none'}"
        )
    ports = None
    if "ports" in fields:
        ports = tuple(sorted(port.whole_number() for port in fields["ports"].parts()))
    return Zone(name, hosts, reach, fields["from"].texts() if "from" in fields else (), ports=ports)


def _default_roles(
    cyborg: bool,
    hosts: Sequence[Host],
    zones: Sequence[Zone],
    foothold: str,
    known: Sequence[Reveal],
) -> Roles:
    if cyborg:
        names = tuple(host.name for host in hosts)
        return roles_by_name(names, known, green=names)
    return roles_by_place(hosts, zones, foothold)


def _roles(node: Node | None, usual: Roles) -> Roles:
    fields = _fields(node, ROLES) if node else {}
    return Roles(
        targets=fields["targets"].texts() if "targets" in fields else usual.targets,
        pivots=fields["pivots"].texts() if "pivots" in fields else usual.pivots,
        entry=fields["entry"].text() or None if "entry" in fields else usual.entry,
        retried_first=fields["retried_first"].texts()
        if "retried_first" in fields
        else usual.retried_first,
        retried_second=fields["retried_second"].texts()
        if "retried_second" in fields
        else usual.retried_second,
        green=tuple(name or None for name in fields["green"].texts())
        if "green" in fields
        else usual.green,
    )


def _units(node: Node | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((unit, hosts.texts()) for unit, hosts in node.named().items()) if node else ()


# --- writing ------------------------------------------------------------------------------------


def toml_of(network: Network) -> str:
    """Returns a network in our own format, without what is usual."""
    cyborg = network.reachability is Reachability.CYBORG
    head = [f"name = {_quoted(network.name)}"]
    if cyborg:
        head.append(f'reachability = "{Reachability.CYBORG}"')
    head.append(f"foothold = {_quoted(network.foothold)}")
    if not network.foothold_charged:
        head.append("foothold_charged = false")
    start = {network.foothold: Reveal(network.foothold, zone=True)}
    if known := _written_reveals(network.known, start):
        head.append(f"known = {known}")
    if network.actions != CHALLENGE_ACTIONS:
        head.append(f"actions = {_list(network.actions)}")
    usual = _default_roles(cyborg, network.hosts, network.zones, network.foothold, network.known)
    tables = {
        "zones": {zone.name: _inline(_written_zone(network, zone)) for zone in network.zones},
        "hosts": {host.name: _inline(_written_host(network, host)) for host in network.hosts},
        "units": {unit: _list(hosts) for unit, hosts in network.units},
        "roles": _written_roles(network.roles, usual),
    }
    return "\n".join([*head, *_written_tables(tables)]) + "\n"


def _written_tables(tables: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    for table, entries in tables.items():
        if not entries:
            continue
        yield f"\n[{table}]"
        names = {name: _name(name) for name in entries}
        width = max(map(len, names.values()))
        yield from (f"{names[name]:{width}} = {entry}" for name, entry in entries.items())


def _written_zone(network: Network, zone: Zone) -> dict[str, str]:
    usual = Reach.OPEN if network.reachability is Reachability.CYBORG else Reach.ROUTES
    members = tuple(host for host in network.host_names if network.zone_of[host] == zone.name)
    fields = {}
    if zone.reach is not usual:
        fields["reach"] = _quoted(zone.reach)
    if zone.routes:
        fields["from"] = _list(zone.routes)
    if zone.ports is not None:
        fields["ports"] = f"[{', '.join(map(str, sorted(zone.ports)))}]"
    if zone.hosts != members:
        fields["hosts"] = _list(zone.hosts)
    return fields


def _written_host(network: Network, host: Host) -> dict[str, str]:
    fields = {"zone": _quoted(network.zone_of[host.name]), "image": _quoted(host.image)}
    usual = Host(host.name, host.image)
    for name in ("value", "service_value"):
        if getattr(host, name) != getattr(usual, name):
            fields[name] = f"{getattr(host, name):.10g}"
    if reveals := _written_reveals(host.reveals, {host.name: _itself(host)}):
        fields["reveals"] = reveals
    if host.blue is not usual.blue:
        fields["blue"] = _quoted(host.blue)
    return fields


def _written_reveals(reveals: Sequence[Reveal], usual: Mapping[str, Reveal]) -> str:
    """Returns the list of reveals beside the usual ones; an empty text if there are none."""
    told = {reveal.host: reveal for reveal in reveals}
    parts = [
        _inline({"host": _quoted(host), "address": "false"}) for host in usual if host not in told
    ]
    for host, reveal in told.items():
        if reveal == usual.get(host):
            continue
        plain, fields = Reveal(host), {"host": _quoted(host)}
        for name, value, default in (
            ("address", reveal.address, plain.address),
            ("zone", reveal.zone, plain.zone),
            ("service", reveal.ot_service, plain.ot_service),
        ):
            if value != default:
                fields[name] = str(value).lower()
        parts.append(_quoted(host) if reveal == plain else _inline(fields))
    return f"[{', '.join(parts)}]" if parts else ""


def _written_roles(roles: Roles, usual: Roles) -> dict[str, str]:
    written = {}
    for name in ROLES:
        value = getattr(roles, name)
        if value != getattr(usual, name):
            written[name] = (
                _list(part or "" for part in value)
                if isinstance(value, tuple)
                else _quoted(value or "")
            )
    return written


def _inline(fields: Mapping[str, str]) -> str:
    parts = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"{{ {parts} }}" if parts else "{}"


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _quoted(text: str) -> str:
    return json.dumps(str(text), ensure_ascii=False)


def _name(text: str) -> str:
    return text if _BARE.fullmatch(text) else _quoted(text)
