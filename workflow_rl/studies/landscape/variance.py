"""How much the order matters: the variance between orders beside that of noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SHUFFLES: Final = 999
_ALPHA: Final = 0.05


@dataclass(frozen=True)
class Source:
    """One line of the decomposition: what varies, in how many ways, by how much."""

    name: str
    freedom: int
    squares: float  # sum of squared deviations

    @property
    def mean_square(self) -> float:
        """Squares per degree of freedom."""
        return self.squares / self.freedom if self.freedom else math.nan


@dataclass(frozen=True)
class OrderEffect:
    """Rewards = level + order + seed + noise, for orders crossed with seeds.

    Seeds differ in their base policy and in all chance of training. What an order gains by one
    seed's base policy and not by another's is noise here: it says nothing about the order.
    """

    order: Source
    seed: Source
    noise: Source
    share: float  # of the variance of single trainings, between orders; seeds' levels left out
    share_low: float  # its 95 % interval
    share_high: float
    p_value: float  # how often shuffled orders vary as much

    @property
    def seeds(self) -> int:
        """Trainings of each order."""
        return self.seed.freedom + 1

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation by order, by seed, and of a single training by noise, unbiased."""
        noise = self.noise.mean_square
        orders = self.order.freedom + 1
        return {
            "order": _root((self.order.mean_square - noise) / self.seeds),
            "seed": _root((self.seed.mean_square - noise) / orders),
            "noise": _root(noise),
        }

    @property
    def matters(self) -> bool:
        """Whether orders differ by more than chance explains."""
        return self.p_value < _ALPHA


@dataclass(frozen=True)
class EqualsEffect:
    """What orders that must be equal differ by, within seeds and all the same over seeds."""

    classes: int
    between: float  # standard deviation of the means of classes
    within: float  # pooled standard deviation of equals trained from the same base policy
    ratio: float  # variance of equals' means over that of noise: 1 if they really are equal
    p_value: float  # how often shuffled equals differ as consistently


def decompose(values: Floats) -> tuple[Source, Source, Source]:
    """Returns what varies between orders, between seeds, and beyond both.

    Args:
        values: (seeds, orders) rewards.
    """
    seeds, orders = values.shape
    grand = values.mean()
    order = Source("order", orders - 1, _between_orders(values))
    seed = Source("seed", seeds - 1, orders * float(np.sum((values.mean(1) - grand) ** 2)))
    left = float(np.sum((values - grand) ** 2)) - order.squares - seed.squares
    noise = Source("noise", order.freedom * seed.freedom, max(left, 0.0))
    return order, seed, noise


def order_effect(values: Floats, seed: int = 0) -> OrderEffect:
    """Decomposes rewards into order, seed and noise.

    The interval is that of the F distribution; the p-value needs no such assumption: it is the
    share of shuffles of the orders, within each seed, that vary at least as much between orders.

    Args:
        values: (seeds, orders) rewards.
        seed: of the shuffles.
    """
    order, of_seeds, noise = decompose(values)
    seeds, orders = values.shape
    if not noise.freedom or not noise.squares:
        return OrderEffect(order, of_seeds, noise, math.nan, math.nan, math.nan, math.nan)
    from scipy.stats import f

    ratio = order.mean_square / noise.mean_square
    quantiles = f.ppf([1 - _ALPHA / 2, _ALPHA / 2], order.freedom, noise.freedom)
    low, high = (_share(ratio / q, seeds) for q in quantiles.tolist())
    groups = np.zeros(orders, np.int64)
    p_value = _shuffled_p(values, groups, _between_orders, seed)
    return OrderEffect(order, of_seeds, noise, _share(ratio, seeds), low, high, p_value)


def equals_effect(values: Floats, classes: NDArray[np.int64], seed: int = 0) -> EqualsEffect | None:
    """Compares orders that must be equal; None if there are no two.

    Args:
        values: (seeds, orders) rewards.
        classes: (orders,) the class of each; orders of one class must be equal.
        seed: of the shuffles.
    """
    names, members = np.unique(classes, return_inverse=True)
    seeds, orders = values.shape
    freedom = orders - len(names)
    if not freedom:
        return None
    indicator = np.eye(len(names))[members]  # (orders, classes)
    means = values @ indicator / indicator.sum(axis=0)  # (seeds, classes)
    inside = values - means[:, members]
    consistent = seeds * float(np.sum(inside.mean(axis=0) ** 2)) / freedom
    rest = inside - inside.mean(axis=0)
    noise = float(np.sum(rest**2)) / (freedom * (seeds - 1)) if seeds > 1 else math.nan
    p_value = math.nan
    if seeds > 1:
        p_value = _shuffled_p(inside, classes, _between_orders, seed)
    return EqualsEffect(
        classes=len(names),
        between=float(means.mean(axis=0).std(ddof=1)) if len(names) > 1 else math.nan,
        within=_root(float(np.sum(inside**2)) / (freedom * seeds)),
        ratio=consistent / noise if noise else math.nan,
        p_value=p_value,
    )


def _between_orders(values: Floats) -> float:
    means = values.mean(axis=0)
    return len(values) * float(np.sum((means - means.mean()) ** 2))


def _shuffled_p(
    values: Floats, groups: NDArray[np.int64], statistic: Callable[[Floats], float], seed: int
) -> float:
    """Returns the share of shuffles, within each row and group, that reach the statistic."""
    rng = np.random.default_rng([seed, 122])
    reached = statistic(values) * (1 - 1e-12)
    count = 0
    sorting = np.argsort(groups, kind="stable")  # columns, group by group
    for _ in range(_SHUFFLES):
        keys = groups + rng.random(values.shape)
        shuffled = np.empty_like(values)
        shuffled[:, sorting] = np.take_along_axis(values, np.argsort(keys, axis=1), axis=1)
        count += statistic(shuffled) >= reached
    return (count + 1) / (_SHUFFLES + 1)


def _share(ratio: float, seeds: int) -> float:
    """Returns the variance between orders over the variance of one training, given F."""
    signal = max((ratio - 1) / seeds, 0.0)
    return signal / (1 + signal)


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0)) if math.isfinite(variance) else math.nan
