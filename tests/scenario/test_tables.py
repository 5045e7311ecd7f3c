import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given

from tests.scenario.drawn import networks, padded, renamed
from workflow_rl.scenario import images
from workflow_rl.scenario.images import (
    DECOYS,
    DECOYS_TRAPPING,
    EXPLOITS,
    IMAGE_PORTS,
    IMAGE_REFUSES,
    IMAGES,
    MISINFORM_DECOYS,
    PORTS,
    PORTS_OF_DECOYS,
    Software,
    port_set,
)
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.scenario.tables import host_set, signed, tables_of
from workflow_rl.sim.state import initial_state

NET: Any = tables_of(SCENARIO2)[0]
HOSTS = {host.name: (host, IMAGES[host.image]) for host in SCENARIO2.hosts}
RULES = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
_SSH_ONLY = ("Enterprise0", "Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0")


def table(first_columns: str) -> list[dict[str, str]]:
    """The rows of the table of the rules whose header starts with the given columns."""
    lines = iter(RULES.read_text(encoding="utf-8").splitlines())
    header = next(line for line in lines if line.startswith(f"| {first_columns} |"))
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    next(lines)  # the line below the header
    rows = [line[1:-1].split("|") for line in itertools.takewhile(lambda x: x[:1] == "|", lines)]
    return [dict(zip(columns, map(str.strip, row), strict=True)) for row in rows]


def test_hosts_are_those_of_the_rules() -> None:
    assert table("index | host") == [
        {
            "index": str(index),
            "host": name,
            "subnet": SCENARIO2.zone_of[name],
            "system": "Windows" if image.windows else "Linux",
            "ports": ", ".join(str(service.port) for service in image.services),
            "costs": str(host.value),
            "shows": ", ".join(told.host for told in host.reveals if told.host != name),
        }
        for index, (name, (host, image)) in enumerate(HOSTS.items())
    ]
    for h, (host, image) in enumerate(HOSTS.values()):
        told = {reveal.host for reveal in host.reveals}
        assert NET["reveals"][h] == host_set(SCENARIO2, told)
        assert NET["ports"][h] == port_set(service.port for service in image.services)


def test_services_of_a_known_kind_and_their_owners() -> None:
    web, rdp, smb, smtp = Software.WEB, Software.RDP, Software.SMB, Software.SMTP
    ssh = (22, Software.SSH, False)
    web_server = {(80, web, False), (443, web, False)}
    windows_server = {ssh, (3389, rdp, True), *web_server}
    femitter = (21, Software.FEMITTER, True)
    assert {
        name: {
            (service.port, service.software, service.privileged)
            for service in image.services
            if service.software is not Software.OTHER
        }
        for name, (_, image) in HOSTS.items()
    } == {
        **{name: {ssh} for name in ("Defender", *_SSH_ONLY)},
        "Enterprise1": windows_server,
        "Enterprise2": windows_server,
        "User0": {ssh, femitter},
        "User1": {ssh, femitter},
        "User2": {(445, smb, True), (139, smb, True), (3389, rdp, False)},
        "User3": {*web_server, (3389, Software.MYSQL, True), (25, smtp, True)},
        "User4": {ssh, *web_server, (3390, Software.MYSQL, True), (25, smtp, True)},
    }


def test_only_defender_has_no_account_to_guess() -> None:
    assert [name for name, (_, image) in HOSTS.items() if not image.weak_ssh_account] == [
        "Defender"
    ]


def test_exploits_are_those_of_the_rules() -> None:
    def needs(port: int, also_one_of: tuple[int, ...]) -> str:
        return f"{port}, and {' or '.join(map(str, also_one_of))}" if also_one_of else str(port)

    words = {"web server": "WEB"}
    rows = [
        (row["exploit"], row["needs port"], words.get(row["attacks"], row["attacks"].upper()))
        for row in table("exploit | needs port")
    ]
    assert rows == [(x.name, needs(x.port, x.also_one_of), x.attacks.name) for x in EXPLOITS]


def test_decoys_are_those_of_the_rules() -> None:
    systems = {None: "any", True: "Windows", False: "Linux"}
    trapped = [
        [x.name for x, traps in zip(EXPLOITS, DECOYS_TRAPPING, strict=True) if traps >> d & 1]
        for d in range(len(DECOYS))
    ]
    assert table("decoy | opens") == [
        {
            "decoy": decoy.name,
            "opens": str(decoy.opens),
            "needs free": str(decoy.needs_free),
            "system": systems[decoy.windows],
            "stops": ", ".join(stops),
        }
        for decoy, stops in zip(DECOYS, trapped, strict=True)
    ]


def test_groups_of_hosts() -> None:
    enterprise = ("Enterprise0", "Enterprise1", "Enterprise2")
    operational = ("Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0")
    user = ("User0", "User1", "User2", "User3", "User4")

    def number(*names: str) -> int:
        return host_set(SCENARIO2, names)

    assert NET["zone_hosts"][:3].tolist() == [
        number(*user),
        number("Defender", *enterprise),
        number(*operational),
    ]
    assert NET["opened_by"][:3].tolist() == [
        number("User0"),
        number("User0"),
        number(*enterprise),
    ]
    assert NET["bline_first"] == NET["bait_first"] == number(*user[1:])
    assert (NET["retried_first"], NET["retried_second"]) == (
        number(*operational),
        number(*enterprise),
    )
    assert NET["targets"] == NET["runs_ot"] == number("Op_Server0")
    scanned = NET["green"][: NET["num_green"]].tolist()
    assert [SCENARIO2.host_names[host] for host in scanned] == [*enterprise, *user]


def test_a_set_of_decoys_opens_the_ports_of_its_members() -> None:
    every = DECOYS + MISINFORM_DECOYS
    assert PORTS_OF_DECOYS.tolist() == [
        port_set(decoy.opens for d, decoy in enumerate(every) if decoys & 1 << d)
        for decoys in range(2 ** len(every))
    ]


def test_sets_of_hosts_and_ports_fit_their_signed_arrays() -> None:
    assert host_set(SCENARIO2, SCENARIO2.host_names) == 2**13 - 1
    assert port_set(PORTS) == 2 ** len(PORTS) - 1
    arrays = (IMAGE_PORTS, images.EXPLOIT_PORT, IMAGE_REFUSES, images.DECOY_NEEDS)
    assert all(array.dtype == np.int16 and array.min() >= 0 for array in arrays)
    network = padded(SCENARIO2, 51)  # 64 hosts
    assert host_set(network, network.host_names) == -1
    assert signed(1 << 63) == np.iinfo(np.int64).min == host_set(network, network.host_names[-1:])


def test_chances_and_attempts() -> None:
    assert images.FAVOURITE_EXPLOIT_PROBABILITY == 0.75
    assert images.SHELL_DETECTION_PROBABILITY == 0.95
    assert images.BRUTE_FORCE_ATTEMPTS == 10


def test_costs_in_tenths() -> None:
    enterprise = ("Enterprise0", "Enterprise1", "Enterprise2", "Op_Server0")
    low = tuple(name for name in SCENARIO2.host_names if name not in (*enterprise, "User0"))
    n = NET["num_costs"]
    hosts = NET["cost_hosts"][:n].tolist()
    assert dict(zip(NET["cost_tenths"][:n].tolist(), hosts, strict=True)) == {
        1: host_set(SCENARIO2, low),
        10: host_set(SCENARIO2, enterprise),
    }
    assert (images.RESTORE_COST_TENTHS, images.INVALID_ACTION_TENTHS) == (10, 1)
    assert NET["ot_tenths"][SCENARIO2.number("Op_Server0")] == 100


@given(network=networks())
def test_networks_that_differ_in_names_only_have_the_same_tables(network: Network) -> None:
    other = renamed(network)
    assert tables_of(network).tobytes() == tables_of(other).tobytes()
    assert initial_state(network).tobytes() == initial_state(other).tobytes()
    assert other.digest != network.digest
    assert replace(network, name="other").digest == network.digest


@given(network=networks())
def test_tables_say_what_the_network_says(network: Network) -> None:
    """Sets and numbers of the tables, against the names they come from."""
    net: Any = tables_of(network)[0]

    def named(a_set: int) -> set[str]:
        return {name for h, name in enumerate(network.host_names) if int(a_set) >> h & 1}

    for z, zone in enumerate(network.zones):
        assert named(net["zone_hosts"][z]) == set(zone.hosts)
        assert named(net["opened_by"][z]) == set(network.openers(zone))
        assert all(net["zone"][network.number(host)] == z for host in zone.hosts)
    run_ot = {host.name for host in network.hosts if IMAGES[host.image].runs_ot_service}
    assert named(net["runs_ot"]) == run_ot
    for h, host in enumerate(network.hosts):
        assert named(net["reveals"][h]) == {told.host for told in host.reveals if told.address}
        zones = {network.zone_of[told.host] for told in host.reveals if told.zone}
        known = int(net["reveals_zones"][h])
        assert {z for i, z in enumerate(network.zone_names) if known >> i & 1} == zones
        tells = any(told.ot_service and told.host in run_ot for told in host.reveals)
        assert bool(int(net["reveals_ot"]) >> h & 1) == tells
        services = [service.port for service in IMAGES[host.image].services]
        doubled = {port for port in services if services.count(port) > 1}
        assert net["doubled"][h] == port_set(doubled)
    watched = {host.name for host in network.hosts if host.blue is Blue.WATCHED}
    acting = watched | {host.name for host in network.hosts if host.blue is Blue.UNWATCHED}
    assert named(net["watched"]) == watched
    assert named(net["agents"]) == acting
    assert named(net["observed"]) == set(network.observed)
    ports = {host: zone.ports for zone in network.zones for host in zone.hosts}
    for h, name in enumerate(network.host_names):
        allowed = ports[name]
        assert net["passing"][h] == port_set(PORTS if allowed is None else allowed)
    met = list(dict.fromkeys(network.zone_of[host] for host in network.host_names))
    order = [network.zone_names[z] for z in net["sweep_order"][: len(network.zones)]]
    assert order[: len(met)] == met
    assert sorted(order) == sorted(network.zone_names)
