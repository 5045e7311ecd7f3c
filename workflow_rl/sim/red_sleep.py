"""The sleeping Red: it holds its session on its foothold and does nothing."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.state import RedAction, State

_SLEEP = int(RedAction.SLEEP)


@rule
def sleep_chooses(env: State) -> None:
    """Names the action of every step: none."""
    env.red_action = _SLEEP
    env.red_target = NOBODY


@rule
def raise_and_sleep(env: State, raised: int) -> None:
    """Notes that CybORG's agent would have ended the game by an exception: it sleeps from now on.

    Args:
        env: the environment.
        raised: which exception, a Raised.
    """
    env.red_raised = raised
    sleep_chooses(env)
