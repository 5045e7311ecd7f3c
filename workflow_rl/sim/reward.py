"""Blue's reward, from the true state after everyone has acted."""

import numpy as np

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    CONFIDENTIALITY_TENTHS,
    OT_SERVICE_DOWN_TENTHS,
)
from workflow_rl.sim.draws import count
from workflow_rl.sim.state import State


@rule
def score(env: State) -> None:
    """Charges each host with a privileged red session, and the OT service while it is down.

    The cost of a Restore was noted when Blue acted. User-level sessions cost nothing.
    """
    tenths = 0
    for cost, hosts in CONFIDENTIALITY_TENTHS:
        tenths += cost * count(env.privileged & hosts)
    env.confidentiality = -tenths
    env.availability = 0 if env.ot_running else -OT_SERVICE_DOWN_TENTHS


@rule
def reward_of(env: State) -> float:
    """Returns the reward of the step.

    A whole number of tenths divided by ten is the double nearest to the decimal, which is what
    the reference's rounding to one decimal gives.
    """
    return np.float64(env.confidentiality + env.availability + env.action_cost) / 10.0
