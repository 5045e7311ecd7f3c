"""Random: one of the legal actions, uniformly."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.red_given import nth_legal, number_of_legal, take_action
from workflow_rl.sim.state import State


@rule
def random_chooses(env: State, net: Tables, draw: int) -> None:
    """Names one of the legal actions."""
    number = draw * number_of_legal(env) >> 32 if draw >= 0 else 0
    take_action(env, net, nth_legal(env, net, number))
