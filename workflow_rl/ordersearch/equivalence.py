"""Which orders trials show to be equal, and how many more trials would tell the rest apart.

That no difference was found does not make orders equal. Two orders are shown equal if the 95 %
interval of their difference lies within a margin: the difference is fitted to the trials by least
squares, a weight for each pair of units, with Student's t interval. Once the half-width of that
interval is half the margin, every two orders are either shown equal or shown different.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Z_95, Floats, t_quantile
from workflow_rl.scenario.images import RESTORE_COST

MARGIN: Final = RESTORE_COST  # points an episode: what a single Restore costs
_ROUNDING: Final = 1e-6
_MOST_TRIALS: Final = 10**9


@dataclass(frozen=True)
class Differences:
    """What orders are worth over another one; (k,) each."""

    mean: Floats
    half_width: Floats  # of the 95 % interval; infinite where the trials say nothing

    @property
    def are_equal(self) -> NDArray[np.bool_]:
        """(k,) whether the interval lies within the margin."""
        return np.asarray(np.abs(self.mean) + self.half_width < MARGIN)


class PairFit:
    """Values of trials, fitted by a weight for each pair of units."""

    def __init__(self, features: Floats, values: Floats) -> None:
        """Fits them by least squares.

        Args:
            features: (trials, pairs) 1/2 if the pair's first comes before its second, else -1/2.
            values: (trials,).
        """
        centred = features - features.mean(axis=0)
        targets = values - values.mean()
        inverse = np.linalg.pinv(centred)
        self._weights = inverse @ targets
        self._known = inverse @ centred  # projects on what the trials vary in
        self._gram = centred.T @ centred
        self._covariance = inverse @ inverse.T  # of the weights, in variances of a trial
        self._freedom = len(values) - 1 - int(np.linalg.matrix_rank(centred))
        residual = targets - centred @ self._weights
        self._noise = math.sqrt(residual @ residual / max(self._freedom, 1))

    def differences(self, contrasts: Floats) -> Differences:
        """Returns what some orders are worth over another.

        Args:
            contrasts: (k, pairs) the orders' features minus those of the other.
        """
        half_width = np.full(len(contrasts), np.inf)
        if self._freedom > 0:
            variance = (contrasts @ self._covariance * contrasts).sum(axis=1)
            half_width = t_quantile(self._freedom) * self._noise * np.sqrt(np.maximum(variance, 0))
        unknown = np.abs(contrasts - contrasts @ self._known).max(axis=1, initial=0.0) > _ROUNDING
        same = np.abs(contrasts).max(axis=1, initial=0.0) == 0
        half_width = np.where(unknown, np.inf, np.where(same, 0.0, half_width))
        return Differences(contrasts @ self._weights, half_width)

    def best(self, features: Floats) -> int:
        """Returns which of some orders has the highest fitted value, by their features."""
        return int(np.argmax(np.round(features @ self._weights, 9)))

    def more_trials(self, contrasts: Floats, even: Floats, noise: float) -> int:
        """Returns how many more trials would tell orders apart, or show them equal.

        Args:
            contrasts: (k, pairs) the orders' features minus those of another.
            even: (pairs, pairs) what one more trial adds to the products of features, on average,
                if it is of an order drawn evenly.
            noise: standard deviation of a trial.
        """

        def is_told(more: int) -> bool:
            gram = self._gram + more * even
            solved = contrasts @ np.linalg.pinv(gram, hermitian=True)
            is_known = np.abs(solved @ gram - contrasts).max(initial=0.0) < _ROUNDING
            variance = float((solved * contrasts).sum(axis=1).max(initial=0.0))
            return is_known and Z_95 * noise * math.sqrt(variance) <= MARGIN / 2

        low, high = -1, 0
        while not is_told(high) and high < _MOST_TRIALS:
            low, high = high, max(2 * high, 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_told(middle) else (middle, high)
        return high
