"""Variance explained by the order, effects of pairs, and the ranking of orders with intervals."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import (
    Estimate,
    Floats,
    VarianceSource,
    analyse_variance,
    deviation_of,
    f_interval,
    permutation_p_value,
    rank_correlation,
    t_quantile,
)
from workflow_rl.studies.landscape import Landscape

_ALPHA: Final = 0.05
_DRAWS: Final = 2_000  # of all orders' true values, behind the intervals of ranks
_ENDS: Final = (2.5, 97.5)  # percentiles that bound a 95 % interval


@dataclass(frozen=True)
class OrderEffect:
    """Rewards = level + order + seed + noise, for orders crossed with seeds.

    Seeds differ in their base policy and in all chance of training. What an order gains by one
    seed's base policy and not by another's is noise here: it says nothing about the order.
    """

    order: VarianceSource
    seed: VarianceSource
    noise: VarianceSource
    share: float  # of the variance of single trainings, between orders; seeds' levels left out
    share_low: float  # its 95 % interval
    share_high: float
    p_value: float  # of a permutation test over orders

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation by order, by seed, and of a single training by noise, unbiased."""
        noise = self.noise.mean_square
        orders, seeds = self.order.freedom + 1, self.seed.freedom + 1
        return {
            "order": deviation_of((self.order.mean_square - noise) / seeds),
            "seed": deviation_of((self.seed.mean_square - noise) / orders),
            "noise": deviation_of(noise),
        }

    @property
    def matters(self) -> bool:
        """Whether orders differ by more than chance explains."""
        return self.p_value < _ALPHA

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return asdict(self) | {"deviations": self.deviations}


def order_effect(values: Floats, seed: int = 0) -> OrderEffect:
    """Decomposes the variance of rewards into order, seed and noise.

    The interval is that of the F distribution; the p-value needs no such assumption: it is the
    share of shuffles of the orders, within each seed, that vary at least as much between orders.

    Args:
        values: (seeds, orders) rewards.
        seed: of the shuffles.
    """
    order, of_seeds, noise = analyse_variance(values, rows="seed", columns="order")
    seeds, orders = values.shape
    if not noise.freedom or not noise.squares:
        return OrderEffect(order, of_seeds, noise, math.nan, math.nan, math.nan, math.nan)
    ratio = order.mean_square / noise.mean_square
    low, high = (_share(bound, seeds) for bound in f_interval(order, noise))
    p_value = permutation_p_value(values, np.zeros(orders, np.int64), seed)
    return OrderEffect(order, of_seeds, noise, _share(ratio, seeds), low, high, p_value)


def _share(ratio: float, seeds: int) -> float:
    """Returns the variance between orders over the variance of one training, given F."""
    signal = max((ratio - 1) / seeds, 0.0)
    return signal / (1 + signal)


@dataclass(frozen=True)
class EqualsEffect:
    """By how much orders differ that must be equal: within seeds, and consistently over seeds."""

    classes: int
    between: float  # standard deviation of the means of classes
    within: float  # pooled standard deviation of equals trained from the same base policy
    ratio: float  # variance of equals' means over that of noise: 1 if they really are equal
    p_value: float  # of a permutation test within classes

    @property
    def are_equal(self) -> bool:
        """Whether equals differ by no more than chance explains."""
        return self.p_value >= _ALPHA


def equals_effect(values: Floats, classes: NDArray[np.int64], seed: int = 0) -> EqualsEffect | None:
    """Compares orders that must be equal; None if there are no two.

    Args:
        values: (seeds, orders) rewards.
        classes: (orders,) the class of each; orders of one class must be equal.
        seed: of the shuffles.
    """
    means, members = class_means(values, classes)
    (seeds, orders), number = values.shape, means.shape[1]
    freedom = orders - number
    if not freedom:
        return None
    inside = values - means[:, members]
    consistent = seeds * float(np.sum(inside.mean(axis=0) ** 2)) / freedom
    rest = inside - inside.mean(axis=0)
    noise = float(np.sum(rest**2)) / (freedom * (seeds - 1)) if seeds > 1 else math.nan
    return EqualsEffect(
        classes=number,
        between=float(means.mean(axis=0).std(ddof=1)) if number > 1 else math.nan,
        within=deviation_of(float(np.sum(inside**2)) / (freedom * seeds)),
        ratio=consistent / noise if noise else math.nan,
        p_value=permutation_p_value(inside, classes, seed) if seeds > 1 else math.nan,
    )


def class_means(values: Floats, classes: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Returns (seeds, classes) the mean of each class, and (orders,) the class's column."""
    names, members = np.unique(classes, return_inverse=True)
    indicator = np.eye(len(names))[members]  # (orders, classes)
    return values @ indicator / indicator.sum(axis=0), members


@dataclass(frozen=True)
class PairEffectOverSeeds:
    """The effect of one unit before another on the mean return, other pairs held fixed."""

    first: str  # the better way round
    second: str
    worth: Estimate  # mean over seeds, whose interval is not known with one seed
    of_seeds: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return vars(self) | {"worth": self.worth.mean, "half_width": self.worth.half_width}


def pair_effects_over_seeds(landscape: Landscape) -> list[PairEffectOverSeeds]:
    """Returns the effect of each pair, the largest first.

    For each seed by itself the rewards are regressed on the pairs; the interval is that of the
    seeds' coefficients, so it holds for other base policies, too. Orders that mostly do not comply
    are left out.
    """
    kept, orders = landscape.is_eligible, landscape.orders
    precedence = orders.precedence(landscape.listed[kept]).astype(np.float64)
    design = np.hstack([np.ones((len(precedence), 1)), precedence])
    # A feature goes from -1 to +1, so the effect of a pair is twice its coefficient.
    worth = 2 * (np.linalg.pinv(design) @ landscape.reward[:, kept].T)[1:]  # (pair, seed)
    effects = []
    for (a, b), values in zip(orders.pairs, worth, strict=True):
        if values.mean() < 0:
            a, b, values = b, a, -values
        names = orders.units.names[a], orders.units.names[b]
        effects.append(PairEffectOverSeeds(*names, Estimate.of_few(values), tuple(values.tolist())))
    return sorted(effects, key=lambda effect: -effect.worth.mean)


# --- the ranking


@dataclass(frozen=True)
class Standing:
    """One order's place in the ranking of a landscape, which holds what was measured."""

    order: int  # its column
    reward: Estimate  # mean of its trainings, one for each seed
    believed: float  # that mean, shrunk
    rank_low: int  # 95 % interval of its rank among all
    rank_high: int


def shrink_means(landscape: Landscape) -> tuple[Floats, float]:
    """Returns (orders,) the shrunk mean of each, and the standard error of them, empirical Bayes.

    Means of few noisy trainings are too far apart: the highest of 120 is partly luck. Each is
    therefore shrunk towards the mean of all by the share of its variance that is noise. Equal
    orders share one mean, which rests on the trainings of all of them.
    """
    values = landscape.levelled
    per_class, members = class_means(values, landscape.classes)
    noise = _noise_of_means(values, landscape.error, per_class, members)
    means = per_class.mean(axis=0)
    spread = float(means.var(ddof=1)) if len(means) > 1 else 0.0
    signal = max(spread - noise, 0.0)
    weight = signal / (signal + noise) if signal + noise > 0 else 1.0
    mean = means.mean() + weight * (means - means.mean())
    return mean[members], math.sqrt(weight * noise)


def _noise_of_means(
    values: Floats, error: Floats, per_class: Floats, members: NDArray[np.int64]
) -> float:
    """Returns the variance of a class's mean by chance.

    With one seed and no equals only the games behind each value tell of chance.
    """
    seeds, orders = values.shape
    classes = per_class.shape[1]
    if seeds > 1 and classes > 1:
        noise = analyse_variance(per_class, rows="seed", columns="class")[2]
        return float(noise.mean_square / seeds)
    freedom = orders - classes
    if not freedom:
        return float(np.mean(error**2) / seeds)
    inside = float(np.sum((values - per_class[:, members]) ** 2)) / (freedom * seeds)
    return float(inside * classes / orders / seeds)


def rank(landscape: Landscape, effect: OrderEffect, seed: int = 0) -> list[Standing]:
    """Returns all orders, those that comply in most trainings first, then by mean reward.

    The effect tells the noise of single trainings, the seed is that of the draws behind the
    intervals of ranks.
    """
    halves = _half_widths(landscape, effect)
    believed, deviation = shrink_means(landscape)
    low, high = _rank_intervals(believed, deviation, landscape, seed)
    means = landscape.reward.mean(axis=0)
    ranking = np.lexsort((-means, ~landscape.is_eligible)).tolist()
    return [
        Standing(
            order=order,
            reward=Estimate(float(means[order]), float(halves[order])),
            believed=float(believed[order]),
            rank_low=min(math.floor(low[order]), place),
            rank_high=max(math.ceil(high[order]), place),
        )
        for place, order in enumerate(ranking, 1)
    ]


def rank_agreement(one: Landscape, other: Landscape) -> float:
    """Returns the rank correlation (Spearman) of two landscapes' mean rewards.

    Orders that are equal in the first share the mean of their class, so that only differences that
    can be real count. NaN where one of them is constant.
    """
    classes = one.classes
    a, b = (
        (np.bincount(classes, land.reward.mean(axis=0)) / np.bincount(classes))[classes]
        for land in (one, other)
    )
    return rank_correlation(a, b)


def _rank_intervals(
    believed: Floats, deviation: float, landscape: Landscape, seed: int
) -> tuple[Floats, Floats]:
    """Returns (orders,) the ends of each order's rank, over draws of all orders' true values.

    As in the ranking, orders that mostly do not comply come after the others.
    """
    rng = np.random.default_rng([seed, 123])
    _, first, members = np.unique(landscape.classes, return_index=True, return_inverse=True)
    draws = rng.normal(believed[first], deviation, (_DRAWS, len(first)))
    # An order's rank may be any among its equals.
    draws = draws[:, members] + 1e-9 * rng.random((_DRAWS, len(members)))
    below = np.ptp(draws) + 1.0
    draws = draws - below * ~landscape.is_eligible
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    low, high = np.percentile(ranks, _ENDS, axis=0)
    return low, high


def _half_widths(landscape: Landscape, effect: OrderEffect) -> Floats:
    """Returns (orders,) half of the 95 % interval of each order's mean over seeds.

    Some orders are noisier than others. An order with equals is as noisy as all trainings of its
    class are; without equals there are too few trainings to tell, and all orders share the noise
    that is left when what seeds give all orders alike is taken out.
    """
    seeds = len(landscape.seeds)
    halves = np.full(landscape.orders.count, np.nan)
    if seeds < 2:
        return halves
    for name in np.unique(landscape.classes):
        inside = landscape.classes == name
        values = landscape.reward[:, inside]
        if inside.sum() > 1:
            variance, freedom = float(values.var(ddof=1)), values.size - 1
        else:
            variance, freedom = effect.noise.mean_square, effect.noise.freedom
        if freedom:
            halves[inside] = t_quantile(freedom) * math.sqrt(variance / seeds)
    return halves
