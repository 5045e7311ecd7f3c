"""What no rule will ask for again is forgotten: states with the same future become one state."""

from workflow_rl.jit import rule
from workflow_rl.sim.red_meander import digest_result
from workflow_rl.sim.state import NOBODY, Outcome, RedAction, RedAgent, State, Success

_BLINE, _MEANDER = int(RedAgent.BLINE), int(RedAgent.MEANDER)
_NO_ACTION = int(RedAction.SLEEP)
_TRUE, _UNKNOWN = int(Success.TRUE), int(Success.UNKNOWN)
_NOTHING, _NO_ROUTE = int(Outcome.NOTHING), int(Outcome.NO_ROUTE)


@rule
def settle(env: State) -> None:
    """Forgets what no later turn depends on.

    Of a host's sessions the privileged one outlives the others, and a persistent one outlives a
    removable one. Meander takes in the result of its action at once. B_line needs of it only what
    decides where it goes on in its chain, and never looks at what it knows of the network.
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
    elif env.red_agent == _MEANDER:
        digest_result(env)
    if env.red_agent != _BLINE or env.red_success != _TRUE:
        env.red_success = _UNKNOWN
    if env.red_agent != _BLINE or env.red_outcome != _NO_ROUTE:
        env.red_outcome = _NOTHING
    env.red_action = _NO_ACTION
    env.red_target = NOBODY
