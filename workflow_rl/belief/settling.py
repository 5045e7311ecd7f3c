"""What no rule will ask for again is forgotten: states with the same future become one state."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.red_bline import places_without_surprise
from workflow_rl.sim.red_meander import digest_result
from workflow_rl.sim.state import Outcome, Raised, RedAction, RedAgent, State, Success

_BLINE, _MEANDER = int(RedAgent.BLINE), int(RedAgent.MEANDER)
_NO_ACTION = int(RedAction.SLEEP)
_TRUE, _UNKNOWN = int(Success.TRUE), int(Success.UNKNOWN)
_NOTHING, _NO_ROUTE = int(Outcome.NOTHING), int(Outcome.NO_ROUTE)
_HAS_NOT_RAISED, _RAISED = int(Raised.NOTHING), int(Raised.KEY_ERROR)


@rule
def settle(env: State, net: Tables, found: int) -> None:
    """Forgets what no later turn depends on.

    Of a host's sessions the privileged one outlives the others, and a persistent one outlives a
    removable one. Meander takes in the result of its action at once. B_line needs of it only what
    decides where it goes on in its chain, and never looks at what it knows of the network. A Red
    that has raised sleeps, whatever it knew.

    Args:
        env: the environment.
        net: the network.
        found: the hosts of which a scan always finds something (`outcomes.always_found`).
    """
    env.persistent &= ~env.privileged
    env.removable &= ~(env.privileged | env.persistent)
    env.red_exploit = NOBODY
    env.red_options = -1
    env.red_decoy_hit = NOBODY
    if env.red_agent == _BLINE:
        env.subnets_known = 0
        env.addresses_known = 0
        env.names_known = 0
        if env.bline_target != NOBODY:
            env.bline_reached |= places_without_surprise(env, net, found)
    elif (
        env.red_agent == _MEANDER
        and env.red_raised == _HAS_NOT_RAISED
        and not digest_result(env, net)
    ):
        env.red_raised = _RAISED
    if env.red_raised != _HAS_NOT_RAISED:
        forget_plans(env)
    if env.red_agent != _BLINE or env.red_success != _TRUE:
        env.red_success = _UNKNOWN
    if env.red_agent != _BLINE or env.red_outcome != _NO_ROUTE:
        env.red_outcome = _NOTHING
    env.red_action = _NO_ACTION
    env.red_target = NOBODY


@rule
def forget_plans(env: State) -> None:
    """Forgets what a Red that sleeps for good knew and was about to do."""
    env.red_raised = _RAISED
    env.red_success = _UNKNOWN
    env.red_outcome = _NOTHING
    env.subnets_known = 0
    env.addresses_known = 0
    env.names_known = 0
    env.ports_known = 0
    for host in range(len(env.ports)):
        env.ports[host] = 0
    env.ot_known = False
    env.bline_index = 0
    env.bline_target = NOBODY
    env.bline_reached = 0
    env.meander_swept = 0
    env.meander_scanned = 0
    env.meander_exploited = 0
    env.meander_escalated = 0
    env.meander_mapped = 0
    env.meander_impacted = 0
