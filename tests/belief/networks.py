"""Small networks that have between them what Scenario2 has not."""

from dataclasses import replace

from workflow_rl.scenario.network import Blue, Host, Network, Reach, Reveal, Roles, Zone

_NAMES = ("Start", "Desk", "Pivot", "Plant1", "Plant2")
_INSIDE = (Reveal("Pivot", zone=True), Reveal("Plant1"), Reveal("Plant2", ot_service=True))

GATED = Network(  # two services to stop behind a gate, one of them on a host that is not watched
    "gated",
    (
        Host("Start", "windows_user_host1"),
        Host("Desk", "linux_user_host1", reveals=(Reveal("Desk", zone=True), Reveal("Pivot"))),
        Host("Pivot", "Internal", reveals=_INSIDE),
        Host("Plant1", "OP_Server", reveals=(Reveal("Plant1", zone=True, ot_service=True),)),
        Host("Plant2", "OP_Server", blue=Blue.UNWATCHED),
    ),
    (
        Zone("home", _NAMES[:2]),
        Zone("middle", _NAMES[2:3]),
        Zone("plant", _NAMES[3:], Reach.GATED),
    ),
    foothold="Start",
    known=(Reveal("Start", zone=True),),
    roles=Roles(
        targets=("Plant1", "Plant2"),
        pivots=("Pivot",),
        entry="Start",
        retried_first=("Plant1", "Plant2"),
        retried_second=("Pivot",),
        green=("Desk", "Plant2", None, "Pivot"),  # one is not watched, and one is nobody
    ),
)
PORTS = replace(  # a port list, hosts without an agent and out of sight; B_line knows no entry
    GATED,
    name="ports",
    hosts=(
        GATED.hosts[0],
        replace(GATED.hosts[1], blue=Blue.NO_AGENT),
        GATED.hosts[2],
        GATED.hosts[3],
        replace(GATED.hosts[4], blue=Blue.HIDDEN),
    ),
    zones=(
        GATED.zones[0],
        replace(GATED.zones[1], ports=(135, 3389)),
        replace(GATED.zones[2], reach=Reach.CLOSED),
    ),
    roles=replace(GATED.roles, entry=None, green=()),
)
MISINFORMED = Network(  # decoys that Blue is not told of
    "misinformed",
    (
        Host("Start", "Gateway", reveals=(Reveal("Start", zone=True),)),
        Host("Desk", "windows_user_host1", reveals=(Reveal("Desk", zone=True),)),
        Host("Log", "Velociraptor_Server", blue=Blue.UNWATCHED),
    ),
    (Zone("home", ("Start", "Desk", "Log")),),
    foothold="Start",
    known=(Reveal("Start", zone=True),),
    roles=Roles(entry="Start", green=("Desk", "Log")),
    actions=("Sleep", "Misinform", "Analyse", "Restore"),
)
ALL = (GATED, PORTS, MISINFORMED)


def padded(network: Network, number: int) -> Network:
    """The same network with more hosts, listed last, that Red never learns of."""
    names = tuple(f"Spare{i}" for i in range(number))
    zone = Zone("spare", names, Reach.CLOSED)
    hosts = network.hosts + tuple(Host(name, "Gateway") for name in names)
    return replace(network, hosts=hosts, zones=(*network.zones, zone))
