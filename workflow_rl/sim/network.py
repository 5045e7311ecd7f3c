"""What holds on the network at this moment: sessions, routes, open ports, and recorded events."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.images import DECOY_NAMES, PORTS_OF_DECOYS
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.draws import count
from workflow_rl.sim.state import State

_VSFTPD = 1 << DECOY_NAMES.index("DecoyVsftpd")


@rule
def red_hosts(env: State) -> int:
    """Returns the hosts on which Red has a session of any level."""
    return env.privileged | env.removable | env.persistent


def held_hosts(states: NDArray[np.void]) -> NDArray[np.int64]:
    """Returns `red_hosts` of records of a State, in their shape (...)."""
    held: NDArray[np.int64] = states["privileged"] | states["removable"] | states["persistent"]
    return held


@rule
def zone_is_reached(env: State, net: Tables, zone: int) -> bool:
    """Says whether Red has a route to the zone: it holds one of the hosts that open it."""
    opened: bool = red_hosts(env) & net.opened_by[zone] != 0
    return opened


@rule
def is_reachable(env: State, net: Tables, host: int) -> bool:
    """Says whether Red, always acting from its foothold, has a route to the host."""
    return zone_is_reached(env, net, net.zone[host])


@rule
def open_ports(env: State, net: Tables, host: int) -> int:
    """Returns the ports on which the host listens, decoys included."""
    ports: int = net.ports[host] | PORTS_OF_DECOYS[env.decoys[host]]
    return ports


@rule
def record_events(env: State, host: int, ports: int, number: int) -> None:
    """Records connections to the given local ports for Blue's monitor."""
    env.event_hosts |= ONE << host
    env.event_count[host] += number
    env.event_ports[host] |= ports


@rule
def record_shell_event(env: State, host: int) -> None:
    """Records a connection out to port 4444, from an ephemeral local port of its own."""
    env.event_hosts |= ONE << host
    env.event_count[host] += 1
    env.shell_events |= ONE << host


@rule
def record_scan(env: State, net: Tables, host: int, passing: int) -> None:
    """Records a port scan: one connection for each listening process on a port that passes."""
    originals: int = net.ports[host] & passing
    number = count(originals) + count(net.doubled[host] & passing)
    decoys = env.decoys[host]
    ports = originals
    while decoys:
        opened: int = PORTS_OF_DECOYS[decoys & -decoys] & passing
        number += count(opened)
        ports |= opened
        decoys &= decoys - 1
    if env.more_vsftpd[host]:
        number += env.more_vsftpd[host] * count(PORTS_OF_DECOYS[_VSFTPD] & passing)
    if number:
        record_events(env, host, ports, number)
