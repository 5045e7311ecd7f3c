"""The two sides of a batch: what each sees, may do and is paid, and Red's actions from outside."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.config import GameConfig
from workflow_rl.config.reds import GIVEN
from workflow_rl.errors import InvalidInputError
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.red_given import RED_SLEEP, red_actions_of
from workflow_rl.sim.red_view import actions_on_hosts

# What happens to a red action that is not legal: Red sleeps, as in CybORG, whose InvalidAction does
# nothing; or an error says what is legal.
ILLEGAL: Final = ("sleep", "error")


class Side(NamedTuple):
    """What one player is shown, one row per environment; the batch overwrites it."""

    observation: NDArray[np.int8]  # (n, its size)
    final_observation: NDArray[np.int8]  # (n, as above) of episodes that ended, else stale
    action_mask: NDArray[np.bool_]  # (n, actions)
    reward: NDArray[np.float64]  # (n,) of the step just played


def blue_side(batch: Batch) -> Side:
    """Returns Blue's side."""
    out = batch.out
    return Side(batch.observation, batch.final_observation, out.action_mask, out.reward)


def red_side(batch: Batch) -> Side:
    """Returns Red's side of a batch with `red_view`: it gets what Blue loses."""
    red = batch.red
    return Side(red.observation, red.final_observation, red.legal, 0.0 - batch.out.reward)


def given_game(game: GameConfig | None, settings: Mapping[str, Any]) -> GameConfig:
    """Returns a game whose Red is played from outside.

    Raises:
        InvalidInputError: a setting is not allowed, or names a red agent.
    """
    if "red_agent" in settings:
        raise InvalidInputError("Red's actions are given here: there is no red_agent to choose")
    return GameConfig.of(game, {**settings, "red_agent": GIVEN})


def red_actions_on_hosts(
    batch: Batch, actions: object, illegal: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns (n,) Red's actions as `Batch.step` takes them, and (n,) which were not legal.

    Args:
        batch: has `red_view`.
        actions: (n,) by positions, as Red's view and its mask are.
        illegal: one of ILLEGAL.

    Raises:
        InvalidInputError: they are no such actions or, with `error`, one is not legal.
    """
    within = 0, red_actions_of(batch.network).size - 1
    chosen = checked_array("red actions", actions, (batch.num_envs,), np.int64, within)
    refused = ~batch.red.legal[np.arange(batch.num_envs), chosen]
    if refused.any():
        if illegal == "error":
            raise _not_legal(batch, int(refused.argmax()), chosen)
        chosen = np.where(refused, RED_SLEEP, chosen)
    return actions_on_hosts(batch.network, chosen, batch.red.memory), refused


def _not_legal(batch: Batch, env: int, actions: NDArray[np.int64]) -> InvalidInputError:
    names = red_actions_of(batch.network).names
    legal = (f"{a} {names[a]}" for a in np.flatnonzero(batch.red.legal[env]))
    action = int(actions[env])
    return InvalidInputError(
        f"red action {action} {names[action]} is not legal in environment {env}; legal "
        f"are {', '.join(legal)}"
    )
