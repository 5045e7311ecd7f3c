"""Bait: takes one user host again and again, never escalates, and scans it anew after a loss.

Each session it gets costs Blue a Restore, which also deletes the host's decoys.
"""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import BLINE_FIRST_TARGETS, Subnet
from workflow_rl.sim.draws import choose
from workflow_rl.sim.state import NOBODY, RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_USER = int(Subnet.USER)
_TRUE = int(Success.TRUE)


@rule
def bait_chooses(env: State, draw: int) -> None:
    """Sweeps, draws a host, then alternates: a scan after every failure, else an exploit."""
    if not env.addresses_known & BLINE_FIRST_TARGETS:
        env.red_action = _SWEEP
        env.red_target = _USER
        return
    if env.bline_target == NOBODY:
        env.bline_target = choose(draw, BLINE_FIRST_TARGETS)
    has_scanned = env.red_action == _SCAN
    has_won = env.red_action == _EXPLOIT and env.red_success == _TRUE
    env.red_action = _EXPLOIT if has_scanned or has_won else _SCAN
    env.red_target = env.bline_target
