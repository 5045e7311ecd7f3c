"""CybORG's scenario files, written: networks that CybORG can play."""

from dataclasses import asdict
from typing import Any

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.cyborg_yaml import (
    ARTIFACTS,
    GREEN_ACTIONS,
    RED_ACTIONS,
    REWARDS,
    VALUES,
    room,
)
from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.network import Blue, Host, Network, Reach, Reveal, Zone
from workflow_rl.scenario.roles import roles_by_name
from workflow_rl.scenario.yaml_tree import yaml_of


def scenario_of(network: Network) -> str:
    """Returns a network as a scenario file, with which CybORG plays the same game.

    The network's own name and the units are not in it.

    Raises:
        InvalidInputError: CybORG cannot play the network.
    """
    if reason := why_not_in_cyborg(network):
        raise InvalidInputError(f"CybORG cannot play {network.name}: {reason}")
    zones, hosts = list(network.zone_names), network.hosts
    seen = {"Interfaces": "All", "System info": "All"}
    usual = {"agent_type": "SleepAgent", "wrappers": []}
    agents: dict[str, Any] = {
        "Blue": {
            "AllowedSubnets": zones,
            "INT": {"Hosts": {host: seen | {"User info": "All"} for host in network.observed}},
            "actions": list(network.actions),
            "adversary": "Red",
            "reward_calculator_type": REWARDS["Blue"][0],
            "starting_sessions": _blue_sessions(network),
        }
    }
    if network.roles.green:
        scanned = [host for host in network.roles.green if host]
        session = {"name": "GreenSession", "type": "green_session", "username": "GreenAgent"}
        agents["Green"] = {
            "AllowedSubnets": zones,
            "INT": {"Hosts": dict.fromkeys(scanned, seen)},
            "actions": list(GREEN_ACTIONS),
            "reward_calculator_type": "None",
            "starting_sessions": [{"hostname": host, **session} for host in scanned[:1]],
        }
    windows = IMAGES[hosts[network.number(network.foothold)].image].windows
    agents["Red"] = {
        "AllowedSubnets": zones,
        "INT": {
            "Hosts": {
                reveal.host: seen if reveal.host == network.foothold else _reveal(reveal)
                for reveal in network.known
            }
        },
        "actions": list(RED_ACTIONS),
        "reward_calculator_type": REWARDS["Red"][0],
        "starting_sessions": [
            {
                "hostname": network.foothold,
                "name": "RedPhish",
                "type": "RedAbstractSession",
                "username": "SYSTEM" if windows is network.foothold_charged else "root",
            }
        ],
    }
    return yaml_of(
        {
            "Agents": {name: agent | usual for name, agent in agents.items()},
            "Hosts": {host.name: _host(host) for host in hosts},
            "Subnets": {zone.name: _zone(zone, network.home) for zone in network.zones},
        }
    )


def why_not_in_cyborg(network: Network) -> str | None:
    """Returns why CybORG cannot play a network; None if it can."""
    try:
        _check(network)
    except InvalidInputError as error:
        return str(error)
    return None


def _check(network: Network) -> None:
    def refused(part: str, sentence: str) -> InvalidInputError:
        return InvalidInputError(f"{part}: {sentence}")

    for zone in network.zones:
        if zone.reach is Reach.ROUTES:
            raise refused(
                f"zones.{zone.name}", "routes between zones are no rule of CybORG's reachability"
            )
    words = ", ".join(f"{value:g}" for value in VALUES.values())
    for host in network.hosts:
        for name, value in (("value", host.value), ("service_value", host.service_value)):
            if value not in VALUES.values():
                raise refused(f"hosts.{host.name}.{name}", f"{value:g} must be one of {words}")
    for reveal in network.known:
        if reveal.ot_service:
            raise refused("known", f"Red must not know the service of {reveal.host} at the start")
    roles, scanned = network.roles, [host for host in network.roles.green if host]
    named = roles_by_name(network.host_names, network.known, scanned if roles.green else None)
    given = asdict(roles)
    for role, must in asdict(named).items():
        if given[role] != must:
            raise refused(f"roles.{role}", f"by the names of the hosts it must be {shown(must)}")
    if sum(host.blue is Blue.UNWATCHED for host in network.hosts) > 1:
        raise refused("hosts", "at most one may be unwatched: the one with Blue's server alone")
    if all(host.blue is Blue.NO_AGENT for host in network.hosts):
        raise refused("hosts", "one must have Blue's server, so that not all have no agent")


def _blue_sessions(network: Network) -> list[dict[str, Any]]:
    places = [Blue.UNWATCHED, Blue.WATCHED, Blue.HIDDEN, Blue.NO_AGENT]
    server = min(network.hosts, key=lambda host: places.index(host.blue))
    user = {host: "SYSTEM" if IMAGES[host.image].windows else "ubuntu" for host in network.hosts}
    return [
        *(
            {
                "hostname": host.name,
                "name": f"Velo_{host.name}",
                "parent": "VeloServer",
                "type": "VelociraptorClient",
                "username": user[host],
            }
            for host in network.hosts
            if host.blue is Blue.WATCHED
        ),
        {
            "artifacts": list(ARTIFACTS),
            "hostname": server.name,
            "name": "VeloServer",
            "num_children_sessions": 2,
            "type": "VelociraptorServer",
            "username": user[server],
        },
    ]


def _host(host: Host) -> dict[str, Any]:
    words = {value: word for word, value in VALUES.items()}
    return {
        "image": host.image,
        "info": {reveal.host: _reveal(reveal) for reveal in host.reveals},
        "ConfidentialityValue": words[host.value],
        "AvailabilityValue": words[host.service_value],
    }


def _reveal(reveal: Reveal) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if reveal.address:
        entry["Interfaces"] = "All" if reveal.zone else "IP Address"
    if reveal.ot_service:
        entry["Services"] = ["OTService"]
    return entry


def _zone(zone: Zone, home: str) -> dict[str, Any]:
    every = {"in": "all", "out": "all"}
    match zone.reach:
        case Reach.CLOSED:
            entries: dict[str, Any] = {}
        case Reach.GATED:
            entries = {"all": every} | {home: {"in": "None", "out": "all"}}
        case _ if zone.ports is None:
            entries = {"all": every}
        case _:
            ranges = [{"PortRange": [port, port + 1], "Protocol": "TCP"} for port in zone.ports]
            entries = {"all": {"in": ranges, "out": "all"}}
    size = next(size for size in (14, 27, 59, 123) if len(zone.hosts) <= room(size))
    return {"Hosts": list(zone.hosts), "NACLs": entries, "Size": size}
