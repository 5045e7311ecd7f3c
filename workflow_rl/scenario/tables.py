"""Scenario2 as data: hosts, services, exploits and decoys, and the arrays the rules index.

The first half is the scenario as a reader would write it down. The second half derives, from
that and nothing else, the small integer arrays that the compiled rules look things up in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Final

import numpy as np


class Subnet(IntEnum):
    """The three subnets."""

    USER = 0
    ENTERPRISE = 1
    OPERATIONAL = 2


class Software(Enum):
    """What a listening process is, as far as an exploit can tell."""

    OTHER = auto()  # listens, but nothing in Red's arsenal attacks it
    SSH = auto()
    FEMITTER = auto()
    SMTP = auto()
    SMB = auto()
    RDP = auto()
    WEB = auto()
    MYSQL = auto()


@dataclass(frozen=True)
class Service:
    """A process of the original image that listens on a port."""

    port: int
    software: Software = Software.OTHER
    privileged: bool = False  # the process runs as root or SYSTEM: its shell is privileged at once


@dataclass(frozen=True)
class Host:
    """One of the 13 machines."""

    name: str
    subnet: Subnet
    windows: bool
    services: tuple[Service, ...]
    confidentiality: float  # charged per step while Red holds a privileged session
    weak_ssh_account: bool = True  # whether SSH brute force can guess an account
    reveals: str | None = None  # the host whose address an escalation here shows to Red


@dataclass(frozen=True)
class Exploit:
    """A concrete technique behind Red's ExploitRemoteService."""

    name: str
    port: int
    attacks: Software
    also_one_of: tuple[int, ...] = ()  # Red must remember one of these ports as well


@dataclass(frozen=True)
class Decoy:
    """A fake service Blue can deploy."""

    name: str
    opens: int
    imitates: Software
    needs_free: int  # refused when this port is in use on the host
    windows: bool | None = None  # None: either operating system


_SSH = Service(22, Software.SSH)
_ENTERPRISE_WINDOWS = (
    _SSH,
    Service(135),
    Service(3389, Software.RDP, privileged=True),
    Service(445),  # Reference quirk: these two run SMB but are not recognised as such,
    Service(139),  # so EternalBlue can be chosen against them and never works
    Service(80, Software.WEB),
    Service(443, Software.WEB),
)
_USER_WINDOWS = (_SSH, Service(21, Software.FEMITTER, privileged=True))

# In the order of the observation vector and of every block of 13 actions.
HOSTS: Final = (
    Host(
        "Defender",
        Subnet.ENTERPRISE,
        windows=False,
        services=(_SSH, Service(53), Service(53), Service(68)),
        confidentiality=0.1,
        weak_ssh_account=False,
    ),
    Host("Enterprise0", Subnet.ENTERPRISE, False, (_SSH,), 1.0),
    Host("Enterprise1", Subnet.ENTERPRISE, True, _ENTERPRISE_WINDOWS, 1.0),
    Host("Enterprise2", Subnet.ENTERPRISE, True, _ENTERPRISE_WINDOWS, 1.0, reveals="Op_Server0"),
    Host("Op_Host0", Subnet.OPERATIONAL, False, (_SSH,), 0.1),
    Host("Op_Host1", Subnet.OPERATIONAL, False, (_SSH,), 0.1),
    Host("Op_Host2", Subnet.OPERATIONAL, False, (_SSH,), 0.1),
    Host("Op_Server0", Subnet.OPERATIONAL, False, (_SSH,), 1.0),  # and the OT service, no port
    Host("User0", Subnet.USER, True, _USER_WINDOWS, 0.0),
    Host("User1", Subnet.USER, True, _USER_WINDOWS, 0.1, reveals="Enterprise1"),
    Host(
        "User2",
        Subnet.USER,
        windows=True,
        services=(
            Service(445, Software.SMB, privileged=True),
            Service(139, Software.SMB, privileged=True),
            Service(135),
            Service(3389, Software.RDP),
        ),
        confidentiality=0.1,
        reveals="Enterprise1",
    ),
    Host(
        "User3",
        Subnet.USER,
        windows=False,
        services=(
            Service(80, Software.WEB),
            Service(3389, Software.MYSQL, privileged=True),  # Reference quirk: MySQL on RDP's port
            Service(443, Software.WEB),
            Service(25, Software.SMTP, privileged=True),
        ),
        confidentiality=0.1,
        reveals="Enterprise0",
    ),
    Host(
        "User4",
        Subnet.USER,
        windows=False,
        services=(
            _SSH,
            Service(80, Software.WEB),
            Service(3390, Software.MYSQL, privileged=True),
            Service(443, Software.WEB),
            Service(25, Software.SMTP, privileged=True),
        ),
        confidentiality=0.1,
        reveals="Enterprise0",
    ),
)

# By falling weight: when Red can choose between several, the first of them is its favourite.
EXPLOITS: Final = (
    Exploit("FTPDirectoryTraversal", 21, Software.FEMITTER),
    Exploit("HarakaRCE", 25, Software.SMTP),
    Exploit("SQLInjection", 3390, Software.MYSQL, also_one_of=(80, 443)),
    Exploit("HTTPSRFI", 443, Software.WEB),
    Exploit("HTTPRFI", 80, Software.WEB),
    Exploit("EternalBlue", 139, Software.SMB),
    Exploit("BlueKeep", 3389, Software.RDP),
    Exploit("SSHBruteForce", 22, Software.SSH),
)

DECOYS: Final = (
    Decoy("DecoyApache", 80, Software.WEB, needs_free=80),
    Decoy("DecoyFemitter", 21, Software.FEMITTER, needs_free=21, windows=True),
    Decoy("DecoyHarakaSMPT", 25, Software.SMTP, needs_free=25, windows=False),
    Decoy("DecoySmss", 139, Software.SMB, needs_free=139, windows=True),
    Decoy("DecoySSHD", 22, Software.SSH, needs_free=22),
    Decoy("DecoySvchost", 3389, Software.RDP, needs_free=3389, windows=True),
    Decoy("DecoyTomcat", 443, Software.WEB, needs_free=443),
    # Reference quirk: Vsftpd checks port 21 but opens port 80, so it can be placed again and again.
    Decoy("DecoyVsftpd", 80, Software.WEB, needs_free=21, windows=False),
)

FAVOURITE_EXPLOIT_PROBABILITY: Final = 0.75
SHELL_DETECTION_PROBABILITY: Final = 0.95
BRUTE_FORCE_ATTEMPTS: Final = 10
RESTORE_COST: Final = 1.0
OT_SERVICE_DOWN_COST: Final = 10.0

# --- derived: names and index constants -----------------------------------------------------

NUM_HOSTS: Final = len(HOSTS)
NUM_SUBNETS: Final = len(Subnet)
NUM_EXPLOITS: Final = len(EXPLOITS)
NUM_DECOYS: Final = len(DECOYS)

HOST_NAMES: Final = tuple(host.name for host in HOSTS)
EXPLOIT_NAMES: Final = tuple(exploit.name for exploit in EXPLOITS)
DECOY_NAMES: Final = tuple(decoy.name for decoy in DECOYS)

ENTERPRISE2: Final = HOST_NAMES.index("Enterprise2")
OP_SERVER0: Final = HOST_NAMES.index("Op_Server0")
USER0: Final = HOST_NAMES.index("User0")
SSH_BRUTE_FORCE: Final = EXPLOIT_NAMES.index("SSHBruteForce")
HARAKA_RCE: Final = EXPLOIT_NAMES.index("HarakaRCE")

# --- derived: sets of hosts and ports as bit masks -------------------------------------------


def host_set(names: Iterable[str]) -> int:
    """Returns the bit mask (bit h = host h) of the named hosts."""
    return sum(1 << HOST_NAMES.index(name) for name in names)


SUBNET_HOSTS: Final = np.array(
    [host_set(host.name for host in HOSTS if host.subnet is subnet) for subnet in Subnet],
    dtype=np.int16,
)
SUBNET_OF: Final = np.array([host.subnet for host in HOSTS], dtype=np.int16)
# Red reaches Operational only from these; Defender shares their subnet but does not count.
ENTERPRISE_FOOTHOLDS: Final = host_set(("Enterprise0", "Enterprise1", "Enterprise2"))
OPERATIONAL_HOSTS: Final = int(SUBNET_HOSTS[Subnet.OPERATIONAL])
BLINE_FIRST_TARGETS: Final = host_set(("User1", "User2", "User3", "User4"))
GREEN_SCAN_TARGETS: Final = host_set(
    host.name for host in HOSTS if host.subnet is not Subnet.OPERATIONAL and host.name != "Defender"
)

PORTS: Final = tuple(sorted({s.port for host in HOSTS for s in host.services}))


def port_set(ports: Iterable[int]) -> int:
    """Returns the bit mask (bit i = PORTS[i]) of the given ports."""
    return sum(1 << PORTS.index(port) for port in set(ports))


# --- derived: lookup arrays ------------------------------------------------------------------


class ServiceYield(IntEnum):
    """What an exploit gets from the original service it attacks on a host."""

    NO_SERVICE = 0
    USER_SHELL = 1
    PRIVILEGED_SHELL = 2
    SSH_SESSION = 3
    NO_ACCOUNT = 4


def _service_yield(host: Host, exploit: Exploit) -> ServiceYield:
    for service in host.services:
        if service.port == exploit.port and service.software is exploit.attacks:
            if exploit.attacks is Software.SSH:
                return (
                    ServiceYield.SSH_SESSION if host.weak_ssh_account else ServiceYield.NO_ACCOUNT
                )
            return ServiceYield.PRIVILEGED_SHELL if service.privileged else ServiceYield.USER_SHELL
    return ServiceYield.NO_SERVICE


def _decoy_fits(host: Host, decoy: Decoy) -> bool:
    return decoy.windows is None or decoy.windows is host.windows


HOST_PORTS: Final = np.array(
    [port_set(service.port for service in host.services) for host in HOSTS], dtype=np.int16
)
EXPLOIT_PORT: Final = np.array([port_set([e.port]) for e in EXPLOITS], dtype=np.int16)
EXPLOIT_NEEDS_ONE_OF: Final = np.array(  # every exploit needs its own port: no condition is 'any'
    [port_set(e.also_one_of or PORTS) for e in EXPLOITS], dtype=np.int16
)
SERVICE_YIELD: Final = np.array(
    [[_service_yield(host, exploit) for exploit in EXPLOITS] for host in HOSTS], dtype=np.int16
)
DECOYS_TRAPPING: Final = np.array(  # (exploit,) bit d = decoy d answers this exploit
    [
        sum(1 << d for d, y in enumerate(DECOYS) if (y.opens, y.imitates) == (x.port, x.attacks))
        for x in EXPLOITS
    ],
    dtype=np.int16,
)
DECOY_REFUSED_BY: Final = np.array(  # (host, decoy) refused if any of these ports is in use
    [
        [port_set([decoy.needs_free] if _decoy_fits(host, decoy) else PORTS) for decoy in DECOYS]
        for host in HOSTS
    ],
    dtype=np.int16,
)
PORTS_OF_DECOYS: Final = np.array(  # (set of decoys,) the ports they open
    [
        port_set(decoy.opens for d, decoy in enumerate(DECOYS) if decoys >> d & 1)
        for decoys in range(1 << NUM_DECOYS)
    ],
    dtype=np.int16,
)
REVEALS: Final = np.array(  # (host,) the host an escalation shows to Red besides itself
    [HOST_NAMES.index(host.reveals or host.name) for host in HOSTS], dtype=np.int16
)
# Costs are kept in tenths, so that the reward is exact integer arithmetic until the very end.
_TENTHS: Final = [round(10 * host.confidentiality) for host in HOSTS]
CONFIDENTIALITY_TENTHS: Final = tuple(  # (cost, the hosts that cost it)
    (cost, sum(1 << h for h in range(NUM_HOSTS) if _TENTHS[h] == cost))
    for cost in sorted(set(_TENTHS) - {0})
)
RESTORE_COST_TENTHS: Final = round(10 * RESTORE_COST)
OT_SERVICE_DOWN_TENTHS: Final = round(10 * OT_SERVICE_DOWN_COST)
