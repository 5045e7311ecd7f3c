"""Red's side of a game that is played elsewhere, such as on the real CybORG.

A mirror holds what Red was told there: the fields of `State` that are Red's knowledge and plans,
and Red's memory. By them the rules choose Red's next action, as they do in a game of their own.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.scenario.tables import tables_of
from workflow_rl.sim.batch import Batch, RedSide
from workflow_rl.sim.red_given import NOT_GIVEN, red_actions_of
from workflow_rl.sim.red_view import remember_red, write_legal, write_red_view
from workflow_rl.sim.turn import red_chooses

# What the game tells after a step: the fields of State that `RedMirror.take_in` is given.
TOLD: Final = (
    *("subnets_known", "addresses_known", "names_known", "ports_known", "ot_known"),
    *("red_success", "red_outcome", "red_exploit"),
)


@kernel()
def _take_in(states: NDArray[np.void], nets: NDArray[np.void], red: RedSide) -> None:
    remember_red(red.memory[0], states[0], nets[0])
    write_red_view(red.memory[0], states[0], nets[0], red.observation, 0)
    write_legal(red.memory[0], states[0], nets[0], red.legal, 0)


@kernel()
def _choose(states: NDArray[np.void], nets: NDArray[np.void], given: int, draw: int) -> None:
    red_chooses(states[0], nets[0], given, draw)


class RedMirror:
    """What one Red was told in an episode, and the choice of its next action."""

    def __init__(self, batch: Batch) -> None:
        """Makes the mirror of a game with one red agent; `begin` must come first.

        Args:
            batch: one environment, with Red's view; it plays no step.
        """
        self.batch = batch
        self._net = tables_of(batch.network)

    def begin(self, seed: int) -> None:
        """Begins an episode; the seed decides in which order unnamed hosts stand."""
        self.batch.reset(seed)

    def take_in(self, told: Mapping[str, Any]) -> None:
        """Takes in what Red was told after a step.

        Args:
            told: a value for each field of TOLD, and `ports`, (hosts,).
        """
        state = self.batch.state
        state["ports"][0, : len(told["ports"])] = told["ports"]
        for name in TOLD:
            state[name][0] = told[name]
        state["step"] += 1
        _take_in(state, self._net, self.batch.red)

    def choose(self, draw: int, given: int = NOT_GIVEN) -> int:
        """Returns the number of Red's next action (`red_given.py`).

        Args:
            draw: a random word, for a Red that chooses by itself.
            given: that number, for a Red whose choice is given.
        """
        state = self.batch.state
        _choose(state, self._net, given, draw)
        actions = red_actions_of(self.batch.network)
        return int(actions.numbers(state["red_action"], state["red_target"])[0])
