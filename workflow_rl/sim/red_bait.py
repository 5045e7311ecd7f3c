"""Bait: takes one host again and again, never escalates there, scans it after a loss.

A session without privileges costs Blue nothing. Each Restore that answers one costs Blue a point
and deletes the host's decoys.
"""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import choose, first
from workflow_rl.sim.red_sleep import sleep_chooses
from workflow_rl.sim.state import RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_TRUE = int(Success.TRUE)


@rule
def bait_chooses(env: State, net: Tables, draw: int) -> None:
    """Goes through a host of its own zone to a host outside that it reveals, and stays there."""
    revealed = env.addresses_known & net.outside
    if revealed:
        attack(env, first(revealed))
    elif not net.bait_first:
        sleep_chooses(env)
    elif not env.addresses_known & net.bait_first:
        env.red_action = _SWEEP
        env.red_target = net.bait_zone
    else:
        if env.bline_target == NOBODY:
            env.bline_target = choose(draw, net.bait_first)
        if env.red_action == _EXPLOIT and env.red_success == _TRUE:
            env.red_action = _ESCALATE
        else:
            attack(env, env.bline_target)


@rule
def attack(env: State, host: int) -> None:
    """Exploits a host after a scan of it and after every success there, else scans it."""
    is_there = env.red_target == host
    has_scanned = is_there and env.red_action == _SCAN
    has_won = is_there and env.red_action == _EXPLOIT and env.red_success == _TRUE
    env.red_action = _EXPLOIT if has_scanned or has_won else _SCAN
    env.red_target = host
