"""B_line: a fixed chain from a host beside the foothold over two pivots to a target.

On networks where CybORG's B_line ends the game by an exception, it sleeps from there on.
"""

import numpy as np

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import NOBODY, UNTOLD, Tables
from workflow_rl.sim.draws import choose
from workflow_rl.sim.red_sleep import raise_and_sleep
from workflow_rl.sim.state import Outcome, Raised, RedAction, State, Success

_HOME = -1  # the zone that it begins with
_FIRST = -2  # the host drawn for this episode
_SECOND = -3  # the pivot it leads to
_ZONE = -4  # that pivot's zone
_THIRD = -5  # the third host of that zone
_TARGET = -6  # whose OT service it stops

_CHAIN = (  # action, target, where to go on after a failure
    (RedAction.DISCOVER_REMOTE_SYSTEMS, _HOME, 0),
    (RedAction.DISCOVER_NETWORK_SERVICES, _FIRST, 1),
    (RedAction.EXPLOIT, _FIRST, 2),
    (RedAction.PRIVILEGE_ESCALATE, _FIRST, 2),
    (RedAction.DISCOVER_NETWORK_SERVICES, _SECOND, 2),
    (RedAction.EXPLOIT, _SECOND, 2),
    (RedAction.PRIVILEGE_ESCALATE, _SECOND, 5),
    (RedAction.DISCOVER_REMOTE_SYSTEMS, _ZONE, 5),
    (RedAction.DISCOVER_NETWORK_SERVICES, _THIRD, 5),
    (RedAction.EXPLOIT, _THIRD, 5),
    (RedAction.PRIVILEGE_ESCALATE, _THIRD, 9),
    (RedAction.DISCOVER_NETWORK_SERVICES, _TARGET, 9),
    (RedAction.EXPLOIT, _TARGET, 9),
    (RedAction.PRIVILEGE_ESCALATE, _TARGET, 12),
    (RedAction.IMPACT, _TARGET, 13),
)
_ACTION = np.array([action for action, _, _ in _CHAIN], dtype=np.int8)
_WHOM = np.array([target for _, target, _ in _CHAIN], dtype=np.int8)
_AFTER_FAILURE = np.array([index for _, _, index in _CHAIN], dtype=np.int8)
_LAST = len(_CHAIN) - 1
_SCAN_FIRST = 1
_EXPLOIT_SECOND, _EXPLOIT_THIRD, _EXPLOIT_TARGET = 5, 9, 12
_SCAN_TARGET = 11
_EXPLOIT = int(RedAction.EXPLOIT)
_TRUE = int(Success.TRUE)
_NO_ROUTE = int(Outcome.NO_ROUTE)
_NOTHING = int(Raised.NOTHING)
_KEY_ERROR, _INDEX_ERROR = int(Raised.KEY_ERROR), int(Raised.INDEX_ERROR)


@rule
def bline_chooses(env: State, net: Tables, draw: int) -> None:
    """Moves along the chain by the last result and names the next action.

    Reference quirk: if the scan of the target found nothing (its zone was out of reach, yet it
    reported success), the chain starts again at the scan of the first host, until a scan with
    a result has been followed by an exploit once.
    """
    if env.red_success == _TRUE:
        index = min(env.bline_index + 1, _LAST)
    else:
        index = _AFTER_FAILURE[env.bline_index]
    is_new = not env.bline_reached >> index & 1
    found_nothing = env.red_outcome == _NO_ROUTE
    if index == _EXPLOIT_TARGET and is_new and found_nothing:
        index = _SCAN_FIRST
        is_new = False
    if is_new:
        raised = missing(env, net, index, found_nothing)
        if raised != _NOTHING:
            raise_and_sleep(env, raised)
            return
        env.bline_reached |= 1 << index
    if env.bline_target == NOBODY and index == _SCAN_FIRST:
        env.bline_target = choose(draw, net.bline_first)
    env.bline_index = index
    env.red_action = _ACTION[index]
    env.red_target = whom_of(env, net, _WHOM[index])


@rule
def missing(env: State, net: Tables, index: int, found_nothing: bool) -> int:
    """Returns the exception by which CybORG's agent ends when a place is first reached."""
    if index == 0:
        return _KEY_ERROR if net.bline_zone == NOBODY else _NOTHING
    if index == _SCAN_FIRST:
        return _NOTHING if net.bline_first else _INDEX_ERROR
    if index in (_EXPLOIT_SECOND, _EXPLOIT_THIRD) and found_nothing:
        return _INDEX_ERROR
    whom = _WHOM[index]
    if whom in (_HOME, _FIRST):
        return _NOTHING
    second = net.bline_second[env.bline_target]
    if second == NOBODY:
        return _INDEX_ERROR
    if second == UNTOLD or (whom != _SECOND and net.bline_second_zone[second] == NOBODY):
        return _KEY_ERROR
    if whom in (_SECOND, _ZONE):
        return _NOTHING
    third = net.bline_third[net.bline_second_zone[second]]
    if third == NOBODY:
        return _INDEX_ERROR
    if whom == _TARGET and not net.bline_told >> third & 1:
        return _KEY_ERROR
    return _NOTHING


@rule
def places_without_surprise(env: State, net: Tables, found: int) -> int:
    """Returns the places of the chain where it matters no more whether B_line has been there.

    It goes on from them, whatever a scan before them finds; its first host has been drawn.

    Args:
        env: the environment.
        net: the network.
        found: the hosts of which a scan always finds something.
    """
    places = 0
    for index in range(_LAST + 1):
        if missing(env, net, index, False) == _NOTHING and (
            _ACTION[index] != _EXPLOIT or found >> whom_of(env, net, _WHOM[index]) & 1
        ):
            places |= 1 << index
    return places


@rule
def whom_of(env: State, net: Tables, whom: int) -> int:
    """Returns the zone or host that an action of the chain is aimed at."""
    if whom == _HOME:
        return net.bline_zone
    if whom == _FIRST:
        return env.bline_target
    if whom == _TARGET:
        return net.bline_target
    second: int = net.bline_second[env.bline_target]
    if whom == _SECOND:
        return second
    zone: int = net.bline_second_zone[second]
    third: int = net.bline_third[zone]
    return zone if whom == _ZONE else third
