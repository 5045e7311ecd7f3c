"""What runs on a machine: images, their services, the exploits that attack them, and decoys.

These facts are CybORG's and the same on every network.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from types import MappingProxyType
from typing import Final

import numpy as np


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
class Image:
    """What a host is made from."""

    windows: bool
    services: tuple[Service, ...]  # in process order
    weak_ssh_account: bool = True  # whether SSH brute force can guess an account
    runs_ot_service: bool = False  # which listens on no port


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
_GATEWAY = Image(windows=False, services=(_SSH,))
IMAGES: Final = MappingProxyType(
    {
        "Gateway": _GATEWAY,
        "linux_decoy_host": _GATEWAY,
        "OP_Server": Image(windows=False, services=(_SSH,), runs_ot_service=True),
        "linux_user_host1": Image(
            windows=False,
            services=(
                Service(80, Software.WEB),
                Service(3389, Software.MYSQL, privileged=True),  # Reference quirk: RDP's port
                Service(443, Software.WEB),
                Service(25, Software.SMTP, privileged=True),
            ),
        ),
        "linux_user_host2": Image(
            windows=False,
            services=(
                _SSH,
                Service(80, Software.WEB),
                Service(3390, Software.MYSQL, privileged=True),
                Service(443, Software.WEB),
                Service(25, Software.SMTP, privileged=True),
            ),
        ),
        "Velociraptor_Server": Image(
            windows=False,
            services=(_SSH, Service(53), Service(53), Service(68)),
            weak_ssh_account=False,
        ),
        "Kali_Box": Image(
            windows=False,
            services=(_SSH, Service(55553), Service(68), Service(68)),
            weak_ssh_account=False,
        ),
        "Internal": Image(
            windows=True,
            services=(
                _SSH,
                Service(135),
                Service(3389, Software.RDP, privileged=True),
                Service(445),  # Reference quirk: these two run SMB but are not recognised as such,
                Service(139),  # so EternalBlue can be chosen against them and never works
                Service(80, Software.WEB),
                Service(443, Software.WEB),
            ),
        ),
        "windows_user_host1": Image(
            windows=True, services=(_SSH, Service(21, Software.FEMITTER, privileged=True))
        ),
        "windows_user_host2": Image(
            windows=True,
            services=(
                Service(445, Software.SMB, privileged=True),
                Service(139, Software.SMB, privileged=True),
                Service(135),
                Service(3389, Software.RDP),
            ),
        ),
    }
)
IMAGE_NAMES: Final = tuple(IMAGES)

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
# Placed by Misinform alone. Reference quirk: they are not recognised as what they imitate.
MISINFORM_DECOYS: Final = (
    Decoy("Misinform Smss", 139, Software.OTHER, needs_free=139),
    Decoy("Misinform Svchost", 3389, Software.OTHER, needs_free=3389),
)
_ALL_DECOYS: Final = DECOYS + MISINFORM_DECOYS

FAVOURITE_EXPLOIT_PROBABILITY: Final = 0.75
SHELL_DETECTION_PROBABILITY: Final = 0.95
BRUTE_FORCE_ATTEMPTS: Final = 10
RESTORE_COST: Final = 1.0
INVALID_ACTION_COST: Final = 0.1

# --- derived: names and numbers ---------------------------------------------------------------

EXPLOIT_NAMES: Final = tuple(exploit.name for exploit in EXPLOITS)
DECOY_NAMES: Final = tuple(decoy.name for decoy in DECOYS)
NUM_IMAGES: Final = len(IMAGES)
NUM_EXPLOITS: Final = len(EXPLOITS)
NUM_DECOYS: Final = len(DECOYS)  # that an action names
NUM_DECOY_TYPES: Final = len(_ALL_DECOYS)
SSH_BRUTE_FORCE: Final = EXPLOIT_NAMES.index("SSHBruteForce")
HARAKA_RCE: Final = EXPLOIT_NAMES.index("HarakaRCE")
# What Misinform places one of, whatever the operating system, by the number of the decoy.
MISINFORM_CANDIDATES: Final = (
    DECOY_NAMES.index("DecoySSHD"),
    DECOY_NAMES.index("DecoyApache"),
    NUM_DECOYS,
    DECOY_NAMES.index("DecoyTomcat"),
    NUM_DECOYS + 1,
)
# Costs are kept in tenths, so that the reward is exact integer arithmetic until the very end.
RESTORE_COST_TENTHS: Final = round(10 * RESTORE_COST)
INVALID_ACTION_TENTHS: Final = round(10 * INVALID_ACTION_COST)

PORTS: Final = tuple(sorted({s.port for image in IMAGES.values() for s in image.services}))
ALL_PORTS: Final = (1 << len(PORTS)) - 1


def port_set(ports: Iterable[int]) -> int:
    """Returns the bit mask (bit i = PORTS[i]) of the given ports."""
    return sum(1 << PORTS.index(port) for port in set(ports))


# --- derived: lookup arrays -------------------------------------------------------------------


class ServiceYield(IntEnum):
    """What an exploit gets from the original service it attacks on a host."""

    NO_SERVICE = 0
    USER_SHELL = 1
    PRIVILEGED_SHELL = 2
    SSH_SESSION = 3
    NO_ACCOUNT = 4


def _service_yield(image: Image, exploit: Exploit) -> ServiceYield:
    for service in image.services:
        if service.port == exploit.port and service.software is exploit.attacks:
            if exploit.attacks is Software.SSH:
                return (
                    ServiceYield.SSH_SESSION if image.weak_ssh_account else ServiceYield.NO_ACCOUNT
                )
            return ServiceYield.PRIVILEGED_SHELL if service.privileged else ServiceYield.USER_SHELL
    return ServiceYield.NO_SERVICE


def _decoy_fits(image: Image, decoy: Decoy) -> bool:
    return decoy.windows is None or decoy.windows is image.windows


IMAGE_PORTS: Final = np.array(  # (image,)
    [port_set(service.port for service in image.services) for image in IMAGES.values()], np.int16
)
IMAGE_YIELD: Final = np.array(  # (image, exploit)
    [[_service_yield(image, exploit) for exploit in EXPLOITS] for image in IMAGES.values()],
    np.int8,
)
IMAGE_REFUSES: Final = np.array(  # (image, decoy) refused if any of these ports is in use
    [
        [
            port_set([decoy.needs_free] if _decoy_fits(image, decoy) else PORTS)
            for decoy in _ALL_DECOYS
        ]
        for image in IMAGES.values()
    ],
    np.int16,
)
DECOY_NEEDS: Final = np.array(  # (decoy,) the port that must be free
    [port_set([decoy.needs_free]) for decoy in _ALL_DECOYS], np.int16
)
EXPLOIT_PORT: Final = np.array([port_set([e.port]) for e in EXPLOITS], dtype=np.int16)
EXPLOIT_NEEDS_ONE_OF: Final = np.array(  # every exploit needs its own port: no condition is 'any'
    [port_set(e.also_one_of or PORTS) for e in EXPLOITS], dtype=np.int16
)
DECOYS_TRAPPING: Final = np.array(  # (exploit,) bit d = decoy d answers this exploit
    [
        sum(
            1 << d
            for d, decoy in enumerate(_ALL_DECOYS)
            if (decoy.opens, decoy.imitates) == (exploit.port, exploit.attacks)
        )
        for exploit in EXPLOITS
    ],
    dtype=np.int16,
)
PORTS_OF_DECOYS: Final = np.array(  # (set of decoys,) the ports they open
    [
        port_set(decoy.opens for d, decoy in enumerate(_ALL_DECOYS) if decoys >> d & 1)
        for decoys in range(1 << NUM_DECOY_TYPES)
    ],
    dtype=np.int16,
)
