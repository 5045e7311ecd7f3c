"""The action spaces: what the outputs of a policy mean, each by its name.

`all` are all of Blue's actions, `useful` those that can matter, `cardiff` the winner's 36 outputs.
Training, evaluation, replays and single policies all act through this module.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.cardiff import (
    LIST_LENGTHS,
    MACRO_LISTS,
    NUM_MACROS,
    NUM_OUTPUTS,
    NUM_PLAIN,
    PLAIN_ACTIONS,
    START_OUTPUTS,
    acceptable_output,
    due_output,
    perform,
)
from workflow_rl.arrays import checked_array
from workflow_rl.config import ActionSpaceName, TrainConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import kernel
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.scenario2 import ACTION_NAMES
from workflow_rl.sim.checks import checked_mask
from workflow_rl.sim.red_given import red_actions_of


def _places(what: str, value: object, n: int, size: int) -> NDArray[np.int64]:
    """Returns n indices below `size`; InvalidInputError if they are none."""
    return checked_array(what, value, (n,), np.int64, (0, size - 1))


class Acting:
    """Maps outputs to actions in n environments; here an output is an action of a list.

    A subclass keeps the state on which the meaning of its outputs depends.
    """

    def __init__(self, listed: NDArray[np.int64], number: int) -> None:
        """Acts by the actions listed of so many, in any number of environments."""
        self._listed = listed
        self._number = number

    @property
    def is_fixed(self) -> bool:
        """Whether the next actions do not depend on the policy, in any environment."""
        return False

    def meanings(self) -> NDArray[np.int64]:
        """Returns (n or 1, size) the action that each output would be now."""
        return self._listed[None]

    def allowed(self, action_mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns (n, size) the outputs that would do something.

        Args:
            action_mask: (n, actions) False for a decoy that would be refused now.
        """
        mask = checked_array("an action mask", action_mask, (None, self._number), np.bool_)
        everything = len(self._listed) == self._number  # in the order of the mask
        return mask if everything else mask[:, self._listed]

    def actions(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Plays a step: returns (n,) the actions of chosen outputs (n,)."""
        return self._listed[outputs]

    def best_actions(
        self,
        best: NDArray[np.int64],
        scores: NDArray[np.floating[Any]],
        rows: NDArray[np.integer[Any]],
    ) -> NDArray[np.int64]:
        """Plays an evaluation step: returns (n,) actions of the best outputs that are accepted.

        Args:
            best: (n,) the output with the highest score.
            scores: (u, size) of each output, for distinct inputs.
            rows: (n,) which row of the scores is an environment's.
        """
        return self._listed[best]

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Begins new episodes where one has ended, (n,)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays that `load_state` continues from."""
        return {}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continues from a saved state."""


@kernel()
def _perform(
    outputs: NDArray[Any], step: NDArray[Any], placed: NDArray[Any], actions: NDArray[Any]
) -> None:
    for k in range(len(outputs)):
        actions[k] = perform(due_output(outputs[k], step[k]), placed[k])
        step[k] += 1


@kernel()
def _perform_best(
    best: NDArray[Any],
    scores: NDArray[Any],
    rows: NDArray[Any],
    step: NDArray[Any],
    placed: NDArray[Any],
    actions: NDArray[Any],
) -> None:
    for k in range(len(best)):
        output = acceptable_output(best[k], scores[rows[k]], placed[k])
        actions[k] = perform(due_output(output, step[k]), placed[k])
        step[k] += 1


class CardiffActing(Acting):
    """27 plain actions and 9 decoy lists; every episode begins with three fixed decoys.

    In training a macro whose list is used up repeats its first decoy, and the policy's own outputs
    stay in the batch where the fixed start replaced them. In evaluation the next best output is
    taken that is neither such a macro nor a Restore. The winner's agent does both.
    """

    def __init__(self, num_envs: int) -> None:
        """Begins every episode."""
        self._placed = np.zeros((num_envs, NUM_MACROS), np.int8)
        self._step = np.zeros(num_envs, np.int64)

    @property
    def is_fixed(self) -> bool:
        """Whether every episode is in its fixed start."""
        return bool((self._step < len(START_OUTPUTS)).all())

    def meanings(self) -> NDArray[np.int64]:
        """Returns what each output would be, by how far the episodes and their lists are."""
        n = len(self._step)
        step, placed = (np.repeat(kept, NUM_OUTPUTS, axis=0) for kept in (self._step, self._placed))
        actions = np.empty(n * NUM_OUTPUTS, np.int64)
        _perform(np.tile(np.arange(NUM_OUTPUTS), n), step, placed, actions)
        return actions.reshape(n, NUM_OUTPUTS)

    def allowed(self, action_mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns the plain actions and the macros whose list is not used up."""
        checked_mask(SCENARIO2, action_mask, len(self._placed))
        plain = np.ones((len(self._placed), NUM_PLAIN), np.bool_)
        return np.hstack([plain, self._placed < LIST_LENGTHS])

    def actions(self, outputs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the actions, and moves the lists on.

        Raises:
            InvalidInputError: they are no outputs; nothing was played.
        """
        outputs = _places("outputs", outputs, len(self._step), NUM_OUTPUTS)
        actions = np.empty_like(outputs)
        _perform(outputs, self._step, self._placed, actions)
        return actions

    def best_actions(
        self,
        best: NDArray[np.int64],
        scores: NDArray[np.floating[Any]],
        rows: NDArray[np.integer[Any]],
    ) -> NDArray[np.int64]:
        """Returns the actions of the best outputs that are accepted, and moves the lists on.

        Raises:
            InvalidInputError: they are no such arrays; nothing was played.
        """
        best = _places("best", best, len(self._step), NUM_OUTPUTS)
        scores = checked_array("scores", scores, (None, NUM_OUTPUTS), np.float64)
        rows = _places("rows", rows, len(best), len(scores))
        actions = np.empty_like(best)
        _perform_best(best, scores, rows, self._step, self._placed, actions)
        return actions

    def end(self, ended: NDArray[np.bool_]) -> None:
        """Starts the lists over."""
        ended = checked_array("ended", ended, self._step.shape, np.bool_)
        self._placed[ended] = 0
        self._step[ended] = 0

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns how far each environment is."""
        return {"placed": self._placed.copy(), "step": self._step.copy()}

    def load_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continues from a saved state."""
        self._placed[:] = arrays["placed"]
        self._step[:] = arrays["step"]


@dataclass(frozen=True)
class ActionSpace:
    """What a policy chooses from."""

    name: str
    outputs: tuple[str, ...]  # what each output does
    begin: Callable[[int], Acting]  # for so many environments, whose episodes begin
    is_direct: bool = True  # an output is an action, whatever was played before

    @property
    def size(self) -> int:
        """How many outputs there are."""
        return len(self.outputs)


def _of_list(name: str, listed: NDArray[np.int64], names: tuple[str, ...]) -> ActionSpace:
    outputs = tuple(names[action] for action in listed)
    # No closure: it is pickled.
    return ActionSpace(name, outputs, partial(_begin_list, listed, len(names)))


def _begin_list(listed: NDArray[np.int64], number: int, num_envs: int) -> Acting:
    return Acting(listed, number)


CARDIFF: Final = ActionSpace(
    "cardiff",
    (
        *(ACTION_NAMES[action] for action in PLAIN_ACTIONS),
        *("next of " + ", ".join(ACTION_NAMES[a] for a in part) for part in MACRO_LISTS),
    ),
    CardiffActing,
    is_direct=False,
)


class RedActing(Acting):
    """Red's actions by positions; what is legal is the mask."""

    def allowed(self, action_mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns (n, actions) what is legal."""
        return checked_array("legal actions", action_mask, (None, self._number), np.bool_)


def _begin_red(number: int, num_envs: int) -> Acting:
    return RedActing(np.arange(number), number)


@cache
def red_action_space(network: Network) -> ActionSpace:
    """Returns what a policy of Red chooses from."""
    actions = red_actions_of(network)
    return ActionSpace("red", actions.names, partial(_begin_red, actions.size))


@cache
def action_space_named(name: ActionSpaceName, network: Network) -> ActionSpace:
    """Returns one of Blue's action spaces on a network.

    Raises:
        InvalidInputError: it does not exist there.
    """
    actions = actions_of(network)
    match name:
        case "all":
            return _of_list(name, np.arange(actions.size), actions.names)
        case "useful":
            return _of_list(name, actions.useful, actions.names)
        case "cardiff":
            if network != SCENARIO2:
                raise InvalidInputError(
                    f"the action space cardiff is of the network {SCENARIO2.name} alone; choose "
                    f"another one for {network.name}"
                )
            return CARDIFF


def action_space_of(train: TrainConfig, network: Network) -> ActionSpace:
    """Returns what the policy of a training chooses from."""
    if train.side == "red":
        return red_action_space(network)
    return action_space_named(train.action_space, network)
