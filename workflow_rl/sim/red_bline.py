"""B_line: a fixed chain from a user host over Enterprise to Op_Server0."""

import numpy as np

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    BLINE_FIRST_TARGETS,
    ENTERPRISE2,
    OP_SERVER0,
    REVEALS,
    Subnet,
)
from workflow_rl.sim.draws import choose
from workflow_rl.sim.state import NOBODY, Outcome, RedAction, State, Success

_FIRST = -1  # the user host drawn for this episode
_SECOND = -2  # the Enterprise host it leads to

_CHAIN = (  # action, target, where to go on after a failure
    (RedAction.DISCOVER_REMOTE_SYSTEMS, Subnet.USER, 0),
    (RedAction.DISCOVER_NETWORK_SERVICES, _FIRST, 1),
    (RedAction.EXPLOIT, _FIRST, 2),
    (RedAction.PRIVILEGE_ESCALATE, _FIRST, 2),
    (RedAction.DISCOVER_NETWORK_SERVICES, _SECOND, 2),
    (RedAction.EXPLOIT, _SECOND, 2),
    (RedAction.PRIVILEGE_ESCALATE, _SECOND, 5),
    (RedAction.DISCOVER_REMOTE_SYSTEMS, Subnet.ENTERPRISE, 5),
    (RedAction.DISCOVER_NETWORK_SERVICES, ENTERPRISE2, 5),
    (RedAction.EXPLOIT, ENTERPRISE2, 5),
    (RedAction.PRIVILEGE_ESCALATE, ENTERPRISE2, 9),
    (RedAction.DISCOVER_NETWORK_SERVICES, OP_SERVER0, 9),
    (RedAction.EXPLOIT, OP_SERVER0, 9),
    (RedAction.PRIVILEGE_ESCALATE, OP_SERVER0, 12),
    (RedAction.IMPACT, OP_SERVER0, 13),
)
_ACTION = np.array([action for action, _, _ in _CHAIN], dtype=np.int8)
_TARGET = np.array([target for _, target, _ in _CHAIN], dtype=np.int8)
_AFTER_FAILURE = np.array([index for _, _, index in _CHAIN], dtype=np.int8)
_LAST = len(_CHAIN) - 1
_SCAN_FIRST = 1
_EXPLOIT_OP_SERVER = 12
_TRUE = int(Success.TRUE)
_NO_ROUTE = int(Outcome.NO_ROUTE)


@rule
def bline_chooses(env: State, draw: int) -> None:
    """Moves along the chain by the last result and names the next action.

    Reference quirk: if the scan of Op_Server0 found nothing (Operational was out of reach, yet
    it reported success), the chain starts again at the scan of the user host, until a scan with
    a result has been followed by an exploit once.
    """
    if env.red_success == _TRUE:
        index = min(env.bline_index + 1, _LAST)
    else:
        index = _AFTER_FAILURE[env.bline_index]
    if index == _EXPLOIT_OP_SERVER and not env.bline_passed_scan:
        if env.red_outcome == _NO_ROUTE:
            index = _SCAN_FIRST
        else:
            env.bline_passed_scan = True
    if env.bline_target == NOBODY and index == _SCAN_FIRST:
        env.bline_target = choose(draw, BLINE_FIRST_TARGETS)
    target = _TARGET[index]
    if target == _FIRST:
        target = env.bline_target
    elif target == _SECOND:
        target = REVEALS[env.bline_target]
    env.bline_index = index
    env.red_action = _ACTION[index]
    env.red_target = target
