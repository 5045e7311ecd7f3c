"""Blue's reward, from the true state after everyone has acted."""

import numpy as np

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.draws import count, first
from workflow_rl.sim.state import State


@rule
def score(env: State, net: Tables) -> None:
    """Charges each host with a privileged red session, and each OT service while it is down.

    The cost of Blue's action was noted when Blue acted. User-level sessions cost nothing.
    """
    tenths = 0
    charged = env.privileged
    if not env.foothold_root:
        charged &= ~net.uncharged
    for i in range(net.num_costs):
        tenths += net.cost_tenths[i] * count(charged & net.cost_hosts[i])
    env.confidentiality = -tenths
    tenths = 0
    down = env.ot_down
    while down:
        tenths += net.ot_tenths[first(down)]
        down &= down - 1
    env.availability = -tenths


@rule
def reward_of(env: State) -> float:
    """Returns the reward of the step.

    A whole number of tenths divided by ten is the double nearest to the decimal, which is what
    the reference's rounding to one decimal gives.
    """
    return np.float64(env.confidentiality + env.availability + env.action_cost) / 10.0
