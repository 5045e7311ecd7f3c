"""What Red knows from what it was told and what it did: the row of bits that a red policy sees.

`remember_red` takes in a step: the action, its result and what CybORG told Red with it (subnets,
addresses, names, ports, the OT service). No entry depends on anything else.

In CybORG addresses are random. Until Red has the name of a host it cannot tell which host of its
subnet an address belongs to. So the view and Red's actions speak of *positions*: within each subnet
the hosts without a known name stand in an order drawn for the episode. A host whose name becomes
known moves to the position of its own number, and the one that stood there takes its place.
"""

from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    EXPLOIT_NAMES,
    EXPLOIT_PORT,
    NUM_EXPLOITS,
    NUM_HOSTS,
    NUM_SUBNETS,
    OP_SERVER0,
    SERVICE_YIELD,
    SUBNET_HOSTS,
    USER0,
    ServiceYield,
)
from workflow_rl.sim.draws import first, philox
from workflow_rl.sim.memory import CLOCK, Entry
from workflow_rl.sim.records import initial_record, record_dtype
from workflow_rl.sim.red_given import (
    FIRST_ON_HOST,
    NUM_RED_ACTIONS,
    legal_red_actions,
)
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
SmallPerHost = Annotated[NDArray[np.int8], np.int8, (NUM_HOSTS,)]


def _per_host(value: int) -> NDArray[Any]:
    return np.full(NUM_HOSTS, value)


def _own_positions() -> NDArray[Any]:
    return np.arange(NUM_HOSTS)


class RedMemory(Protocol):
    """What is kept of one episode for Red's view."""

    order: SmallPerHost = _own_positions()  # (13,) the host at each position
    place: SmallPerHost = _own_positions()  # (13,) the position of each host
    named: HostSet = 1 << USER0  # hosts that stand at their own position
    addresses: HostSet = 1 << USER0  # known after the step before
    revealed: HostSet = 0  # its address was told by an escalation, not by a sweep
    sessions: HostSet = 1 << USER0  # Red was told of a session, and not that it is gone
    privileged: HostSet = 1 << USER0  # the same of a privileged one
    lost: HostSet = 0  # an escalation or impact found no session where Red had one
    swept: HostSet = 0  # subnets whose sweep succeeded, a bit each
    failures: SmallPerHost = _per_host(0)  # exploits that failed since the last scan or success
    since_scan: SmallPerHost = _per_host(_NEVER)  # (13,) steps since a scan with a result
    since_exploit: SmallPerHost = _per_host(_NEVER)  # (13,) steps since a successful exploit


RED_MEMORY_DTYPE: Final = record_dtype(RedMemory)
INITIAL_RED_MEMORY: Final = initial_record(RedMemory)

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
RED_VIEW_LAYOUT: Final = (
    Entry(
        "hosts",
        _PER_HOST * NUM_HOSTS,
        "per position: " + "; ".join(meaning for _, meaning in _HOST_BITS),
    ),
    Entry("subnets", NUM_SUBNETS, "known"),
    Entry("swept", NUM_SUBNETS, "swept with success"),
    Entry("ot", 1, "the OT service is known"),
    Entry("action", len(RedAction), "what the last action was"),
    Entry("success", len(Success), "its result: false, true, unknown"),
    Entry("empty", 1, "it was a scan without a result"),
    Entry("clock", len(CLOCK), "so many steps were played"),
)
RED_VIEW_SIZE: Final = sum(entry.size for entry in RED_VIEW_LAYOUT)


@rule
def begin_red(memories: NDArray[np.void], k: int, env: State, settings: Settings) -> None:
    """Begins an episode of environment k: nothing is known, the order of positions is drawn."""
    memories[k] = INITIAL_RED_MEMORY[0]
    memory: RedMemory = memories[k]
    counter = _FIRST_ORDER_WORD
    for subnet in range(NUM_SUBNETS):
        left: int = np.int64(SUBNET_HOSTS[subnet]) & ~memory.named  # type: ignore[assignment]
        while left:  # Fisher-Yates among those that have no position yet
            here = first(left)
            words = philox(counter, env.episode, env.index, settings.key[0], settings.key[1])
            counter += 1
            swap(memory, here, nth(left, words.target))
            left &= left - 1


@rule
def nth(members: int, draw: int) -> int:
    """Returns a member of a set that is not empty, by a random word."""
    number = 0
    rest = members
    while rest:
        rest &= rest - 1
        number += 1
    for _ in range(draw * number >> 32):
        members &= members - 1
    return first(members)


@rule
def swap(memory: RedMemory, a: int, b: int) -> None:
    """Lets the hosts at two positions change places."""
    at_a, at_b = memory.order[a], memory.order[b]
    memory.order[a], memory.order[b] = at_b, at_a
    memory.place[at_a], memory.place[at_b] = b, a


@rule
def remember_red(memory: RedMemory, env: State) -> None:
    """Takes in a step: what Red did, and what it was told then."""
    for host in range(NUM_HOSTS):
        memory.since_scan[host] = min(memory.since_scan[host] + 1, _NEVER)
        memory.since_exploit[host] = min(memory.since_exploit[host] + 1, _NEVER)
    kind, target, success = env.red_action, env.red_target, env.red_success
    if kind == _SWEEP:
        if success == _TRUE:
            memory.swept |= 1 << target
    elif kind == _SCAN:
        if env.red_outcome != _NO_ROUTE:
            memory.since_scan[target] = 0
            memory.failures[target] = 0
    elif kind == _EXPLOIT:
        remember_exploit(memory, env, target)
    elif kind == _ESCALATE:
        remember_escalation(memory, env, target)
    elif kind == _IMPACT and success == _FALSE and env.ot_known and target == OP_SERVER0:
        remember_loss(memory, target)
    memory.addresses = env.addresses_known


@rule
def remember_exploit(memory: RedMemory, env: State, host: int) -> None:
    """Notes the session that an exploit gave, or its failure."""
    if env.red_success != _TRUE:
        memory.failures[host] = min(memory.failures[host] + 1, _FAILURES)
        return
    memory.failures[host] = 0
    memory.since_exploit[host] = 0
    memory.sessions |= 1 << host
    if SERVICE_YIELD[host, env.red_exploit] == _PRIVILEGED_SHELL:
        memory.privileged |= 1 << host
    if not (memory.named >> host & 1):
        memory.named |= 1 << host
        swap(memory, host, memory.place[host])


@rule
def remember_escalation(memory: RedMemory, env: State, host: int) -> None:
    """Notes a privileged session and the address it told of, or that there is no session."""
    if env.red_success != _TRUE:
        remember_loss(memory, host)
        return
    memory.sessions |= 1 << host
    memory.privileged |= 1 << host
    memory.revealed |= env.addresses_known & ~memory.addresses


@rule
def remember_loss(memory: RedMemory, host: int) -> None:
    """Notes that there is no session on a host."""
    memory.lost |= memory.sessions & 1 << host
    memory.sessions &= ~(1 << host)
    memory.privileged &= ~(1 << host)


@rule
def host_bits(memory: RedMemory, env: State, host: int) -> int:
    """Returns the bits of a host in the order of the layout."""
    bits = (
        np.int64(env.addresses_known >> host & 1)
        | (env.names_known >> host & 1) << 1
        | (env.ports_known >> host & 1) << 2
    )
    at = 3
    for exploit in range(NUM_EXPLOITS):
        bits |= np.int64(env.ports[host] & EXPLOIT_PORT[exploit] != 0) << at
        at += 1
    bits |= (memory.revealed >> host & 1) << at
    bits |= (memory.sessions >> host & 1) << (at + 1)
    bits |= (memory.privileged >> host & 1) << (at + 2)
    bits |= (memory.lost >> host & 1) << (at + 3)
    at += 4
    for number in range(1, _FAILURES + 1):
        bits |= np.int64(memory.failures[host] >= number) << at
        at += 1
    for steps in _RECENT:
        bits |= np.int64(memory.since_scan[host] < steps) << at
        bits |= np.int64(memory.since_exploit[host] < steps) << (at + len(_RECENT))
        at += 1
    at += len(_RECENT)
    is_target = env.red_target == host and env.red_action > _SWEEP
    return bits | np.int64(is_target) << at  # type: ignore[return-value]


@rule
def write_red_view(memory: RedMemory, env: State, rows: NDArray[np.int8], k: int) -> None:
    """Writes row k of Red's view, (n, RED_VIEW_SIZE)."""
    at = 0
    for position in range(NUM_HOSTS):
        bits = host_bits(memory, env, memory.order[position])
        for i in range(_PER_HOST):
            rows[k, at + i] = bits >> i & 1
        at += _PER_HOST
    for subnet in range(NUM_SUBNETS):
        rows[k, at + subnet] = env.subnets_known >> subnet & 1
        rows[k, at + NUM_SUBNETS + subnet] = memory.swept >> subnet & 1
    at += 2 * NUM_SUBNETS
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
def write_legal(memory: RedMemory, env: State, rows: NDArray[np.bool_], k: int) -> None:
    """Writes row k of Red's legal actions, (n, NUM_RED_ACTIONS), by positions."""
    legal = legal_red_actions(env)
    for action in range(FIRST_ON_HOST):
        rows[k, action] = legal >> action & 1
    for first_action in range(FIRST_ON_HOST, NUM_RED_ACTIONS, NUM_HOSTS):
        for position in range(NUM_HOSTS):
            host = memory.order[position]
            rows[k, first_action + position] = legal >> (first_action + host) & 1


def actions_on_hosts(actions: NDArray[np.int64], memories: NDArray[np.void]) -> NDArray[np.int64]:
    """Returns (n,) red actions on hosts for actions (n,) on positions."""
    on_host = actions >= FIRST_ON_HOST
    position = (actions - FIRST_ON_HOST) % NUM_HOSTS
    host = memories["order"][np.arange(len(actions)), np.where(on_host, position, 0)]
    return np.where(on_host, actions - position + host, actions)
