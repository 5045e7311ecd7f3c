"""The course of a training, by transitions and by time, and what can be read off it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Floats

_COLUMNS: Final = ("transitions", "seconds", "episodes", "reward", "compliance")


@dataclass(frozen=True)
class LearningCurve:
    """Points along a training, each the mean of the episodes ended since the one before; (n,)."""

    transitions: Floats  # up to here
    seconds: Floats  # up to here
    episodes: Floats  # in this point
    reward: Floats
    compliance: Floats

    @property
    def total(self) -> int:
        """Episodes of all points together."""
        return int(self.episodes.sum())

    def recent(self, window: int) -> tuple[Floats, Floats]:
        """Returns reward and compliance over the last `window` episodes, or a few more.

        Args:
            window: episodes; before so many have ended, the means are NaN.
        """
        total = np.concatenate([[0.0], np.cumsum(self.episodes)])
        # The last point from which on at least `window` episodes have ended.
        start = np.searchsorted(total, total[1:] - window + 1e-9, side="right") - 1
        reached = total[1:] >= window
        number = total[1:] - total[np.maximum(start, 0)]
        means = []
        for values in (self.reward, self.compliance):
            sums = np.concatenate([[0.0], np.cumsum(values * self.episodes)])
            mean = (sums[1:] - sums[np.maximum(start, 0)]) / np.maximum(number, 1)
            means.append(np.where(reached, mean, np.nan))
        return means[0], means[1]

    def at(self, axis: str, value: float, window: int) -> tuple[float, float]:
        """Returns recent reward and compliance when so many transitions or seconds were spent.

        Args:
            axis: "transitions" or "seconds".
            value: how many.
            window: episodes of the means; NaN before so many have ended.
        """
        passed = int(np.searchsorted(getattr(self, axis), value * (1 + 1e-9), side="right"))
        if not passed:
            return float("nan"), float("nan")
        reward, compliance = self.recent(window)
        return float(reward[passed - 1]), float(compliance[passed - 1])

    def first_reach(self, threshold: float, window: int) -> tuple[float, float]:
        """Returns the transitions and seconds until the recent reward reached a threshold.

        NaN if it never did.
        """
        reached = np.flatnonzero(self.recent(window)[0] >= threshold)
        if not len(reached):
            return float("nan"), float("nan")
        first = int(reached[0])
        return float(self.transitions[first]), float(self.seconds[first])

    def blocks(self, size: int) -> Floats:
        """Returns the mean rewards of consecutive blocks of about `size` episodes."""
        number = (np.cumsum(self.episodes) - self.episodes / 2) // size
        means = []
        for block in range(int(number[-1]) + 1 if len(number) else 0):
            inside = number == block
            if inside.any():
                means.append(np.average(self.reward[inside], weights=self.episodes[inside]))
        return np.array(means)

    def unrest(self, size: int, number: int) -> float:
        """Returns how much reward swings late in training: the spread of its last blocks.

        It is the standard deviation of the differences of neighbouring blocks, over the root of 2,
        so that a steady rise does not count.

        Args:
            size: episodes of a block.
            number: of blocks at the end.
        """
        last = self.blocks(size)[-number:]
        if len(last) < 2:
            return float("nan")
        return float(np.sqrt(np.mean(np.diff(last) ** 2) / 2))

    def as_json(self) -> dict[str, list[float]]:
        """Returns the points as plain data."""
        return {name: getattr(self, name).tolist() for name in _COLUMNS}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the curve that `as_json` gave."""
        return cls(**{name: np.array(data[name], np.float64) for name in _COLUMNS})


class CurveRecorder:
    """Gathers episodes into points of at least `size` of them."""

    def __init__(self, size: int) -> None:
        """Starts without points."""
        self._size = size
        self._points: list[tuple[float, float, float, float, float]] = []
        self._sums = np.zeros(3)  # episodes, reward, compliance

    def add(
        self,
        transitions: int,
        seconds: float,
        rewards: NDArray[np.float32],
        compliance: NDArray[np.float64],
    ) -> None:
        """Takes in the episodes that ended in an update.

        Args:
            transitions: up to its end.
            seconds: up to its end.
            rewards: (E,) of the episodes.
            compliance: (E,) of the episodes.
        """
        self._sums += len(rewards), float(rewards.sum()), float(compliance.sum())
        number = self._sums[0]
        if number >= self._size:
            reward, rate = self._sums[1:] / number
            self._points.append((transitions, seconds, number, float(reward), float(rate)))
            self._sums[:] = 0

    def curve(self) -> LearningCurve:
        """Returns what was recorded; episodes short of a point are left out."""
        columns = np.array(self._points, np.float64).reshape(-1, len(_COLUMNS)).T
        return LearningCurve(*(column.copy() for column in columns))
