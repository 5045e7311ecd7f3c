"""Blue's actions; each works on one host."""

from workflow_rl.jit import rule
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.images import (
    DECOY_NAMES,
    DECOY_NEEDS,
    INVALID_ACTION_TENTHS,
    MISINFORM_CANDIDATES,
    RESTORE_COST_TENTHS,
)
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import choose
from workflow_rl.sim.network import open_ports
from workflow_rl.sim.state import Mark, State, Success
from workflow_rl.sim.table import mark, mark_at

_MONITOR = int(ActionKind.MONITOR)
_ANALYSE = int(ActionKind.ANALYSE)
_REMOVE = int(ActionKind.REMOVE)
_RESTORE = int(ActionKind.RESTORE)
_FIRST_DECOY = int(ActionKind.FIRST_DECOY)
_MISINFORM = int(ActionKind.MISINFORM)
_TRUE, _FALSE, _UNKNOWN = int(Success.TRUE), int(Success.FALSE), int(Success.UNKNOWN)
_MARK_NO, _MARK_UNKNOWN = int(Mark.NO), int(Mark.UNKNOWN)
_VSFTPD = DECOY_NAMES.index("DecoyVsftpd")
_MOST_COUNTED = 127


@rule
def blue_acts(env: State, net: Tables, action: int, draw: int) -> None:
    """Executes Blue's action on the state."""
    kind = net.action_kind[action]
    host = net.action_host[action]
    env.blue_action = action
    env.action_cost = 0
    env.decoy_placed = NOBODY
    env.malware_found = NOBODY
    env.blue_success = _TRUE
    env.blue_valid = True
    if host != NOBODY and not net.observed >> host & 1:
        env.blue_success = _FALSE
        env.blue_valid = False
        env.action_cost = -INVALID_ACTION_TENTHS
    elif host != NOBODY and not net.agents >> host & 1:
        act_without_agent(env, net, kind, host)
    elif kind == _MISINFORM:
        misinform(env, net, host, draw)
    elif kind >= _FIRST_DECOY:
        place_decoy(env, net, host, kind - _FIRST_DECOY)
    elif kind == _RESTORE:
        restore(env, net, host)
    elif kind == _REMOVE:
        remove(env, net, host)
    elif kind == _ANALYSE:
        analyse(env, host)
    elif kind != _MONITOR:
        env.blue_success = _UNKNOWN  # Sleep; Monitor differs from it in nothing else


@rule
def act_without_agent(env: State, net: Tables, kind: int, host: int) -> None:
    """Does nothing on a host without Blue's agent.

    Reference quirk: a Restore costs as elsewhere, and takes Blue's mark away.
    """
    env.blue_success = _FALSE
    if kind == _RESTORE:
        mark(env, net.slot[host], _MARK_NO)
        env.action_cost = -RESTORE_COST_TENTHS


@rule
def analyse(env: State, host: int) -> None:
    """Looks for malware files as they are before Red acts; the mark changes when Blue observes."""
    if env.malware >> host & 1:
        env.malware_found = host


@rule
def remove(env: State, net: Tables, host: int) -> None:
    """Kills the user-level shells Blue's monitor has seen; a marked host becomes Unknown.

    Reference quirk: it reports success and marks the host whether or not anything was killed.
    """
    env.removable &= ~(ONE << host)
    env.more_removable[host] = 0
    place = net.slot[host]
    if mark_at(env.table, place) != _MARK_NO:
        mark(env, place, _MARK_UNKNOWN)


@rule
def restore(env: State, net: Tables, host: int) -> None:
    """Brings the host back to its initial state, at a cost.

    Red's session 0 on its foothold is part of the backup and survives. Red's memory is not touched.
    Reference quirk: the OT service comes back, and can never be stopped again in this episode.
    """
    others = ~(ONE << host)
    env.privileged &= others | ONE << net.foothold
    env.foothold_root = env.foothold_root and host != net.foothold
    env.removable &= others
    env.persistent &= others
    env.more_removable[host] = 0
    env.more_persistent[host] = 0
    env.malware &= others
    env.decoys[host] = 0
    env.more_vsftpd[host] = 0
    env.restored |= ONE << host
    env.ot_down &= others
    mark(env, net.slot[host], _MARK_NO)
    env.action_cost = -RESTORE_COST_TENTHS


@rule
def decoy_is_possible(net: Tables, host: int, used_ports: int, decoy: int) -> bool:
    """Says whether a decoy can be placed: it suits the system and the port it checks is free."""
    return not (net.refuses[host, decoy] & used_ports)


@rule
def place_decoy(env: State, net: Tables, host: int, decoy: int) -> None:
    """Deploys a decoy, if possible."""
    if decoy_is_possible(net, host, open_ports(env, net, host), decoy):
        if decoy == _VSFTPD and env.decoys[host] >> _VSFTPD & 1:
            env.more_vsftpd[host] = min(env.more_vsftpd[host] + 1, _MOST_COUNTED)
        env.decoys[host] |= 1 << decoy
        env.decoy_placed = host
    else:
        env.blue_success = _FALSE


@rule
def misinform_options(used_ports: int) -> int:
    """Returns the decoys that Misinform places one of on a host with these ports in use."""
    fit = 0
    for decoy in MISINFORM_CANDIDATES:
        if not (DECOY_NEEDS[decoy] & used_ports):
            fit |= 1 << decoy
    return fit


@rule
def misinform(env: State, net: Tables, host: int, draw: int) -> None:
    """Deploys one of the decoys whose port is free, whatever the operating system."""
    fit = misinform_options(open_ports(env, net, host))
    if fit:
        env.decoys[host] |= 1 << choose(draw, fit)
        env.decoy_placed = host
    else:
        env.blue_success = _FALSE


@rule
def decoys_changed(env: State, net: Tables) -> bool:
    """Says whether Blue's action of this step could have changed its host's decoys.

    It placed one, or was a Restore, which takes all of them away.
    """
    return env.decoy_placed != NOBODY or net.action_kind[env.blue_action] == _RESTORE
