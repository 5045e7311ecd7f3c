"""Meander: spreads over every host it learns of, subnet by subnet, and impacts when it can."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    ENTERPRISE_FOOTHOLDS,
    OP_SERVER0,
    OPERATIONAL_HOSTS,
    Subnet,
)
from workflow_rl.sim.draws import choose
from workflow_rl.sim.state import RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)
_TRUE, _FALSE = int(Success.TRUE), int(Success.FALSE)
_SWEEP_ORDER = (int(Subnet.ENTERPRISE), int(Subnet.OPERATIONAL), int(Subnet.USER))


@rule
def meander_chooses(env: State, draw: int) -> None:
    """Takes in the last result, then names the next action."""
    digest_result(env)
    action, eligible = next_action(env)
    if eligible:
        act(env, action, choose(draw, eligible))


@rule
def next_action(env: State) -> tuple[int, int]:
    """Returns Meander's next action and the set of targets it samples from."""
    if env.meander_escalated >> OP_SERVER0 & 1:
        return _IMPACT, 1 << OP_SERVER0
    unswept = env.subnets_known & ~env.meander_swept
    if unswept:
        return _SWEEP, 1 << first_to_sweep(unswept)
    unscanned = env.addresses_known & ~env.meander_scanned
    if unscanned:
        return _SCAN, unscanned
    lost = env.meander_mapped & ~env.meander_exploited
    unescalated = env.names_known & ~env.meander_escalated & ~lost
    if unescalated:
        return _ESCALATE, unescalated
    return _EXPLOIT, env.addresses_known & ~env.meander_exploited


@rule
def digest_result(env: State) -> None:
    """Updates the lists by the result of the last action.

    Reference quirk: any failed exploit makes Meander forget its Operational hosts, or else its
    Enterprise hosts, and attack them anew.
    """
    action = env.red_action
    host = env.red_target
    if action == _EXPLOIT:
        if env.red_success == _TRUE:
            env.meander_mapped |= 1 << host
            return
        env.meander_exploited &= ~(1 << host)
        if env.meander_escalated & OPERATIONAL_HOSTS:
            forget(env, OPERATIONAL_HOSTS)
        elif env.meander_escalated & ENTERPRISE_FOOTHOLDS:
            forget(env, ENTERPRISE_FOOTHOLDS)
    elif action in (_ESCALATE, _IMPACT) and env.red_success == _FALSE:
        env.meander_escalated &= ~(1 << host)
        if env.meander_mapped >> host & 1:
            env.meander_exploited &= ~(1 << host)


@rule
def forget(env: State, group: int) -> None:
    """Takes the escalated hosts of a group off the lists of escalated and exploited hosts."""
    hosts = env.meander_escalated & group
    env.meander_escalated &= ~hosts
    env.meander_exploited &= ~hosts


@rule
def first_to_sweep(subnets: int) -> int:
    """Returns the subnet of a non-empty set that Meander sweeps first."""
    for subnet in _SWEEP_ORDER:
        if subnets >> subnet & 1:
            return subnet
    return _SWEEP_ORDER[0]


@rule
def act(env: State, action: int, target: int) -> None:
    """Names the action of this step and notes it on its list, whatever its result.

    Reference quirk: a sweep or scan without a route counts as done, too, and is never repeated.
    """
    env.red_action = action
    env.red_target = target
    if action == _SWEEP:
        env.meander_swept |= 1 << target
    elif action == _SCAN:
        env.meander_scanned |= 1 << target
    elif action == _ESCALATE:
        env.meander_escalated |= 1 << target
    elif action == _EXPLOIT:
        env.meander_exploited |= 1 << target
