"""What holds on the network at this moment: sessions, routes, open ports, and recorded events."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    ENTERPRISE_FOOTHOLDS,
    HOST_PORTS,
    OPERATIONAL_HOSTS,
    PORTS_OF_DECOYS,
)
from workflow_rl.sim.draws import count
from workflow_rl.sim.state import State


@rule
def red_hosts(env: State) -> int:
    """Returns the hosts on which Red has a session of any level."""
    return env.privileged | env.removable | env.persistent


def held_hosts(states: NDArray[np.void]) -> NDArray[np.int16]:
    """Returns `red_hosts` of records of STATE_DTYPE, in their shape (...)."""
    held: NDArray[np.int16] = states["privileged"] | states["removable"] | states["persistent"]
    return held


@rule
def operational_is_reachable(env: State) -> bool:
    """Says whether Red can reach Operational: it needs a session on an Enterprise host."""
    return red_hosts(env) & ENTERPRISE_FOOTHOLDS != 0


@rule
def is_reachable(env: State, host: int) -> bool:
    """Says whether Red, always acting from User0, has a route to the host."""
    return not (OPERATIONAL_HOSTS >> host & 1) or operational_is_reachable(env)


@rule
def open_ports(env: State, host: int) -> int:
    """Returns the ports on which the host listens, decoys included."""
    ports: int = HOST_PORTS[host] | PORTS_OF_DECOYS[env.decoys[host]]
    return ports


@rule
def record_events(env: State, host: int, ports: int, number: int) -> None:
    """Records connections to the given local ports for Blue's monitor."""
    env.event_hosts |= 1 << host
    env.event_count[host] += number
    env.event_ports[host] |= ports


@rule
def record_shell_event(env: State, host: int) -> None:
    """Records a connection out to port 4444, from an ephemeral local port of its own."""
    env.event_hosts |= 1 << host
    env.event_count[host] += 1
    env.shell_events |= 1 << host


@rule
def record_scan(env: State, host: int) -> None:
    """Records a port scan: one connection for each listening port."""
    ports = open_ports(env, host)
    record_events(env, host, ports, count(ports))
