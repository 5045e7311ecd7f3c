"""What Blue sees: the step's activity, its own marks, and the vectors made of them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.images import NUM_DECOYS
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.scenario2 import CHALLENGE_SIZE, HOST_NAMES
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.bits import Written, append_bits, end_bits
from workflow_rl.sim.blue import decoy_is_possible, misinform_options
from workflow_rl.sim.draws import count, first
from workflow_rl.sim.memory import write_memory, write_recall
from workflow_rl.sim.network import open_ports, red_hosts
from workflow_rl.sim.state import Activity, Mark, RedAgent, Settings, State
from workflow_rl.sim.table import activity_at, clear_activity, mark, show

# The cardiff observation tracks scans of all hosts but the three Op hosts.
SCAN_SLOTS: Final = np.array(
    [h for h, name in enumerate(HOST_NAMES) if not name.startswith("Op_Host")], dtype=np.int8
)

_NONE, _SCAN, _EXPLOIT = int(Activity.NONE), int(Activity.SCAN), int(Activity.EXPLOIT)
_USER, _PRIVILEGED = int(Mark.USER), int(Mark.PRIVILEGED)
_NUM_SLOTS = len(SCAN_SLOTS)
NUM_SHOWN_REDS: Final = int(RedAgent.SLEEP) + 1  # CybORG's own, for `truth`


@rule
def monitor(env: State, net: Tables, cardiff: bool) -> None:
    """Collects and clears the step's events and turns them into activities and marks.

    Blue's Remove or Restore has changed the mark already; a shown exploit overrides that, and a
    file found by Analyse overrides both. What happens on hosts that are not watched is not seen.
    """
    clear_activity(env)
    hosts = env.event_hosts
    while hosts:
        host = first(hosts)
        hosts &= hosts - 1
        place = net.slot[host]
        if net.watched >> host & 1:
            shown = classify(env, host, cardiff)
            show(env, place, shown)
            if shown == _EXPLOIT:
                mark(env, place, _USER)  # Reference quirk: even if it was Privileged
        env.event_count[host] = 0
        env.event_ports[host] = 0
    env.event_hosts = 0
    env.shell_events = 0
    if env.malware_found != NOBODY:
        mark(env, net.slot[env.malware_found], _PRIVILEGED)


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
        if activity_at(env.table, host) == _SCAN:
            env.scans_seen |= ONE << host
            env.scan_latest = host
            return


@rule
def write_observation(
    env: State, net: Tables, settings: Settings, rows: NDArray[np.int8], k: int
) -> None:
    """Writes row k of the observation that is played with."""
    if settings.memory:
        written = write_memory(env.memory, net, env.table, rows, k)
        if settings.recall:
            written = write_recall(env.memory, net, rows, k, written)
        if settings.truth:
            written = write_truth(env, net, rows, k, written)
        end_bits(rows, k, written)
    else:
        written = Written(0 * ONE, 0, 0)
        for word in range(len(env.table)):
            written = append_bits(rows, k, written, env.table[word], net.host_bits[word])
        end_bits(rows, k, written)
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
def write_truth(
    env: State, net: Tables, rows: NDArray[np.int8], k: int, written: Written
) -> Written:
    """Writes where Red is, which OT services are down, and who Red is: for `truth` only."""
    held = red_hosts(env)
    for host in range(net.num_hosts):
        access = held >> host & 1 | (env.privileged >> host & 1) << 1
        written = append_bits(rows, k, written, access, 2)
    written = append_bits(rows, k, written, ONE if env.ot_down else 0 * ONE, 1)
    agent = env.red_agent
    shown = ONE << agent if agent < NUM_SHOWN_REDS else 0 * ONE
    return append_bits(rows, k, written, shown, NUM_SHOWN_REDS)


@rule
def write_red_access(env: State, net: Tables, out: NDArray[np.int8], k: int) -> None:
    """Writes Red's true access to each host: 0 none, 1 user, 2 privileged."""
    held = red_hosts(env)
    privileged = env.privileged
    for host in range(net.num_hosts):
        out[k, host] = (held >> host & 1) + (privileged >> host & 1)


@rule
def write_decoy_mask(env: State, net: Tables, host: int, out: NDArray[np.bool_], k: int) -> None:
    """Writes, for the host's decoy actions, whether they would be accepted."""
    used_ports = open_ports(env, net, host)
    has_agent = net.agents >> host & 1 != 0
    for decoy in range(NUM_DECOYS):
        action = net.decoy_action[host, decoy]
        if action != NOBODY:
            out[k, action] = has_agent and decoy_is_possible(net, host, used_ports, decoy)
    if net.misinform_action[host] != NOBODY:
        fits = misinform_options(used_ports) != 0
        out[k, net.misinform_action[host]] = has_agent and fits
