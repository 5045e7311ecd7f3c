"""How good forecasts of yes or no are: their Brier score, and how often each size came true."""

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row
from workflow_rl.estimates import Estimate

_CERTAIN: Final = 1e-9  # a probability this near to 0 or 1 is none any more
_BINS: Final = {  # by label, up to what; sure of no, unsure in steps, sure of yes
    "0": _CERTAIN,
    "to 0.1": 0.1,
    "0.1 to 0.3": 0.3,
    "0.3 to 0.5": 0.5,
    "0.5 to 0.7": 0.7,
    "0.7 to 0.9": 0.9,
    "above 0.9": 1 - _CERTAIN,
    "1": np.inf,
}
_LABELS, _UP_TO = list(_BINS), np.array(list(_BINS.values()))


class Forecasts:
    """Forecasts of whether something is so, gathered step by step over games side by side."""

    def __init__(self, games: int) -> None:
        """Begins without any."""
        self._games = games
        shape = games, len(_UP_TO)
        self._count, self._sum, self._yes = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._squares = 0.0

    def add(self, forecast: NDArray[np.float64], outcome: NDArray[np.bool_]) -> None:
        """Takes in (games, ...) probabilities and what was true."""
        forecast = np.asarray(forecast, np.float64).reshape(self._games, -1)
        outcome = outcome.reshape(self._games, -1)
        self._squares += float(((forecast - outcome) ** 2).sum())
        bins = len(_UP_TO)
        where = np.searchsorted(_UP_TO, forecast) + bins * np.arange(self._games)[:, None]
        for total, weights in ((self._count, None), (self._sum, forecast), (self._yes, outcome)):
            flat = None if weights is None else weights.ravel().astype(np.float64)
            total += np.bincount(where.ravel(), flat, total.size).reshape(total.shape)

    @classmethod
    def together(cls, several: Sequence["Forecasts"]) -> Self:
        """Returns the forecasts of all their games."""
        whole = cls(0)
        whole._games = sum(one._games for one in several)
        whole._count = np.concatenate([one._count for one in several])
        whole._sum = np.concatenate([one._sum for one in several])
        whole._yes = np.concatenate([one._yes for one in several])
        whole._squares = sum(one._squares for one in several)
        return whole

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self._count.sum())

    @property
    def brier(self) -> float:
        """The mean squared difference from what was true: 0 is perfect, 0.25 a coin."""
        return self._squares / self.count

    def rows(self) -> list[Row]:
        """Returns what came of the forecasts, by their size: the rows of a table.

        The steps of a game depend on each other, so the interval takes a game as one observation.
        """
        rows: list[Row] = []
        for i in np.flatnonzero(self._count.any(axis=0)):
            count, yes = self._count[:, i], self._yes[:, i]
            number = float(count.sum())
            rate = float(yes.sum()) / number
            error = float(np.sqrt(((yes - rate * count) ** 2).sum())) / number
            rows.append(
                {
                    "probability": _LABELS[i],
                    "forecasts": int(number),
                    "mean": float(self._sum[:, i].sum()) / number,
                    "came true": rate,
                    "half-width": Estimate.from_error(rate, error).half_width,
                }
            )
        return rows


def brier_of_groups(groups: NDArray[np.integer[Any]], outcome: NDArray[np.bool_]) -> float:
    """Returns the Brier score of forecasting, in each group, how often it was so in that group.

    No forecast that knows only the group does better on these outcomes.
    """
    count = np.bincount(groups.ravel())
    yes = np.bincount(groups.ravel(), outcome.ravel().astype(np.float64))
    rate = yes / np.maximum(count, 1)
    return float((count * rate * (1 - rate)).sum() / count.sum())
