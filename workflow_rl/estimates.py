"""The statistics of every result: means with their intervals, and what makes values vary.

Pure functions of numbers, so that an evaluation, a report and a study state the same thing in the
same way. Intervals are 95 % intervals throughout.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Z_95: Final = 1.959963984540054  # standard deviations to each side that hold 95 % of a normal
_TAIL: Final = 0.025  # probability beyond each end of a 95 % interval
_PERMUTATIONS: Final = 999
_PERMUTATION_STREAM: Final = 122  # keeps the shuffles independent of other samples of the same seed


@dataclass(frozen=True)
class Estimate:
    """A mean with the half-width of its 95 % interval, NaN if that is not known."""

    mean: float
    half_width: float = math.nan

    @classmethod
    def from_error(cls, mean: float, error: float) -> Self:
        """Returns the estimate with a standard error, taken as normal."""
        return cls(mean, Z_95 * error)

    @classmethod
    def of_many(cls, values: Floats) -> Self:
        """Returns the mean of many values, with the interval of the normal distribution."""
        return cls(float(values.mean()), float(half_widths(values)))

    @classmethod
    def of_few(cls, values: Floats) -> Self:
        """Returns the mean of a few values, such as one per seed, with Student's t interval."""
        if len(values) < 2:
            return cls(float(values.mean()))
        deviation = float(values.std(ddof=1))
        half_width = t_quantile(len(values) - 1) * deviation / math.sqrt(len(values))
        return cls(float(values.mean()), half_width)

    @property
    def error(self) -> float:
        """Standard error of a mean that is taken as normal."""
        return self.half_width / Z_95

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        """Returns `mean ± half-width`, a dash where that is not known."""
        return f"{self.mean:.2f} ± {number_text(self.half_width)}"


@dataclass(frozen=True)
class MeanAndDeviation:
    """The mean of some values, such as one per seed, and their standard deviation."""

    mean: float
    deviation: float  # NaN with one value

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Returns both; NaN without any value, or if one of them is NaN."""
        if not values:
            return cls(math.nan, math.nan)
        array = np.array(values, np.float64)
        deviation = float(array.std(ddof=1)) if len(array) > 1 else math.nan
        return cls(float(array.mean()), deviation)


def half_widths(values: Floats) -> Floats:
    """Returns the normal half-widths of the means over the first axis; NaN for a single value."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(Z_95 * values.std(axis=0, ddof=1) / math.sqrt(len(values)))


def t_quantile(freedom: int) -> float:
    """Returns the standard errors to each side that hold 95 % of Student's t distribution."""
    from scipy.stats import t

    return float(t.ppf(1 - _TAIL, freedom))


def t_probability(values: Floats, freedom: float) -> Floats:
    """Returns the probability of less than each value by Student's t distribution."""
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, values))


def between_and_within(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Returns the standard deviation of the groups' means, and the pooled one inside groups.

    The first is NaN with one group, the second if every group has one value.
    """
    means = np.array([np.mean(values) for values in groups])
    freedom = sum(len(values) - 1 for values in groups)
    squares = sum(float(np.sum((np.array(v) - np.mean(v)) ** 2)) for v in groups)
    between = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    return between, math.sqrt(squares / freedom) if freedom else math.nan


@dataclass(frozen=True)
class VarianceSource:
    """One row of an analysis of variance."""

    name: str
    freedom: int  # degrees of freedom
    squares: float  # sum of squared deviations

    @property
    def mean_square(self) -> float:
        """Squares per degree of freedom."""
        return self.squares / self.freedom if self.freedom else math.nan


def analyse_variance(
    values: Floats, *, rows: str, columns: str
) -> tuple[VarianceSource, VarianceSource, VarianceSource]:
    """Returns the two-way ANOVA: variation between columns, between rows, and residual.

    Args:
        values: (rows, columns), one value in each cell.
        rows: their name.
        columns: their name.
    """
    n_rows, n_columns = values.shape
    grand = values.mean()
    row_squares = n_columns * float(np.sum((values.mean(1) - grand) ** 2))
    column_squares = squares_between_columns(values)
    left = float(np.sum((values - grand) ** 2)) - column_squares - row_squares
    return (
        VarianceSource(columns, n_columns - 1, column_squares),
        VarianceSource(rows, n_rows - 1, row_squares),
        VarianceSource("noise", (n_columns - 1) * (n_rows - 1), max(left, 0.0)),
    )


def squares_between_columns(values: Floats) -> float:
    """Returns the sum of squares between columns of (rows, columns) values."""
    means = values.mean(axis=0)
    return len(values) * float(np.sum((means - means.mean()) ** 2))


def f_interval(signal: VarianceSource, noise: VarianceSource) -> tuple[float, float]:
    """Returns the 95 % interval of the true ratio of two mean squares, by the F distribution."""
    from scipy.stats import f

    ratio = signal.mean_square / noise.mean_square
    low, high = f.ppf([1 - _TAIL, _TAIL], signal.freedom, noise.freedom).tolist()
    return ratio / low, ratio / high


def permutation_p_value(values: Floats, groups: NDArray[np.int64], seed: int) -> float:
    """Returns the p-value of the variation between columns, by permutations within each row.

    Args:
        values: (rows, columns).
        groups: (columns,) the group of each; values are shuffled inside a group only.
        seed: of the shuffles.
    """
    rng = np.random.default_rng([seed, _PERMUTATION_STREAM])
    reached = squares_between_columns(values) * (1 - 1e-12)
    count = 0
    sorting = np.argsort(groups, kind="stable")  # columns, group by group
    for _ in range(_PERMUTATIONS):
        keys = groups + rng.random(values.shape)
        shuffled = np.empty_like(values)
        shuffled[:, sorting] = np.take_along_axis(values, np.argsort(keys, axis=1), axis=1)
        count += squares_between_columns(shuffled) >= reached
    return (count + 1) / (_PERMUTATIONS + 1)


def deviation_of(variance: float) -> float:
    """Returns the root of an estimated variance, which may be negative by chance: then 0."""
    return math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else math.nan


def rank_correlation(a: Floats, b: Floats) -> float:
    """Returns Spearman's correlation of two rows of values, NaN where one of them is constant."""
    from scipy.stats import rankdata

    ranks = rankdata([a, b], axis=1)
    return math.nan if (np.ptp(ranks, axis=1) == 0).any() else float(np.corrcoef(ranks)[0, 1])


def number_text(value: float, decimals: int = 2) -> str:
    """Writes a number; a dash if it is not known."""
    return "-" if math.isnan(value) else f"{value:.{decimals}f}"
