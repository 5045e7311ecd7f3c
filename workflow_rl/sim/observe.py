"""What Blue sees: the step's activity, its own marks, and the vectors made of them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.actions import DECOY_ACTIONS
from workflow_rl.scenario.tables import HOST_NAMES, NUM_DECOYS, NUM_HOSTS
from workflow_rl.sim.bits import write_bits
from workflow_rl.sim.blue import decoy_is_possible
from workflow_rl.sim.draws import count, first
from workflow_rl.sim.memory import MEMORY_SIZE, TRUTH_BITS, write_memory, write_recall
from workflow_rl.sim.network import open_ports, red_hosts
from workflow_rl.sim.state import NOBODY, Activity, Mark, Settings, State
from workflow_rl.sim.table import activity, clear_activity, mark, show

CHALLENGE_SIZE: Final = 4 * NUM_HOSTS
# The cardiff observation tracks scans of all hosts but the three Op hosts.
SCAN_SLOTS: Final = np.array(
    [h for h, name in enumerate(HOST_NAMES) if not name.startswith("Op_Host")], dtype=np.int8
)

_NONE, _SCAN, _EXPLOIT = int(Activity.NONE), int(Activity.SCAN), int(Activity.EXPLOIT)
_USER, _PRIVILEGED = int(Mark.USER), int(Mark.PRIVILEGED)
_NUM_SLOTS = len(SCAN_SLOTS)


@rule
def monitor(env: State, cardiff: bool) -> None:
    """Collects and clears the step's events and turns them into activities and marks.

    Blue's Remove or Restore has changed the mark already; a shown exploit overrides that, and a
    file found by Analyse overrides both.
    """
    clear_activity(env)
    hosts = env.event_hosts
    while hosts:
        host = first(hosts)
        hosts &= hosts - 1
        shown = classify(env, host, cardiff)
        show(env, host, shown)
        if shown == _EXPLOIT:
            mark(env, host, _USER)  # Reference quirk: even if it was Privileged
        env.event_count[host] = 0
        env.event_ports[host] = 0
    env.event_hosts = 0
    env.shell_events = 0
    if env.malware_found != NOBODY:
        mark(env, env.malware_found, _PRIVILEGED)


@rule
def classify(env: State, host: int, cardiff: bool) -> int:
    """Returns how the events on a host are shown; there is at least one.

    Reference quirk: a decoy placed in this step counts as one more event without a port, and
    hides whatever would otherwise be shown as a scan; the cardiff observation does not hide it.
    """
    placed = env.decoy_placed == host
    shell = env.shell_events >> host & 1
    events = env.event_count[host] + placed
    local_ports = count(env.event_ports[host]) + shell
    if local_ports >= 3:
        return _SCAN
    if shell:
        return _EXPLOIT
    if events >= 3 and local_ports == 1:
        return _EXPLOIT
    if placed and not cardiff:
        return _NONE
    return _SCAN


@rule
def note_scans(env: State) -> None:
    """Cardiff observation: the first tracked host that shows a scan becomes the latest one."""
    for slot in range(_NUM_SLOTS):
        host = SCAN_SLOTS[slot]
        if activity(env, host) == _SCAN:
            env.scans_seen |= 1 << host
            env.scan_latest = host
            return


@rule
def write_observation(env: State, settings: Settings, rows: NDArray[np.int8], k: int) -> None:
    """Writes row k of the observation that is played with."""
    if settings.memory:
        write_memory(env.memory, env.table, rows, k)
        if settings.recall:
            write_recall(env.memory, rows, k)
        if settings.truth:
            write_bits(rows, k, MEMORY_SIZE, true_bits(env), TRUTH_BITS)
    else:
        write_bits(rows, k, 0, env.table, CHALLENGE_SIZE)
        if settings.cardiff:
            write_scan_states(env, rows, k)


@rule
def write_scan_states(env: State, values: NDArray[np.int8], k: int) -> None:
    """Writes each tracked host's scan state behind the table, for cardiff.

    It is 2 for the latest scan, 1 for one seen earlier, 0 for none.
    """
    for slot in range(_NUM_SLOTS):
        host = SCAN_SLOTS[slot]
        seen = env.scans_seen >> host & 1
        values[k, CHALLENGE_SIZE + slot] = seen + (env.scan_latest == host)


@rule
def true_bits(env: State) -> int:
    """Returns where Red is and who: for the observation `truth` only."""
    held = red_hosts(env)
    bits = 0
    for host in range(NUM_HOSTS):
        bits |= (held >> host & 1 | (env.privileged >> host & 1) << 1) << 2 * host
    if not env.ot_running:
        bits |= 1 << 2 * NUM_HOSTS
    return bits | 1 << (2 * NUM_HOSTS + 1 + env.red_agent)


@rule
def write_red_access(env: State, out: NDArray[np.int8], k: int) -> None:
    """Writes Red's true access to each host: 0 none, 1 user, 2 privileged."""
    held = red_hosts(env)
    privileged = env.privileged
    for host in range(NUM_HOSTS):
        out[k, host] = (held >> host & 1) + (privileged >> host & 1)


@rule
def write_decoy_mask(env: State, host: int, out: NDArray[np.bool_], k: int) -> None:
    """Writes, for the host's eight decoy actions, whether they would be accepted."""
    used_ports = open_ports(env, host)
    for decoy in range(NUM_DECOYS):
        out[k, DECOY_ACTIONS[host, decoy]] = decoy_is_possible(host, used_ports, decoy)
