import itertools
from pathlib import Path

import numpy as np

from workflow_rl.scenario import tables
from workflow_rl.scenario.tables import (
    DECOYS,
    DECOYS_TRAPPING,
    EXPLOITS,
    HOST_NAMES,
    HOST_PORTS,
    HOSTS,
    PORTS,
    PORTS_OF_DECOYS,
    Software,
    host_set,
    port_set,
)

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
            "host": host.name,
            "subnet": host.subnet.name.capitalize(),
            "system": "Windows" if host.windows else "Linux",
            "ports": ", ".join(str(service.port) for service in host.services),
            "costs": str(host.confidentiality),
            "shows": host.reveals or "",
        }
        for index, host in enumerate(HOSTS)
    ]
    assert [host.name for host in HOSTS] == list(HOST_NAMES)
    assert [HOST_NAMES[h] for h in tables.REVEALS] == [host.reveals or host.name for host in HOSTS]
    for host, ports in zip(HOSTS, HOST_PORTS, strict=True):
        assert ports == port_set(service.port for service in host.services)


def test_services_of_a_known_kind_and_their_owners() -> None:
    web, rdp, smb, smtp = Software.WEB, Software.RDP, Software.SMB, Software.SMTP
    ssh = (22, Software.SSH, False)
    web_server = {(80, web, False), (443, web, False)}
    windows_server = {ssh, (3389, rdp, True), *web_server}
    femitter = (21, Software.FEMITTER, True)
    assert {
        host.name: {
            (service.port, service.software, service.privileged)
            for service in host.services
            if service.software is not Software.OTHER
        }
        for host in HOSTS
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
    assert [host.name for host in HOSTS if not host.weak_ssh_account] == ["Defender"]


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
    assert tables.SUBNET_HOSTS.tolist() == [
        host_set(user),
        host_set(("Defender", *enterprise)),
        host_set(operational),
    ]
    assert host_set(enterprise) == tables.ENTERPRISE_FOOTHOLDS
    assert host_set(operational) == tables.OPERATIONAL_HOSTS
    assert host_set(user[1:]) == tables.BLINE_FIRST_TARGETS
    assert host_set((*user, *enterprise)) == tables.GREEN_SCAN_TARGETS


def test_a_set_of_decoys_opens_the_ports_of_its_members() -> None:
    assert PORTS_OF_DECOYS.tolist() == [
        port_set(decoy.opens for d, decoy in enumerate(DECOYS) if decoys & 1 << d)
        for decoys in range(2 ** len(DECOYS))
    ]


def test_sets_of_hosts_and_ports_fit_their_signed_arrays() -> None:
    assert host_set(HOST_NAMES) == 2**13 - 1
    assert port_set(PORTS) == 2 ** len(PORTS) - 1
    arrays = (tables.SUBNET_HOSTS, HOST_PORTS, tables.EXPLOIT_PORT, tables.DECOY_REFUSED_BY)
    assert all(array.dtype == np.int16 and array.min() >= 0 for array in arrays)


def test_chances_and_attempts() -> None:
    assert tables.FAVOURITE_EXPLOIT_PROBABILITY == 0.75
    assert tables.SHELL_DETECTION_PROBABILITY == 0.95
    assert tables.BRUTE_FORCE_ATTEMPTS == 10


def test_costs_in_tenths() -> None:
    enterprise = ("Enterprise0", "Enterprise1", "Enterprise2", "Op_Server0")
    low = tuple(name for name in HOST_NAMES if name not in (*enterprise, "User0"))
    assert dict(tables.CONFIDENTIALITY_TENTHS) == {1: host_set(low), 10: host_set(enterprise)}
    assert (tables.RESTORE_COST_TENTHS, tables.OT_SERVICE_DOWN_TENTHS) == (10, 100)
