"""Bait: takes one enterprise host again and again, never escalates there, scans it after a loss.

A session without privileges costs Blue nothing. Each Restore that answers one costs Blue a point
and deletes the host's decoys.
"""

from typing import Final

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import BLINE_FIRST_TARGETS, SUBNET_HOSTS, Subnet
from workflow_rl.sim.draws import choose, first
from workflow_rl.sim.state import NOBODY, RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_USER = int(Subnet.USER)
_ENTERPRISE_HOSTS: Final = int(SUBNET_HOSTS[Subnet.ENTERPRISE])
_TRUE = int(Success.TRUE)


@rule
def bait_chooses(env: State, draw: int) -> None:
    """Goes through a user host to the enterprise host that it reveals, and stays there."""
    revealed = env.addresses_known & _ENTERPRISE_HOSTS
    if revealed:
        attack(env, first(revealed))
    elif not env.addresses_known & BLINE_FIRST_TARGETS:
        env.red_action = _SWEEP
        env.red_target = _USER
    else:
        if env.bline_target == NOBODY:
            env.bline_target = choose(draw, BLINE_FIRST_TARGETS)
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
