"""Red from outside: its actions in CybORG's terms, and which of them are legal.

An action is a number: Sleep, a sweep of each zone, then a scan, an exploit, an escalation and an
impact of each host, in the order of the hosts. CybORG offers an action whose parameter Red knows: a
zone, an address (scan, exploit) or a name (escalation, impact).
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import count
from workflow_rl.sim.state import RedAction, State

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
KINDS_ON_HOSTS: Final = len(_ON_HOSTS)
_SLEEP = int(RedAction.SLEEP)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_BY_ADDRESS: Final = 2  # the first kinds on hosts, which need an address; the others need a name

# What CybORG calls each RedAction.
RED_ACTION_CLASSES: Final = ("Sleep", "DiscoverRemoteSystems", *(name for name, _ in _ON_HOSTS))


@dataclass(frozen=True)
class RedActions:
    """What Red can do on a network."""

    network: Network

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(size,) such as `Sleep` and `Impact Op_Server0`."""
        return (
            "Sleep",
            *(f"DiscoverRemoteSystems {zone}" for zone in self.network.zone_names),
            *(f"{name} {host}" for name, _ in _ON_HOSTS for host in self.network.host_names),
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.names)

    @property
    def first_on_host(self) -> int:
        """The first action on a host."""
        return FIRST_SWEEP + len(self.network.zones)

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """(size,) RedAction."""
        zones, hosts = len(self.network.zones), len(self.network.hosts)
        on_hosts = np.repeat([kind for _, kind in _ON_HOSTS], hosts)
        return np.concatenate([[_SLEEP], np.full(zones, _SWEEP), on_hosts]).astype(np.int8)

    @cached_property
    def targets(self) -> NDArray[np.int8]:
        """(size,) a zone for a sweep, else a host, NOBODY for Sleep."""
        zones, hosts = len(self.network.zones), len(self.network.hosts)
        on_hosts = np.tile(np.arange(hosts), len(_ON_HOSTS))
        return np.concatenate([[NOBODY], np.arange(zones), on_hosts]).astype(np.int8)

    def numbers(self, kinds: NDArray[np.int8], targets: NDArray[np.int8]) -> NDArray[np.int64]:
        """Returns (...) the numbers of actions given by RedAction and target, in that shape."""
        first = np.array([self.kinds.tolist().index(kind) for kind in sorted(RedAction)])
        return np.where(kinds == RedAction.SLEEP, RED_SLEEP, first[kinds] + targets)

    def is_on_host(self, actions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns (...) whether actions aim at a host."""
        return np.asarray(actions >= self.first_on_host)


@cache
def red_actions_of(network: Network) -> RedActions:
    """Returns Red's actions on a network."""
    return RedActions(network)


@rule
def is_legal(env: State, net: Tables, action: int) -> bool:
    """Says whether Red may take an action now."""
    if action == RED_SLEEP:
        return True
    zone = action - FIRST_SWEEP
    if zone < net.num_zones:
        return zone >= 0 and env.subnets_known >> zone & 1 != 0
    number = zone - net.num_zones
    if number >= KINDS_ON_HOSTS * net.num_hosts:
        return False
    by_address = number < _BY_ADDRESS * net.num_hosts
    known = env.addresses_known if by_address else env.names_known
    return known >> number % net.num_hosts & 1 != 0


@rule
def number_of_legal(env: State) -> int:
    """Returns how many actions Red may take now."""
    hosts = count(env.addresses_known) + count(env.names_known)
    return 1 + count(env.subnets_known) + 2 * hosts


@rule
def nth_legal(env: State, net: Tables, number: int) -> int:
    """Returns a legal action, counted from 0."""
    action = RED_SLEEP
    for _ in range(number):
        action += 1
        while not is_legal(env, net, action):
            action += 1
    return action


@rule
def take_action(env: State, net: Tables, action: int) -> None:
    """Makes an action of Red the one of this step."""
    on_zone = action - FIRST_SWEEP
    on_host = on_zone - net.num_zones
    if action == RED_SLEEP:
        env.red_action, env.red_target = _SLEEP, NOBODY
    elif on_host < 0:
        env.red_action, env.red_target = _SWEEP, on_zone
    else:
        env.red_action = _SCAN + on_host // net.num_hosts
        env.red_target = on_host % net.num_hosts


def legal_actions(network: Network, state: Any) -> NDArray[np.bool_]:
    """Returns (size,) what Red may do by a record of State, where no kernel needs it."""
    actions = red_actions_of(network)
    known = {
        _SWEEP: int(state["subnets_known"]),
        **dict.fromkeys((_SCAN, int(RedAction.EXPLOIT)), int(state["addresses_known"])),
    }
    names = int(state["names_known"])
    return np.array(
        [
            kind == _SLEEP or bool(known.get(int(kind), names) >> int(target) & 1)
            for kind, target in zip(actions.kinds, actions.targets, strict=True)
        ]
    )
