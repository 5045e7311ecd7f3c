"""The state of one environment, field by field, and the codes its fields hold.

`State` is written once: it types the rules, and two things are derived from it: `state_dtype`, the
numpy record that holds one environment in a batch, and `initial_state`, the record every episode
on a network starts from. Sets of hosts are bit masks (bit h = host h).
"""

from enum import IntEnum
from functools import cache
from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config.reds import MAX_REDS
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import Axis, capacity_of, initial_record, record_dtype
from workflow_rl.scenario.tables import NOBODY, addresses_of, signed, zones_of
from workflow_rl.sim.memory import Memory

# All integers are signed: numba turns mixed signed and unsigned arithmetic into floats.
Small = Annotated[int, np.int8, ()]
Tenths = Annotated[int, np.int16, ()]
Count = Annotated[int, np.int32, ()]
Flag = Annotated[bool, np.bool_, ()]
Action = Annotated[int, np.int16, ()]
Words = Annotated[Any, np.int64, (Axis.WORDS,)]
HostSet = Annotated[int, np.int64, ()]
ZoneSet = Annotated[int, np.int64, ()]
Remembered = Annotated[Any, Memory, ()]
SmallPerHost = Annotated[Any, np.int8, (Axis.HOSTS,)]
SetPerHost = Annotated[Any, np.int16, (Axis.HOSTS,)]


class Success(IntEnum):
    """How an action ended, as its agent sees it."""

    FALSE = 0
    TRUE = 1
    UNKNOWN = 2


class RedAgent(IntEnum):
    """Who plays Red in an episode; the first three are CybORG's own."""

    BLINE = 0
    MEANDER = 1
    SLEEP = 2
    BAIT = 3  # takes one host again and again
    RANDOM = 4  # legal actions at random
    GIVEN = 5  # its choice is an argument of the step
    PATH = 6  # B_line's chain along what escalations reveal


class Raised(IntEnum):
    """The exception by which CybORG's red agent would have ended the game; it sleeps since."""

    NOTHING = 0
    KEY_ERROR = 1
    INDEX_ERROR = 2
    NOT_IMPLEMENTED_ERROR = 3


EXCEPTIONS: Final = (None, "KeyError", "IndexError", "NotImplementedError")  # of each Raised


class RedAction(IntEnum):
    """What Red does in a step."""

    SLEEP = 0
    DISCOVER_REMOTE_SYSTEMS = 1  # ping sweep of a subnet
    DISCOVER_NETWORK_SERVICES = 2  # port scan of a host
    EXPLOIT = 3
    PRIVILEGE_ESCALATE = 4
    IMPACT = 5


class Outcome(IntEnum):
    """Why a red action ended as it did."""

    NOTHING = 0
    SUCCESS = 1
    HIT_DECOY = 2
    NO_ROUTE = 3
    SERVICE_ABSENT = 4  # the port is remembered, no matching service is there now
    BROKEN_SERVICE = 5  # competition rules: Haraka after a Restore
    NO_ACCOUNT = 6  # SSH brute force finds nobody to be
    NOT_SCANNED = 7
    NO_OPTION = 8  # no exploit fits the remembered ports
    NO_SESSION = 9
    ALREADY_PRIVILEGED = 11
    OT_UNKNOWN = 12
    NO_OT_SERVICE = 13  # the host of an impact does not run it


class Activity(IntEnum):
    """What Blue's monitor reports of a host, for this step only; its two bits of the vector."""

    NONE = 0b00
    SCAN = 0b01
    EXPLOIT = 0b11


class Mark(IntEnum):
    """Blue's own mark on a host, kept until something changes it; its two bits of the vector."""

    NO = 0b00
    UNKNOWN = 0b01
    USER = 0b10
    PRIVILEGED = 0b11


class Access(IntEnum):
    """Red's true access to a host."""

    NONE = 0
    USER = 1
    PRIVILEGED = 2


class State(Protocol):
    """One environment: each field with its initial value and what its values mean."""

    # --- which draws it gets: see draws.py; the first two outlast an episode
    index: Count = 0  # which environment of the run this is
    episode: Count = 0  # episodes it began before this one since it was seeded
    step: Count = 0  # steps played in this episode

    # --- the network: what is true
    privileged: HostSet = 0  # a root/SYSTEM red session exists; on the foothold always
    foothold_root: Flag = False  # on the foothold one exists that Red did not begin with
    removable: HostSet = 0  # a user-level session exists that Remove kills (a detected shell)
    persistent: HostSet = 0  # a user-level session exists that Remove misses (SSH, unseen shell)
    more_removable: SmallPerHost = 0  # such sessions beyond the first, counted
    more_persistent: SmallPerHost = 0  # while Red has no privileged one there
    malware: HostSet = 0  # a red file lies there: what Analyse finds
    decoys: SetPerHost = 0  # bit d = decoy type d is deployed
    more_vsftpd: SmallPerHost = 0  # Vsftpd decoys beyond the first
    restored: HostSet = 0  # restored at least once in this episode
    ot_down: HostSet = 0  # their OT service does not run

    # --- the step's network events, the only thing Blue's monitor reads; it clears them
    event_hosts: HostSet = 0  # hosts with any
    event_count: SmallPerHost = 0  # connections seen on the host
    event_ports: SetPerHost = 0  # their local ports, bits as in tables.PORTS
    shell_events: HostSet = 0  # a connection to port 4444 was among them

    # --- Blue
    table: Words = 0  # four bits for each place of the observation: see table.py
    blue_action: Action = NOBODY  # the last one, or NOBODY before the first
    blue_success: Small = Success.UNKNOWN  # its Success
    blue_valid: Flag = True  # its host is in Blue's observation
    decoy_placed: Small = NOBODY  # host that received a decoy in this step, or NOBODY
    malware_found: Small = NOBODY  # host where Analyse found a file in this step, or NOBODY
    scans_seen: HostSet = 0  # cardiff observation: hosts that showed a scan
    scan_latest: Small = NOBODY  # cardiff observation: the last of them, or NOBODY
    memory: Remembered = 0  # memory observation: see memory.py

    # --- what Red knows
    subnets_known: ZoneSet = 0
    addresses_known: HostSet = 0
    names_known: HostSet = 0
    ports_known: HostSet = 0  # hosts of which Red remembers a port list
    ports: SetPerHost = 0  # that list, bits as in tables.PORTS
    ot_known: Flag = False

    # --- Red's last action
    red_agent: Small = RedAgent.SLEEP  # who plays this episode: drawn when it starts
    red_number: Small = 0  # which entry of the game's list of reds that is
    red_wait: Small = 0  # steps that it sleeps before it begins
    red_raised: Small = Raised.NOTHING  # Raised
    red_action: Small = RedAction.SLEEP  # RedAction
    red_target: Small = NOBODY  # a subnet for a sweep, else a host, or NOBODY
    red_success: Small = Success.UNKNOWN  # Success
    red_outcome: Small = Outcome.NOTHING  # Outcome
    red_exploit: Small = NOBODY  # index in tables.EXPLOITS, or NOBODY
    red_options: Small = -1  # exploits it could choose from, -1 if it was not an exploit
    red_decoy_hit: Small = NOBODY  # decoy type that stopped it, or NOBODY

    # --- B_line's plan
    bline_index: Small = 0  # 0..14, its place in the chain
    bline_target: Small = NOBODY  # the host it goes through, or NOBODY before it is drawn;
    # Bait's, too: the host that it takes again and again
    bline_reached: Tenths = 0  # bit i = it has been at place i of the chain

    # --- path's plan
    path_kind: Small = 0  # RedAction
    path_stage: Small = 0  # 0 is the first
    path_hosts: SmallPerHost = NOBODY  # the host of each stage

    # --- Meander's lists
    meander_swept: ZoneSet = 0
    meander_scanned: HostSet = 0
    meander_exploited: HostSet = 0
    meander_escalated: HostSet = 0
    meander_mapped: HostSet = 0  # ever exploited successfully
    meander_impacted: HostSet = 0  # whose service it stopped, as far as it knows

    # --- the reward's parts in tenths, each <= 0
    confidentiality: Tenths = 0
    availability: Tenths = 0
    action_cost: Tenths = 0


class Settings(Protocol):
    """What is the same for every environment of a batch, besides the network."""

    key: Annotated[NDArray[np.int64], np.int64, (2,)]  # from the seed
    episode_length: Count
    autoreset: Flag  # an episode that ends is followed by the next within the same step
    red_up_to: Annotated[NDArray[np.float64], np.float64, (MAX_REDS,)]  # cumulative, by entry
    red_agents: Annotated[NDArray[np.int8], np.int8, (MAX_REDS,)]  # RedAgent of each entry
    red_waits: Annotated[NDArray[np.int8], np.int8, (MAX_REDS,)]  # steps that it sleeps first
    red_given: Flag  # an entry's choice is an argument of the step
    green_active: Flag
    rescan_unites_ports: Flag  # rule set
    haraka_breaks: Flag  # rule set
    cardiff: Flag  # observation variant
    memory: Flag  # observation variant: Blue remembers
    recall: Flag  # observation variant: and more
    truth: Flag  # observation variant: and is shown where Red is


SETTINGS_DTYPE: Final = record_dtype(Settings)


def state_dtype(network: Network) -> np.dtype[np.void]:
    """Returns the record of an environment on a network: one for each size class."""
    return record_dtype(State, capacity_of(network))


@cache
def initial_state(network: Network) -> NDArray[np.void]:
    """Returns (1,) the record every episode on a network starts from."""
    record = initial_record(State, capacity_of(network))
    foothold = signed(1 << network.number(network.foothold))
    record["privileged"] = record["names_known"] = foothold
    record["addresses_known"] = addresses_of(network, network.known)
    record["subnets_known"] = zones_of(network, network.known)
    record.flags.writeable = False
    return record
