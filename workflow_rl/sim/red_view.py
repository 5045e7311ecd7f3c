"""What Red knows from what it was told and what it did: the row of bits that a red policy sees.

`remember_red` takes in a step: the action, its result and what CybORG told Red with it (subnets,
addresses, names, ports, the OT service). No entry depends on anything else.

In CybORG addresses are random. Until Red has the name of a host it cannot tell which host of its
subnet an address belongs to. So the view and Red's actions speak of *positions*: within each subnet
the hosts without a known name stand in an order drawn for the episode. A host whose name becomes
known moves to the position of its own number, and the one that stood there takes its place.
"""

from functools import cache
from typing import Annotated, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.images import EXPLOIT_NAMES, EXPLOIT_PORT, NUM_EXPLOITS, ServiceYield
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import ONE, Axis, capacity_of, record_dtype
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.draws import count, first, philox
from workflow_rl.sim.memory import CLOCK, Entry
from workflow_rl.sim.red_given import FIRST_SWEEP, KINDS_ON_HOSTS, is_legal, red_actions_of
from workflow_rl.sim.state import Outcome, RedAction, Settings, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)
_TRUE, _FALSE = int(Success.TRUE), int(Success.FALSE)
_NO_ROUTE = int(Outcome.NO_ROUTE)
_PRIVILEGED_SHELL = int(ServiceYield.PRIVILEGED_SHELL)

_NEVER: Final = 127  # steps since something that has not happened
_FAILURES: Final = 3  # failed exploits are counted up to this
_FIRST_ORDER_WORD: Final = 1 << 31  # a counter of draws that no step reaches


HostSet = Annotated[int, np.int64, ()]
SmallPerHost = Annotated[NDArray[np.int8], np.int8, (Axis.HOSTS,)]


class RedMemory(Protocol):
    """What is kept of one episode for Red's view."""

    order: SmallPerHost  # the host at each position
    place: SmallPerHost  # the position of each host
    named: HostSet  # hosts that stand at their own position
    addresses: HostSet  # known after the step before
    revealed: HostSet  # its address was told by an escalation, not by a sweep
    sessions: HostSet  # Red was told of a session, and not that it is gone
    privileged: HostSet  # the same of a privileged one
    lost: HostSet  # an escalation or impact found no session where Red had one
    swept: HostSet  # zones whose sweep succeeded, a bit each
    failures: SmallPerHost  # exploits that failed since the last scan or success
    since_scan: SmallPerHost  # steps since a scan with a result
    since_exploit: SmallPerHost  # steps since a successful exploit


def red_memory_dtype(network: Network) -> np.dtype[np.void]:
    """Returns the record of what Red was told: one for each size class."""
    return record_dtype(RedMemory, capacity_of(network))


_HOST_BITS: Final = (
    ("address", "its address is known"),
    ("name", "its name is known: the position is the host's own"),
    ("ports", "its ports were scanned"),
    *((f"port of {name}", f"a port of {name} is remembered") for name in EXPLOIT_NAMES),
    ("revealed", "its address was told by an escalation"),
    ("session", "Red has a session there, as far as it was told"),
    ("privileged", "the same of a privileged one"),
    ("lost", "Red was told that its session is gone"),
    *((f"failures {n}", f"{n} exploits failed since its last scan or success") for n in (1, 2, 3)),
    *((f"scan {n}", f"scanned in the last {n} steps") for n in (1, 2, 4, 8)),
    *((f"exploit {n}", f"exploited in the last {n} steps") for n in (1, 2, 4, 8)),
    ("target", "the target of the last action"),
)
_PER_HOST: Final = len(_HOST_BITS)
_RECENT: Final = (1, 2, 4, 8)


@cache
def red_view_layout(network: Network) -> tuple[Entry, ...]:
    """Returns what Red's view shows on a network."""
    return (
        Entry(
            "hosts",
            _PER_HOST * len(network.hosts),
            "per position: " + "; ".join(meaning for _, meaning in _HOST_BITS),
        ),
        Entry("subnets", len(network.zones), "known"),
        Entry("swept", len(network.zones), "swept with success"),
        Entry("ot", 1, "the OT service is known"),
        Entry("action", len(RedAction), "what the last action was"),
        Entry("success", len(Success), "its result: false, true, unknown"),
        Entry("empty", 1, "it was a scan without a result"),
        Entry("clock", len(CLOCK), "so many steps were played"),
    )


def red_view_size(network: Network) -> int:
    """Returns how many bits Red's view has on a network."""
    return sum(entry.size for entry in red_view_layout(network))


@rule
def begin_red(memory: RedMemory, env: State, net: Tables, settings: Settings) -> None:
    """Begins an episode: nothing but the start is known, the order of positions is drawn."""
    for host in range(len(memory.order)):
        memory.order[host] = memory.place[host] = host
        memory.failures[host] = 0
        memory.since_scan[host] = memory.since_exploit[host] = _NEVER
    memory.named = env.names_known
    memory.addresses = env.addresses_known
    memory.sessions = memory.privileged = env.privileged
    memory.revealed = memory.lost = memory.swept = 0
    counter = _FIRST_ORDER_WORD
    for zone in range(net.num_zones):
        left = net.zone_hosts[zone] & ~memory.named
        while left:  # Fisher-Yates among those that have no position yet
            here = first(left)
            words = philox(counter, env.episode, env.index, settings.key[0], settings.key[1])
            counter += 1
            swap(memory, here, nth(left, words.first))
            left &= left - 1


@rule
def nth(members: int, draw: int) -> int:
    """Returns a member of a set that is not empty, by a random word."""
    for _ in range(draw * count(members) >> 32):
        members &= members - 1
    return first(members)


@rule
def swap(memory: RedMemory, a: int, b: int) -> None:
    """Lets the hosts at two positions change places."""
    at_a, at_b = memory.order[a], memory.order[b]
    memory.order[a], memory.order[b] = at_b, at_a
    memory.place[at_a], memory.place[at_b] = b, a


@rule
def remember_red(memory: RedMemory, env: State, net: Tables) -> None:
    """Takes in a step: what Red did, and what it was told then."""
    for host in range(net.num_hosts):
        memory.since_scan[host] = min(memory.since_scan[host] + 1, _NEVER)
        memory.since_exploit[host] = min(memory.since_exploit[host] + 1, _NEVER)
    kind, target, success = env.red_action, env.red_target, env.red_success
    if kind == _SWEEP:
        if success == _TRUE:
            memory.swept |= ONE << target
    elif kind == _SCAN:
        if env.red_outcome != _NO_ROUTE:
            memory.since_scan[target] = 0
            memory.failures[target] = 0
    elif kind == _EXPLOIT:
        remember_exploit(memory, env, net, target)
    elif kind == _ESCALATE:
        remember_escalation(memory, env, target)
    elif kind == _IMPACT and success == _FALSE and env.ot_known and net.runs_ot >> target & 1:
        remember_loss(memory, target)
    memory.addresses = env.addresses_known


@rule
def remember_exploit(memory: RedMemory, env: State, net: Tables, host: int) -> None:
    """Notes the session that an exploit gave, or its failure."""
    if env.red_success != _TRUE:
        memory.failures[host] = min(memory.failures[host] + 1, _FAILURES)
        return
    memory.failures[host] = 0
    memory.since_exploit[host] = 0
    memory.sessions |= ONE << host
    if net.yields[host, env.red_exploit] == _PRIVILEGED_SHELL:
        memory.privileged |= ONE << host
    if not (memory.named >> host & 1):
        memory.named |= ONE << host
        swap(memory, host, memory.place[host])


@rule
def remember_escalation(memory: RedMemory, env: State, host: int) -> None:
    """Notes a privileged session and the address it told of, or that there is no session."""
    if env.red_success != _TRUE:
        remember_loss(memory, host)
        return
    memory.sessions |= ONE << host
    memory.privileged |= ONE << host
    memory.revealed |= env.addresses_known & ~memory.addresses


@rule
def remember_loss(memory: RedMemory, host: int) -> None:
    """Notes that there is no session on a host."""
    memory.lost |= memory.sessions & ONE << host
    memory.sessions &= ~(ONE << host)
    memory.privileged &= ~(ONE << host)


@rule
def host_bits(memory: RedMemory, env: State, host: int) -> int:
    """Returns the bits of a host in the order of the layout."""
    bits = (
        (env.addresses_known >> host & 1)
        | (env.names_known >> host & 1) << 1
        | (env.ports_known >> host & 1) << 2
    )
    at = 3
    for exploit in range(NUM_EXPLOITS):
        bits |= (ONE if env.ports[host] & EXPLOIT_PORT[exploit] else 0) << at
        at += 1
    bits |= (memory.revealed >> host & 1) << at
    bits |= (memory.sessions >> host & 1) << (at + 1)
    bits |= (memory.privileged >> host & 1) << (at + 2)
    bits |= (memory.lost >> host & 1) << (at + 3)
    at += 4
    for number in range(1, _FAILURES + 1):
        bits |= (ONE if memory.failures[host] >= number else 0) << at
        at += 1
    for steps in _RECENT:
        bits |= (ONE if memory.since_scan[host] < steps else 0) << at
        bits |= (ONE if memory.since_exploit[host] < steps else 0) << (at + len(_RECENT))
        at += 1
    at += len(_RECENT)
    is_target = env.red_target == host and env.red_action > _SWEEP
    return bits | (ONE if is_target else 0) << at


@rule
def write_red_view(
    memory: RedMemory, env: State, net: Tables, rows: NDArray[np.int8], k: int
) -> None:
    """Writes row k of Red's view, (n, `red_view_size`)."""
    at = 0
    zones = net.num_zones
    for position in range(net.num_hosts):
        bits = host_bits(memory, env, memory.order[position])
        for i in range(_PER_HOST):
            rows[k, at + i] = bits >> i & 1
        at += _PER_HOST
    for zone in range(zones):
        rows[k, at + zone] = env.subnets_known >> zone & 1
        rows[k, at + zones + zone] = memory.swept >> zone & 1
    at += 2 * zones
    rows[k, at] = env.ot_known
    at += 1
    for kind in range(_IMPACT + 1):
        rows[k, at + kind] = env.step > 0 and env.red_action == kind
    at += _IMPACT + 1
    for success in range(3):
        rows[k, at + success] = env.step > 0 and env.red_success == success
    at += 3
    rows[k, at] = env.red_action == _SCAN and env.red_outcome == _NO_ROUTE
    at += 1
    for i in range(len(CLOCK)):
        rows[k, at + i] = env.step >= CLOCK[i]


@rule
def write_legal(
    memory: RedMemory, env: State, net: Tables, rows: NDArray[np.bool_], k: int
) -> None:
    """Writes row k of Red's legal actions, (n, actions), by positions."""
    first_on_host = FIRST_SWEEP + net.num_zones
    for action in range(first_on_host):
        rows[k, action] = is_legal(env, net, action)
    at = first_on_host
    for _ in range(KINDS_ON_HOSTS):
        for position in range(net.num_hosts):
            host = memory.order[position]
            rows[k, at + position] = is_legal(env, net, at + host)
        at += net.num_hosts


def actions_on_hosts(
    network: Network, actions: NDArray[np.int64], memories: NDArray[np.void]
) -> NDArray[np.int64]:
    """Returns (n,) red actions on hosts for actions (n,) on positions."""
    red = red_actions_of(network)
    on_host = red.is_on_host(actions)
    position = (actions - red.first_on_host) % len(network.hosts)
    host = memories["order"][np.arange(len(actions)), np.where(on_host, position, 0)]
    return np.where(on_host, actions - position + host, actions)
