"""Meander: spreads over every host it learns of, zone by zone, and impacts when it can.

Where CybORG's Meander ends the game by an exception, it sleeps from there on.
"""

from workflow_rl.jit import rule
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.draws import choose, first
from workflow_rl.sim.red_sleep import raise_and_sleep
from workflow_rl.sim.state import Raised, RedAction, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)
_TRUE, _FALSE = int(Success.TRUE), int(Success.FALSE)
_KEY_ERROR, _OUT_OF_OPTIONS = int(Raised.KEY_ERROR), int(Raised.NOT_IMPLEMENTED_ERROR)


@rule
def meander_chooses(env: State, net: Tables, draw: int) -> None:
    """Takes in the last result, then names the next action."""
    if not digest_result(env, net):
        raise_and_sleep(env, _KEY_ERROR)
        return
    action, eligible = next_action(env, net)
    if eligible:
        act(env, action, choose(draw, eligible))
    else:
        raise_and_sleep(env, _OUT_OF_OPTIONS)


@rule
def next_action(env: State, net: Tables) -> tuple[int, int]:
    """Returns Meander's next action and the set of targets it samples from.

    CybORG's stops the service of one host again and again. Of several, ours goes on until it has
    stopped each of them, and then takes any.
    """
    impacted = env.meander_escalated & net.targets
    due = impacted & ~env.meander_impacted
    if due or (impacted and not net.targets & ~env.meander_impacted):
        return _IMPACT, due if due else impacted
    unswept = env.subnets_known & ~env.meander_swept
    if unswept:
        return _SWEEP, ONE << first_to_sweep(net, unswept)
    unscanned = env.addresses_known & ~env.meander_scanned
    if unscanned:
        return _SCAN, unscanned
    lost = env.meander_mapped & ~env.meander_exploited
    unescalated = env.names_known & ~env.meander_escalated & ~lost
    if unescalated:
        return _ESCALATE, unescalated
    return _EXPLOIT, env.addresses_known & ~env.meander_exploited


@rule
def digest_result(env: State, net: Tables) -> bool:
    """Updates the lists by the result of the last action.

    Reference quirk: any failed exploit makes Meander forget one group of hosts, or else another,
    and attack them anew. It ends the game if it has never exploited its foothold and that is one.

    Returns:
        Whether it can go on.
    """
    action = env.red_action
    host = env.red_target
    if action == _EXPLOIT:
        if env.red_success == _TRUE:
            env.meander_mapped |= ONE << host
            return True
        env.meander_exploited &= ~(ONE << host)
        group = net.retried_first
        if not env.meander_escalated & group:
            group = net.retried_second
        if env.meander_escalated & ~env.meander_mapped & group:
            return False
        forget(env, group)
    elif action in (_ESCALATE, _IMPACT) and env.red_success == _FALSE:
        env.meander_escalated &= ~(ONE << host)
        env.meander_impacted &= ~(ONE << host)
        if env.meander_mapped >> host & 1:
            env.meander_exploited &= ~(ONE << host)
    elif action == _IMPACT:
        env.meander_impacted |= ONE << host
    return True


@rule
def forget(env: State, group: int) -> None:
    """Takes the escalated hosts of a group off the lists of escalated and exploited hosts."""
    hosts = env.meander_escalated & group
    env.meander_escalated &= ~hosts
    env.meander_exploited &= ~hosts


@rule
def first_to_sweep(net: Tables, zones: int) -> int:
    """Returns the zone of a non-empty set that Meander sweeps first."""
    for i in range(net.num_zones):
        zone: int = net.sweep_order[i]
        if zones >> zone & 1:
            return zone
    return first(zones)


@rule
def act(env: State, action: int, target: int) -> None:
    """Names the action of this step and notes it on its list, whatever its result.

    Reference quirk: a sweep or scan without a route counts as done, too, and is never repeated.
    """
    env.red_action = action
    env.red_target = target
    if action == _SWEEP:
        env.meander_swept |= ONE << target
    elif action == _SCAN:
        env.meander_scanned |= ONE << target
    elif action == _ESCALATE:
        env.meander_escalated |= ONE << target
    elif action == _EXPLOIT:
        env.meander_exploited |= ONE << target
