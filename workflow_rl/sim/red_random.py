"""Random: one of the legal actions, uniformly."""

from workflow_rl.jit import rule
from workflow_rl.sim.draws import choose
from workflow_rl.sim.red_given import legal_red_actions, take_action
from workflow_rl.sim.state import State


@rule
def random_chooses(env: State, draw: int) -> None:
    """Names one of the legal actions."""
    take_action(env, choose(draw, legal_red_actions(env)))
