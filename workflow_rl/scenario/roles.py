"""Which hosts play which part where a file does not say so."""

from collections.abc import Collection, Sequence
from typing import Final

from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.network import Host, Reveal, Roles, Zone

# Whom CybORG's green agent scans, each as likely.
GREEN_NAMES: Final = (  # Scenario2's games depend on this order
    *("Enterprise0", "Enterprise1", "Enterprise2"),
    *("User0", "User1", "User2", "User3", "User4"),
)
TARGET_NAME: Final = "Op_Server0"  # the host that CybORG's red agents impact
ENTRY_NAME: Final = "User0"  # the host whose subnet B_line begins with


def roles_by_name(
    hosts: Collection[str], known: Sequence[Reveal], green: Collection[str] | None
) -> Roles:
    """Returns the roles that CybORG gives to hosts by their names.

    Args:
        hosts: their names, in order.
        known: what Red knows at the start.
        green: the hosts that Green can scan; None where there is no Green.
    """
    in_zone = {reveal.host for reveal in known if reveal.zone}
    return Roles(
        targets=(TARGET_NAME,) if TARGET_NAME in hosts else (),
        pivots=tuple(host for host in hosts if "Enterprise" in host),
        entry=ENTRY_NAME if ENTRY_NAME in in_zone else None,
        retried_first=tuple(host for host in hosts if "Op" in host),
        retried_second=tuple(host for host in hosts if "Ent" in host),
        green=()
        if green is None
        else tuple(name if name in hosts and name in green else None for name in GREEN_NAMES),
    )


def roles_by_place(hosts: Sequence[Host], zones: Sequence[Zone], foothold: str) -> Roles:
    """Returns the roles that follow from what runs on the hosts and where they stand.

    The targets are the hosts with the OT service; a pivot stands between home and them, and Red
    goes on from it.
    """
    zone_of = {host: zone.name for zone in zones for host in zone.hosts}
    home = zone_of.get(foothold)
    targets = tuple(host.name for host in hosts if IMAGES[host.image].runs_ot_service)
    last = {zone_of.get(host) for host in targets} - {home}
    passed = {near for zone in zones for near in zone.routes if near != zone.name}

    def leads_on(host: Host) -> bool:
        shows = any(reveal.host != host.name and reveal.address for reveal in host.reveals)
        return zone_of.get(host.name) in passed or shows

    between = [host for host in hosts if zone_of.get(host.name) != home]
    return Roles(
        targets=targets,
        pivots=tuple(h.name for h in between if h.name not in targets and leads_on(h)),
        entry=foothold,
        retried_first=tuple(h.name for h in between if zone_of.get(h.name) in last),
        retried_second=tuple(h.name for h in between if zone_of.get(h.name) not in last),
        green=tuple(h.name for h in hosts if zone_of.get(h.name) not in last),
    )
