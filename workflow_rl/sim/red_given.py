"""Red from outside: its 56 actions in CybORG's terms, and which of them are legal.

An action is a number: Sleep, a sweep of each subnet, then a scan, an exploit, an escalation and an
impact of each host, in the order of the hosts. CybORG offers an action whose parameter Red knows: a
subnet, an address (scan, exploit) or a name (escalation, impact).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import HOST_NAMES, NUM_HOSTS, NUM_SUBNETS, Subnet
from workflow_rl.sim.state import NOBODY, RedAction, State

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_ON_HOSTS: Final = (
    ("DiscoverNetworkServices", RedAction.DISCOVER_NETWORK_SERVICES),
    ("ExploitRemoteService", RedAction.EXPLOIT),
    ("PrivilegeEscalate", RedAction.PRIVILEGE_ESCALATE),
    ("Impact", RedAction.IMPACT),
)
NOT_GIVEN: Final = -1  # the action of a Red that chooses by itself
RED_SLEEP: Final = 0
FIRST_SWEEP: Final = 1
FIRST_ON_HOST: Final = FIRST_SWEEP + NUM_SUBNETS
NUM_RED_ACTIONS: Final = FIRST_ON_HOST + len(_ON_HOSTS) * NUM_HOSTS
_FIRST_SCAN: Final = FIRST_ON_HOST
_FIRST_EXPLOIT: Final = _FIRST_SCAN + NUM_HOSTS
_FIRST_ESCALATE: Final = _FIRST_EXPLOIT + NUM_HOSTS
_FIRST_IMPACT: Final = _FIRST_ESCALATE + NUM_HOSTS

# What CybORG calls each RedAction.
RED_ACTION_CLASSES: Final = ("Sleep", "DiscoverRemoteSystems", *(name for name, _ in _ON_HOSTS))
RED_ACTION_NAMES: Final = (
    "Sleep",
    *(f"DiscoverRemoteSystems {subnet.name.capitalize()}" for subnet in Subnet),
    *(f"{name} {host}" for name, _ in _ON_HOSTS for host in HOST_NAMES),
)
RED_ACTION_KIND: Final = np.array(
    [
        RedAction.SLEEP,
        *(RedAction.DISCOVER_REMOTE_SYSTEMS for _ in Subnet),
        *(kind for _, kind in _ON_HOSTS for _ in HOST_NAMES),
    ],
    np.int8,
)
RED_ACTION_TARGET: Final = np.array(  # a subnet for a sweep, else a host, NOBODY for Sleep
    [NOBODY, *Subnet, *(host for _ in _ON_HOSTS for host in range(NUM_HOSTS))], np.int8
)
FIRST_RED_ACTION: Final = np.array(  # of each RedAction
    [RED_ACTION_KIND.tolist().index(kind) for kind in sorted(RedAction)], np.int64
)


@rule
def legal_red_actions(env: State) -> int:
    """Returns the actions that Red may take now, bit a = action a."""
    addresses = np.int64(env.addresses_known)
    names = np.int64(env.names_known)
    legal: int = (
        1 << RED_SLEEP  # type: ignore[assignment]
        | np.int64(env.subnets_known) << FIRST_SWEEP
        | addresses << _FIRST_SCAN
        | addresses << _FIRST_EXPLOIT
        | names << _FIRST_ESCALATE
        | names << _FIRST_IMPACT
    )
    return legal


@rule
def take_action(env: State, action: int) -> None:
    """Makes an action of Red the one of this step."""
    env.red_action = RED_ACTION_KIND[action]
    env.red_target = RED_ACTION_TARGET[action]


def red_action_numbers(kinds: NDArray[np.int8], targets: NDArray[np.int8]) -> NDArray[np.int64]:
    """Returns (...) the numbers of actions given by RedAction and target, in the same shape."""
    first = FIRST_RED_ACTION[kinds]
    return np.where(kinds == RedAction.SLEEP, RED_SLEEP, first + targets)


def is_on_host(actions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns (...) whether actions aim at a host."""
    return np.asarray(actions >= FIRST_ON_HOST)
