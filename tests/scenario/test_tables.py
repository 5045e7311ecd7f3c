from dataclasses import FrozenInstanceError

import numpy as np
import pytest

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
    Subnet,
    host_set,
    port_set,
)

_WINDOWS_PORTS = (22, 135, 3389, 445, 139, 80, 443)
_SSH_ONLY = ("Enterprise0", "Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0")


def test_hosts_stand_in_observation_order() -> None:
    assert " ".join(HOST_NAMES) == (
        "Defender Enterprise0 Enterprise1 Enterprise2 Op_Host0 Op_Host1 Op_Host2 Op_Server0 "
        "User0 User1 User2 User3 User4"
    )


@pytest.mark.parametrize(
    ("name", "subnet", "windows", "ports", "confidentiality"),
    [
        ("Defender", Subnet.ENTERPRISE, False, (22, 53, 53, 68), 0.1),
        ("Enterprise0", Subnet.ENTERPRISE, False, (22,), 1.0),
        ("Enterprise1", Subnet.ENTERPRISE, True, _WINDOWS_PORTS, 1.0),
        ("Enterprise2", Subnet.ENTERPRISE, True, _WINDOWS_PORTS, 1.0),
        ("Op_Host0", Subnet.OPERATIONAL, False, (22,), 0.1),
        ("Op_Host1", Subnet.OPERATIONAL, False, (22,), 0.1),
        ("Op_Host2", Subnet.OPERATIONAL, False, (22,), 0.1),
        ("Op_Server0", Subnet.OPERATIONAL, False, (22,), 1.0),
        ("User0", Subnet.USER, True, (22, 21), 0.0),
        ("User1", Subnet.USER, True, (22, 21), 0.1),
        ("User2", Subnet.USER, True, (445, 139, 135, 3389), 0.1),
        ("User3", Subnet.USER, False, (80, 3389, 443, 25), 0.1),
        ("User4", Subnet.USER, False, (22, 80, 3390, 443, 25), 0.1),
    ],
)
def test_a_host_has_its_subnet_system_ports_and_value(
    name: str, subnet: Subnet, windows: bool, ports: tuple[int, ...], confidentiality: float
) -> None:
    host = HOSTS[HOST_NAMES.index(name)]
    assert (host.subnet, host.windows, host.confidentiality) == (subnet, windows, confidentiality)
    assert tuple(service.port for service in host.services) == ports
    assert HOST_PORTS[HOST_NAMES.index(name)] == port_set(ports)


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


def test_exploits_stand_by_falling_weight_with_what_they_need_and_attack() -> None:
    assert [(x.name, x.port, x.attacks, x.also_one_of) for x in EXPLOITS] == [
        ("FTPDirectoryTraversal", 21, Software.FEMITTER, ()),
        ("HarakaRCE", 25, Software.SMTP, ()),
        ("SQLInjection", 3390, Software.MYSQL, (80, 443)),
        ("HTTPSRFI", 443, Software.WEB, ()),
        ("HTTPRFI", 80, Software.WEB, ()),
        ("EternalBlue", 139, Software.SMB, ()),
        ("BlueKeep", 3389, Software.RDP, ()),
        ("SSHBruteForce", 22, Software.SSH, ()),
    ]


def test_decoys_open_imitate_and_check_their_ports() -> None:
    assert [(d.name, d.opens, d.imitates, d.needs_free, d.windows) for d in DECOYS] == [
        ("DecoyApache", 80, Software.WEB, 80, None),
        ("DecoyFemitter", 21, Software.FEMITTER, 21, True),
        ("DecoyHarakaSMPT", 25, Software.SMTP, 25, False),
        ("DecoySmss", 139, Software.SMB, 139, True),
        ("DecoySSHD", 22, Software.SSH, 22, None),
        ("DecoySvchost", 3389, Software.RDP, 3389, True),
        ("DecoyTomcat", 443, Software.WEB, 443, None),
        ("DecoyVsftpd", 80, Software.WEB, 21, False),
    ]


def test_a_decoy_traps_the_exploit_of_the_service_it_imitates() -> None:
    trapping = {
        exploit.name: {decoy.name for d, decoy in enumerate(DECOYS) if decoys >> d & 1}
        for exploit, decoys in zip(EXPLOITS, DECOYS_TRAPPING.tolist(), strict=True)
    }
    assert trapping == {
        "FTPDirectoryTraversal": {"DecoyFemitter"},
        "HarakaRCE": {"DecoyHarakaSMPT"},
        "SQLInjection": set(),
        "HTTPSRFI": {"DecoyTomcat"},
        "HTTPRFI": {"DecoyApache", "DecoyVsftpd"},
        "EternalBlue": {"DecoySmss"},
        "BlueKeep": {"DecoySvchost"},
        "SSHBruteForce": {"DecoySSHD"},
    }


def test_the_links_an_escalation_reveals() -> None:
    assert {host.name: host.reveals for host in HOSTS if host.reveals} == {
        "User1": "Enterprise1",
        "User2": "Enterprise1",
        "User3": "Enterprise0",
        "User4": "Enterprise0",
        "Enterprise2": "Op_Server0",
    }
    linked = [HOST_NAMES[h] for h in tables.REVEALS]
    assert linked == [host.reveals or host.name for host in HOSTS]


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


def test_the_scenario_cannot_be_changed() -> None:
    parts = (HOSTS[0], HOSTS[0].services[0], EXPLOITS[0], DECOYS[0])
    for part in parts:
        with pytest.raises(FrozenInstanceError):
            part.name = "another"  # type: ignore[misc,union-attr]


def test_costs_in_tenths() -> None:
    enterprise = ("Enterprise0", "Enterprise1", "Enterprise2", "Op_Server0")
    low = tuple(name for name in HOST_NAMES if name not in (*enterprise, "User0"))
    assert dict(tables.CONFIDENTIALITY_TENTHS) == {1: host_set(low), 10: host_set(enterprise)}
    assert (tables.RESTORE_COST_TENTHS, tables.OT_SERVICE_DOWN_TENTHS) == (10, 100)
