"""The sleeping Red: it holds its session on User0 and does nothing."""

from workflow_rl.jit import rule
from workflow_rl.sim.state import NOBODY, RedAction, State

_SLEEP = int(RedAction.SLEEP)


@rule
def sleep_chooses(env: State) -> None:
    """Names the action of every step: none."""
    env.red_action = _SLEEP
    env.red_target = NOBODY
