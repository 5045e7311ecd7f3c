"""Blue's actions. All 145 are always legal; each works on one host."""

from workflow_rl.jit import rule
from workflow_rl.scenario.actions import ACTION_HOST, ACTION_KIND, ActionKind
from workflow_rl.scenario.tables import (
    DECOY_REFUSED_BY,
    OP_SERVER0,
    RESTORE_COST_TENTHS,
    USER0,
)
from workflow_rl.sim.network import open_ports
from workflow_rl.sim.state import NOBODY, Mark, State, Success
from workflow_rl.sim.table import mark, mark_of

_MONITOR = int(ActionKind.MONITOR)
_ANALYSE = int(ActionKind.ANALYSE)
_REMOVE = int(ActionKind.REMOVE)
_RESTORE = int(ActionKind.RESTORE)
_FIRST_DECOY = int(ActionKind.FIRST_DECOY)
_TRUE, _FALSE, _UNKNOWN = int(Success.TRUE), int(Success.FALSE), int(Success.UNKNOWN)
_MARK_NO, _MARK_UNKNOWN = int(Mark.NO), int(Mark.UNKNOWN)


@rule
def blue_acts(env: State, action: int) -> None:
    """Executes Blue's action on the state."""
    kind = ACTION_KIND[action]
    host = ACTION_HOST[action]
    env.blue_action = action
    env.action_cost = 0
    env.decoy_placed = NOBODY
    env.malware_found = NOBODY
    env.blue_success = _TRUE
    if kind >= _FIRST_DECOY:
        place_decoy(env, host, kind - _FIRST_DECOY)
    elif kind == _RESTORE:
        restore(env, host)
    elif kind == _REMOVE:
        remove(env, host)
    elif kind == _ANALYSE:
        analyse(env, host)
    elif kind != _MONITOR:
        env.blue_success = _UNKNOWN  # Sleep; Monitor differs from it in nothing else


@rule
def analyse(env: State, host: int) -> None:
    """Looks for malware files as they are before Red acts; the mark changes when Blue observes."""
    if env.malware >> host & 1:
        env.malware_found = host


@rule
def remove(env: State, host: int) -> None:
    """Kills the user-level shells Blue's monitor has seen; a marked host becomes Unknown.

    Reference quirk: it reports success and marks the host whether or not anything was killed.
    """
    env.removable &= ~(1 << host)
    env.more_removable[host] = 0
    if mark_of(env, host) != _MARK_NO:
        mark(env, host, _MARK_UNKNOWN)


@rule
def restore(env: State, host: int) -> None:
    """Brings the host back to its initial state, at a cost.

    Red's session 0 on User0 is part of the backup and survives. Red's memory is not touched.
    Reference quirk: the OT service comes back, and can never be stopped again in this episode.
    """
    others = ~(1 << host)
    env.privileged &= others | 1 << USER0
    env.removable &= others
    env.persistent &= others
    env.more_removable[host] = 0
    env.more_persistent[host] = 0
    env.malware &= others
    env.decoys[host] = 0
    env.restored |= 1 << host
    mark(env, host, _MARK_NO)
    env.action_cost = -RESTORE_COST_TENTHS
    if host == OP_SERVER0:
        env.ot_running = True


@rule
def decoy_is_possible(host: int, used_ports: int, decoy: int) -> bool:
    """Says whether a decoy can be placed: it suits the system and the port it checks is free."""
    return not (DECOY_REFUSED_BY[host, decoy] & used_ports)


@rule
def place_decoy(env: State, host: int, decoy: int) -> None:
    """Deploys a decoy, if possible."""
    if decoy_is_possible(host, open_ports(env, host), decoy):
        env.decoys[host] |= 1 << decoy
        env.decoy_placed = host
    else:
        env.blue_success = _FALSE


@rule
def decoys_changed(env: State) -> bool:
    """Says whether Blue's action of this step could have changed its host's decoys.

    It placed one, or was a Restore, which takes all of them away.
    """
    return env.decoy_placed != NOBODY or ACTION_KIND[env.blue_action] == _RESTORE
