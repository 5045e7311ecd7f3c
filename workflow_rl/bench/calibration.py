"""How good forecasts of yes or no are: their Brier score, and how often each size came true."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate

CERTAIN: Final = 1e-9  # a probability this near to 0 or 1 is none any more
# Upper ends: sure of no; unsure, in steps; sure of yes.
_UP_TO: Final = np.array([CERTAIN, 0.1, 0.3, 0.5, 0.7, 0.9, 1 - CERTAIN, np.inf])


@dataclass(frozen=True)
class Bin:
    """The forecasts of one range and what came of them."""

    label: str
    count: int
    forecast: float  # their mean; NaN without any
    observed: Estimate  # how often it was yes, with the interval over games


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

    @property
    def base_rate(self) -> float:
        """How often it was so."""
        return float(self._yes.sum()) / self.count

    def bins(self) -> list[Bin]:
        """Returns what came of the forecasts, by their size.

        The steps of a game depend on each other, so the interval takes a game as one observation.
        """
        found = []
        for i, label in enumerate(_labels()):
            count, yes = self._count[:, i], self._yes[:, i]
            number = float(count.sum())
            if not number:
                found.append(Bin(label, 0, np.nan, Estimate(np.nan)))
                continue
            rate = float(yes.sum()) / number
            error = float(np.sqrt(((yes - rate * count) ** 2).sum())) / number
            forecast = float(self._sum[:, i].sum()) / number
            found.append(Bin(label, int(number), forecast, Estimate.from_error(rate, error)))
        return found

    def as_json(self) -> dict[str, Any]:
        """Returns the figures as plain data."""
        return {
            "count": self.count,
            "brier": self.brier,
            "base_rate": self.base_rate,
            "bins": [
                {
                    "range": b.label,
                    "count": b.count,
                    "forecast": b.forecast if b.count else None,
                    "observed": b.observed.mean if b.count else None,
                    "half_width": b.observed.half_width if b.count else None,
                }
                for b in self.bins()
            ],
        }


def _labels() -> Sequence[str]:
    inner = [f"{low:.1f} to {high:.1f}" for low, high in itertools.pairwise(_UP_TO[1:-2])]
    return ["0", "to 0.1", *inner, "above 0.9", "1"]


def brier_of_groups(groups: NDArray[np.integer[Any]], outcome: NDArray[np.bool_]) -> float:
    """Returns the Brier score of forecasting, in each group, how often it was so in that group.

    No forecast that knows only the group does better on these outcomes.
    """
    count = np.bincount(groups.ravel())
    yes = np.bincount(groups.ravel(), outcome.ravel().astype(np.float64))
    rate = yes / np.maximum(count, 1)
    return float((count * rate * (1 - rate)).sum() / count.sum())
