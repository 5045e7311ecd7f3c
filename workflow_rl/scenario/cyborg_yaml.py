"""CybORG's scenario files, read: the family whose games are known to be the original's.

What lies outside the family is refused with what CybORG would do.
"""

from collections.abc import Collection, Mapping, Sequence
from math import log2
from typing import Final

from workflow_rl.errors import shown
from workflow_rl.scenario.images import EXPLOIT_NAMES, IMAGE_NAMES, IMAGES, PORTS, Image
from workflow_rl.scenario.network import (
    MOST_HOSTS,
    ON_HOST,
    WITHOUT_HOST,
    Blue,
    Host,
    Network,
    Reach,
    Reveal,
    Zone,
)
from workflow_rl.scenario.roles import roles_by_name
from workflow_rl.scenario.tree import Node, locating
from workflow_rl.scenario.yaml_tree import tree_of_yaml

VALUES: Final = {"None": 0.0, "Low": 0.1, "Medium": 1.0, "High": 10.0}
_ABSENT_VALUE: Final = VALUES["Low"]
RED_ACTIONS: Final = (
    "Sleep",
    "DiscoverRemoteSystems",
    "DiscoverNetworkServices",
    "ExploitRemoteService",
    "PrivilegeEscalate",
    "Impact",
)
GREEN_ACTIONS: Final = ("Sleep", "GreenPingSweep", "GreenPortScan", "GreenConnection")
_ACTIONS: Final = {
    "Blue": WITHOUT_HOST + ON_HOST,
    "Green": GREEN_ACTIONS,
    "Red": RED_ACTIONS + EXPLOIT_NAMES,
}
REWARDS: Final = {
    "Blue": ("HybridAvailabilityConfidentiality",),
    "Green": ("None",),
    "Red": ("HybridImpactPwn", "None"),
}
_HOST_FIELDS: Final = (
    *("info", "ConfidentialityValue", "AvailabilityValue"),
    *("AWS_Info", "username"),  # which nothing reads
)
_UNUSED_OF_SESSION: Final = ("num_children_sessions",)
ARTIFACTS: Final = ("NetworkConnections", "ProcessCreation")
_ADDRESS_BITS: Final = 16  # of the addresses from which CybORG draws the subnets
_LOADING: Final = "CybORG raises an error while loading"


def network_from_yaml(text: str, file: str, name: str = "scenario") -> Network:
    """Returns the network of a scenario file of CybORG.

    Args:
        text: what the file holds.
        file: what it is called in refusals.
        name: what the network is called.

    Raises:
        InvalidInputError: it is no such file, or outside the family.
    """
    root = tree_of_yaml(text, file)
    parts = root.fields(("Agents", "Hosts", "Subnets"), ())
    hosts, subnets = parts["Hosts"].named(), parts["Subnets"].named()
    agents = _agents(parts["Agents"])
    red, blue, green = agents["Red"], agents["Blue"], agents.get("Green")
    with locating(root, _place):
        if not 1 <= len(hosts) <= MOST_HOSTS:
            raise parts["Hosts"].refusal(f"there are {len(hosts)}; allowed are 1 to {MOST_HOSTS}")
        _check_aliases(hosts, [_told(agent) for agent in agents.values()])
        zone_of = _zone_of(hosts, subnets)
        for agent, node in agents.items():
            _check_agent(agent, node, hosts, subnets)
        start = _start(red)
        foothold = start["hostname"].text()
        facts = _Facts(hosts, zone_of, red["AllowedSubnets"].texts())
        known = _known(red, foothold, facts)
        on_host = _blue_on_hosts(blue, hosts, subnets)
        return Network(
            name=name,
            hosts=tuple(_host(host, hosts[host], on_host[host], facts) for host in hosts),
            zones=tuple(_zone(zone, node, zone_of[foothold]) for zone, node in subnets.items()),
            foothold=foothold,
            known=known,
            roles=roles_by_name(tuple(hosts), known, _scanned(green)),
            actions=blue["actions"].texts(),
            # Reference quirk: only SYSTEM on Windows and root on Linux are charged for.
            foothold_charged=start["username"].value == _administrator(_image(hosts[foothold])),
        )


def _place(part: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names in a scenario file that lead to a part of the network."""
    match part:
        case ("hosts", *rest):
            return ("Hosts", *rest)
        case ("zones", *rest):
            return ("Subnets", *rest)
        case ("actions", *_):
            return ("Agents", "Blue", "actions")
        case _:
            return ("Agents", "Red", "INT", "Hosts")


def _check_aliases(hosts: dict[str, Node], told: Sequence[Node]) -> None:
    """Checks that no alias stands for what CybORG changes as it loads a file."""
    met: set[int] = set()
    for node in (*hosts.values(), *(node for part in told for node in part.named().values())):
        if id(node.value) in met and isinstance(node.value, dict):
            raise node.refusal(
                "an alias must not stand for a whole host; CybORG changes each entry as it loads"
            )
        met.add(id(node.value))


# --- hosts and subnets --------------------------------------------------------------------------


class _Facts:
    """What the reveals of a file mean."""

    def __init__(self, hosts: dict[str, Node], zone_of: dict[str, str], allowed: Sequence[str]):
        self.order = tuple(hosts)
        self.zone_of = zone_of
        self.allowed = allowed  # Red's subnets: CybORG drops addresses told with another
        self.stoppable = {host for host, node in hosts.items() if _image(node).runs_ot_service}

    def reveals(self, told: Mapping[str, Node], also: Collection[str] = ()) -> tuple[Reveal, ...]:
        """Returns what entries by host show Red, without those that show nothing."""
        found = {host: self._reveal(host, node, also) for host, node in told.items()}
        return tuple(reveal for host in self.order if (reveal := found.get(host)))

    def _reveal(self, host: str, node: Node, also: Collection[str]) -> Reveal | None:
        fields = node.fields((), ("Interfaces", "Services", *also))
        address = zone = ot_service = False
        if "Interfaces" in fields:
            word = fields["Interfaces"].one_of(
                ("All", "IP Address"), "CybORG raises a NotImplementedError"
            )
            zone = word == "All"
            address = not zone or self.zone_of.get(host) in self.allowed
            zone = zone and address
        if "Services" in fields:
            services = fields["Services"]
            names = (services.text(),) if services.value == "All" else services.texts()
            for name in names:
                if name not in ("All", "OTService"):
                    raise services.refusal(
                        f"{shown(name)} must be OTService or All; no host has another service"
                    )
            ot_service = bool(names) and host in self.stoppable
        return Reveal(host, address, zone, ot_service) if address or ot_service else None


def _image(host: Node) -> Image:
    image = host.fields(("image",), _HOST_FIELDS)["image"]
    return IMAGES[image.one_of(IMAGE_NAMES, _LOADING)]


def _administrator(image: Image) -> str:
    return "SYSTEM" if image.windows else "root"


def _host(name: str, node: Node, blue: Blue, facts: _Facts) -> Host:
    fields = node.fields(("image",), _HOST_FIELDS)
    return Host(
        name=name,
        image=fields["image"].text(),
        value=_value(fields.get("ConfidentialityValue")),
        service_value=_value(fields.get("AvailabilityValue")),
        reveals=facts.reveals(fields["info"].named()) if "info" in fields else (),
        blue=blue,
    )


def _value(node: Node | None) -> float:
    if node is None:
        return _ABSENT_VALUE
    return VALUES[node.one_of(VALUES, "CybORG raises a KeyError when it charges the host")]


def _zone_of(hosts: dict[str, Node], subnets: dict[str, Node]) -> dict[str, str]:
    zone_of: dict[str, str] = {}
    bits = [0]
    for subnet, node in subnets.items():
        fields = node.fields(("Hosts", "Size"), ("NACLs",))
        members = fields["Hosts"].parts()
        for member in members:
            host = member.one_of(hosts, "CybORG raises a KeyError when Red scans it")
            if host in zone_of:
                raise member.refusal(
                    f"the host {shown(host)} is in two subnets, {zone_of[host]} and {subnet}; "
                    "allowed is one; CybORG would forget one of its addresses"
                )
            zone_of[host] = subnet
        bits.append(_address_bits(fields["Size"], len(members)))
    if len(subnets) > 1 << (_ADDRESS_BITS - max(bits)):
        raise next(iter(subnets.values())).refusal(
            f"there are no addresses for {len(subnets)} subnets of the largest Size; {_LOADING}"
        )
    for host, node in hosts.items():
        if host not in zone_of:
            raise node.refusal(f"the host is in no subnet; {_LOADING}")
    return zone_of


def _address_bits(size: Node, hosts: int) -> int:
    """Returns how many bits of an address CybORG gives to the hosts of a subnet."""
    if 0 <= (number := size.whole_number()) < 1 << _ADDRESS_BITS + 1:
        bits = (room(number) + 2).bit_length() - 1
        if bits <= _ADDRESS_BITS and hosts <= room(number):
            return bits
    raise size.refusal(f"{number} gives no addresses for {hosts} hosts; {_LOADING}")


def room(size: int) -> int:
    """Returns for how many hosts CybORG gives addresses to a subnet of a size."""
    return (1 << max(4, int(log2(size + 5)))) - 2


def _zone(name: str, node: Node, home: str) -> Zone:
    fields = node.fields(("Hosts", "Size"), ("NACLs",))
    hosts = fields["Hosts"].texts()
    entries = fields["NACLs"].named() if "NACLs" in fields else {}
    key = home if home in entries else "all"
    if key not in entries:
        return Zone(name, hosts, Reach.CLOSED)
    rule = entries[key].fields(("in",), ("out",))["in"]
    rules = [rule] if isinstance(rule.value, str) else rule.parts()
    words = [part.value for part in rules if isinstance(part.value, str)]
    if "all" in words:
        return Zone(name, hosts, Reach.OPEN)
    if "None" in words and key == home:
        return Zone(name, hosts, Reach.GATED)
    if words:
        raise rule.refusal(
            f"{shown(words[0])} must be all or a list of PortRange"
            + (", or None" if key == home else f"; None is known for {home}, Red's subnet, only")
            + "; CybORG raises a TypeError when Red acts there"
        )
    passing = [range(*_port_range(part)) for part in rules]
    ports = tuple(port for port in PORTS if any(port in some for some in passing))
    return Zone(name, hosts, Reach.OPEN, ports=ports)


def _port_range(rule: Node) -> tuple[int, int]:
    ports = rule.fields(("PortRange",), ("Protocol", "Type"))["PortRange"]
    if not isinstance(ports.value, list) or len(ports.value) != 2:
        raise ports.refusal(
            "it must be two ports, [first, last + 1]; CybORG raises a TypeError when Red acts there"
        )
    first, end = (port.whole_number() for port in ports.parts())
    return first, end


# --- agents -------------------------------------------------------------------------------------


def _agents(node: Node) -> dict[str, dict[str, Node]]:
    agents = node.fields(("Blue", "Red"), ("Green",))
    if list(agents) != [name for name in ("Blue", "Green", "Red") if name in agents]:
        raise node.refusal(
            "the agents must stand in the order Blue, Green, Red; in CybORG they act in the order "
            "of the file, which is another game"
        )
    needed = ("AllowedSubnets", "INT", "actions", "starting_sessions")
    own = {"Blue": ("adversary", "reward_calculator_type"), "Green": (), "Red": ()}
    optional = ("agent_type", "reward_calculator_type", "wrappers", "adversary")
    return {name: agent.fields(needed + own[name], optional) for name, agent in agents.items()}


def _check_agent(
    name: str, fields: dict[str, Node], hosts: Collection[str], subnets: Collection[str]
) -> None:
    """Checks what has one choice in the family."""
    for subnet in fields["AllowedSubnets"].parts():
        subnet.one_of(subnets, _LOADING)
    for action in fields["actions"].parts():
        action.one_of(_ACTIONS[name], "others are not known")
    for session in fields["starting_sessions"].parts():
        session.fields(
            ("hostname", "type", "username"), ("name", "parent", "artifacts", *_UNUSED_OF_SESSION)
        )["hostname"].one_of(hosts, _LOADING)
    if "reward_calculator_type" in fields:
        fields["reward_calculator_type"].one_of(REWARDS[name], "others are outside the family")
    if name == "Blue":
        fields["adversary"].one_of(("Red",), "Blue is charged for what its adversary does")
    if "agent_type" in fields:
        fields["agent_type"].one_of(("SleepAgent",), "CybORG would let another agent play")
    for wrapper in fields["wrappers"].parts() if "wrappers" in fields else ():
        wrapper.one_of(("None",), "wrappers are outside the family")


def _told(agent: dict[str, Node]) -> Node:
    return agent["INT"].fields(("Hosts",), ())["Hosts"]


def _start(red: dict[str, Node]) -> dict[str, Node]:
    """Returns the fields of Red's first session."""
    sessions = red["starting_sessions"]
    if len(sessions.parts()) != 1:
        raise sessions.refusal(
            f"there are {len(sessions.parts())}; Red must have one, of the type "
            "RedAbstractSession, from which CybORG's agents act"
        )
    session = sessions.parts()[0].named()
    session["type"].one_of(("RedAbstractSession",), "CybORG's agents act from such a session")
    session["username"].one_of(
        ("SYSTEM", "root"), "CybORG's Meander raises a KeyError at its first escalation"
    )
    for action in RED_ACTIONS:
        if action not in red["actions"].texts():
            raise red["actions"].refusal(
                f"{action} must be in it; CybORG would refuse it as an invalid action"
            )
    return session


def _known(red: dict[str, Node], foothold: str, facts: _Facts) -> tuple[Reveal, ...]:
    told = _told(red)
    for host, node in told.named().items():
        if host != foothold and "System info" in node.named():
            raise node.named()["System info"].refusal(
                "Red may know the name of its start host only; CybORG's Meander would try to "
                "escalate on another for ever"
            )
        if "Services" in node.named():
            raise node.named()["Services"].refusal("there is no such field; allowed is Interfaces")
    start = told.named().get(foothold, told)
    if not {"Interfaces", "System info"} <= start.named().keys():
        raise start.refusal(
            f"Red's start host {foothold} needs Interfaces and System info; CybORG would refuse "
            "every action of Red"
        )
    start.named()["Interfaces"].one_of(("All",), "CybORG would not tell Red its own subnet")
    if facts.zone_of[foothold] not in facts.allowed:
        raise red["AllowedSubnets"].refusal(
            f"{facts.zone_of[foothold]}, the subnet of Red's start host, must be in it; CybORG "
            "would not tell Red its own address"
        )
    return facts.reveals(told.named(), also=("System info", "User info"))


def _blue_on_hosts(
    blue: dict[str, Node], hosts: Collection[str], subnets: Collection[str]
) -> dict[str, Blue]:
    """Returns what Blue has on each host."""
    for subnet in subnets:
        if subnet not in blue["AllowedSubnets"].texts():
            raise blue["AllowedSubnets"].refusal(
                f"{subnet} must be in it; CybORG raises a KeyError at its reset"
            )
    seen = _told(blue).named()
    for node in seen.values():
        fields = node.fields(("Interfaces", "System info"), ("User info",))
        fields["Interfaces"].one_of(("All",), "CybORG raises a KeyError at its reset")
    sessions = [session.named() for session in blue["starting_sessions"].parts()]
    types = ("VelociraptorServer", "VelociraptorClient")
    servers = [s for s in sessions if s["type"].one_of(types, "others are not known") == types[0]]
    if len(servers) != 1:
        raise blue["starting_sessions"].refusal(
            f"there are {len(servers)} sessions of the type VelociraptorServer; Blue must have one"
        )
    server = servers[0]
    artifacts = server["artifacts"].texts() if "artifacts" in server else ()
    for artifact in ARTIFACTS:
        if artifact not in artifacts:
            raise server["type"].refusal(
                f"the server's artifacts must have {artifact}; CybORG's Blue would not see all "
                "events"
            )
    if "name" not in server:
        raise server["type"].refusal("the server must have a name")
    on_host = dict.fromkeys(hosts, Blue.NO_AGENT)
    on_host[server["hostname"].text()] = Blue.UNWATCHED
    for session in sessions:
        host = session["hostname"]
        if session is server:
            continue
        if "parent" not in session or session["parent"].value != server["name"].text():
            raise session["type"].refusal(
                f"its parent must be the server {server['name'].text()}; others are not known"
            )
        if session.get("name", session["type"]).value == server["name"].text():
            raise session["name"].refusal("the session has the name of the server")
        if host.text() not in seen:
            raise host.refusal(
                f"{host.text()} is watched and must be in Blue's INT; CybORG raises a KeyError at "
                "the first event there"
            )
        on_host[host.text()] = Blue.WATCHED
    return {host: on_host[host] if host in seen else Blue.HIDDEN for host in hosts}


def _scanned(green: dict[str, Node] | None) -> Collection[str] | None:
    """Returns the hosts that Green can scan; None where there is no Green."""
    if green is None:
        return None
    if not green["starting_sessions"].parts() or "GreenPortScan" not in green["actions"].texts():
        return ()
    return [host for host, node in _told(green).named().items() if "System info" in node.named()]
