"""An episode one can walk through: forwards, backwards, and on from any point by another action."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import numbers
from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import checked_action
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import actions_of


@dataclass(frozen=True)
class Moment:
    """The environment after a step, and the return up to there."""

    state: Any  # a record of State
    total: float
    saved: dict[str, NDArray[Any]]  # of the batch
    observation: NDArray[np.int8]  # what Blue sees
    action_mask: NDArray[np.bool_]  # (actions,) False: a decoy that would be refused now


class Episode:
    """One episode with a past to return to.

    Chance depends on the seed and the step alone, so going back and repeating the same actions
    leads to the same future.
    """

    def __init__(self, config: GameConfig, seed: int) -> None:
        """Starts the episode."""
        self.config = config
        self._batch = make_batch(1, config, autoreset=False)
        self._batch.compile()
        self._batch.reset(seed)
        self._moments = [self._now(0.0)]
        self.position = 0

    @property
    def moment(self) -> Moment:
        """The moment shown now."""
        return self._moments[self.position]

    @property
    def length(self) -> int:
        """Steps played so far, the undone ones included."""
        return len(self._moments) - 1

    @property
    def has_ended(self) -> bool:
        """Whether the moment shown is the episode's last."""
        return self.position >= self.config.episode_length

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Every moment played so far, the start included."""
        return tuple(self._moments)

    def act(self, action: int, draws: NDArray[np.int64] | None = None) -> None:
        """Plays an action from the moment shown; what came after it so far is dropped.

        Args:
            action: one of Blue's.
            draws: (5,) recorded outcomes of chance to use instead of the episode's own.

        Raises:
            InvalidInputError: the episode has ended, or the action or a draw is not allowed.
        """
        if self.has_ended:
            raise InvalidInputError(
                f"the episode ended after {self.config.episode_length} steps: go back in time first"
            )
        actions = np.array([checked_action(action, actions_of(self.config.network).size)])
        if self.position < self.length:
            self._batch.load(self.moment.saved)
        recorded = () if draws is None else (numbers("draws must be numbers", draws)[None],)
        self._batch.step(actions, *recorded)
        moment = self._now(self.moment.total + float(self._batch.out.reward[0]))
        del self._moments[self.position + 1 :]
        self._moments.append(moment)
        self.position += 1

    def _now(self, total: float) -> Moment:
        """Returns the batch's present moment."""
        batch = self._batch
        return Moment(
            batch.state[0].copy(),
            total,
            batch.saved(),
            batch.observation[0].copy(),
            batch.out.action_mask[0].copy(),
        )

    def forward(self) -> None:
        """Shows the next moment, if it was played."""
        self.position = min(self.position + 1, self.length)

    def back(self) -> None:
        """Shows the moment before."""
        self.position = max(0, self.position - 1)

    def go_to(self, position: int) -> None:
        """Shows the moment after the given number of steps, or the nearest one played."""
        self.position = min(max(0, position), self.length)

    def text(self, **how: Any) -> str:
        """Returns the moment shown as text; for the arguments see `frame_text`."""
        return frame_text(self.moment.state, self.config, self.moment.total, **how)
