"""Path: B_line's chain on any network, along what escalations reveal. It is ours, not CybORG's.

A stage is a host: scan, exploit, escalate. The next one is the next on a shortest way to a target
(`tables.Tables.path_next`). Where only a sweep of its zone tells its address, the zone is swept
first. At the target it impacts; of several targets it goes on to the next one that it knows.
"""

from workflow_rl.jit import rule
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import choose, first
from workflow_rl.sim.state import RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)
_SWEEP_ON = _IMPACT + 1  # of the zone of the next host
_TRUE = int(Success.TRUE)


@rule
def path_chooses(env: State, net: Tables, draw: int) -> None:
    """Moves along the stages by the last result and names the next action."""
    if env.path_hosts[0] == NOBODY:
        if net.path_first == ONE << net.foothold:
            env.path_hosts[0], env.path_kind = net.foothold, _ESCALATE
        elif env.path_kind == _SWEEP and env.red_success == _TRUE:
            env.path_hosts[0], env.path_kind = choose(draw, net.path_first), _SCAN
        else:
            env.path_kind = env.red_action = _SWEEP
            env.red_target = net.zone[net.foothold]
            return
    elif env.red_success == _TRUE:
        advance(env, net)
    else:
        fall_back(env, net)
    host = env.path_hosts[env.path_stage]
    env.red_action = env.path_kind
    env.red_target = host
    if env.path_kind == _SWEEP:
        env.red_target = net.zone[host]
    elif env.path_kind == _SWEEP_ON:
        env.red_action = _SWEEP
        env.red_target = net.zone[net.path_next[host]]


@rule
def advance(env: State, net: Tables) -> None:
    """Goes on after a success; where nothing comes next it repeats itself."""
    host = env.path_hosts[env.path_stage]
    following = net.path_next[host]
    if env.path_kind < _ESCALATE:
        env.path_kind += 1
    elif env.path_kind == _SWEEP_ON:
        enter(env, following)
    elif env.path_kind == _IMPACT:
        env.meander_impacted |= ONE << host
        others = env.addresses_known & net.targets & ~env.meander_impacted
        if others:
            enter(env, first(others))
    elif net.targets >> host & 1:
        env.path_kind = _IMPACT
    elif following != NOBODY and net.path_sweeps >> host & 1:
        env.path_kind = _SWEEP_ON
    elif following != NOBODY:
        enter(env, following)


@rule
def enter(env: State, host: int) -> None:
    """Begins the stage of a host; there is room for as many as there are hosts."""
    env.path_stage = min(env.path_stage + 1, len(env.path_hosts) - 1)
    env.path_hosts[env.path_stage] = host
    env.path_kind = _SCAN


@rule
def fall_back(env: State, net: Tables) -> None:
    """Goes back after a failure: to the exploit of this stage, or of the one before."""
    if env.path_kind == _IMPACT:
        env.path_kind = _ESCALATE
        return
    if env.path_stage > 0 and env.path_kind in (_SCAN, _EXPLOIT):
        env.path_stage -= 1
        env.path_kind = _EXPLOIT
    elif env.path_kind in (_ESCALATE, _SWEEP_ON):
        env.path_kind = _EXPLOIT
    if env.path_kind == _EXPLOIT and env.path_hosts[env.path_stage] == net.foothold:
        env.path_kind = _ESCALATE  # it holds that one without an exploit
