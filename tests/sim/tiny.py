"""Tiny networks, made by hand for one rule each."""

from typing import Any

from workflow_rl.scenario.network import Host, Network, Reveal, Zone


def host(name: str, image: str = "Gateway", *shows: str | Reveal, **more: Any) -> Host:
    """A host; an escalation there shows the addresses of the hosts that are given by name."""
    reveals = tuple(Reveal(told) if isinstance(told, str) else told for told in shows)
    return Host(name, image, reveals=reveals, **more)


def service(name: str) -> Reveal:
    """That a host runs the OT service."""
    return Reveal(name, address=False, ot_service=True)


def in_zone(name: str) -> Reveal:
    """The address and the zone of a host."""
    return Reveal(name, zone=True)


def network(*parts: Host | Zone, **more: Any) -> Network:
    """The first host is Red's foothold; without zones all hosts are in one, `home`."""
    hosts = tuple(part for part in parts if isinstance(part, Host))
    names = tuple(part.name for part in hosts)
    zones = tuple(part for part in parts if isinstance(part, Zone)) or (Zone("home", names),)
    known = (in_zone(names[0]), *more.pop("known", ()))
    return Network("tiny", hosts, zones, foothold=names[0], known=known, **more)
