"""The ranking of all orders, with how sure it is."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate, Floats, analyse_variance, rank_correlation, t_quantile
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.order_effects import OrderEffect

_DRAWS: Final = 2_000
_ENDS: Final = (2.5, 97.5)  # percentiles that bound a 95 % interval


@dataclass(frozen=True)
class ShrunkMeans:
    """Each order's value by its shrunk mean, as in empirical Bayes; (120,) each.

    Means of few noisy trainings are too far apart: the highest of 120 is partly luck. Each is
    therefore shrunk towards the mean of all by the share of its variance that is noise. Equal
    orders share one mean, which rests on the trainings of all of them.
    """

    mean: Floats
    deviation: Floats  # how far the true value may be from it


@dataclass(frozen=True)
class Standing:
    """One order's place in the ranking of a landscape, which holds what was measured."""

    order: int  # its column
    reward: Estimate  # mean of its trainings, one for each seed
    believed: float  # that mean, shrunk
    rank_low: int  # 95 % interval of its rank among all
    rank_high: int


def shrink_means(landscape: Landscape) -> ShrunkMeans:
    """Returns what the trainings let one expect of each order."""
    values = landscape.levelled
    names, members = np.unique(landscape.classes, return_inverse=True)
    indicator = np.eye(len(names))[members]
    sizes = indicator.sum(axis=0)
    per_class = values @ indicator / sizes  # (seeds, classes)
    noise = _noise_of_means(values, landscape.error, per_class, members)
    means = per_class.mean(axis=0)
    spread = float(means.var(ddof=1)) if len(means) > 1 else 0.0
    signal = max(spread - noise, 0.0)
    weight = signal / (signal + noise) if signal + noise > 0 else 1.0
    mean = means.mean() + weight * (means - means.mean())
    deviation = np.full(len(means), math.sqrt(weight * noise))
    return ShrunkMeans(mean[members], deviation[members])


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

    Args:
        landscape: what was trained.
        effect: its decomposition: the noise of single trainings.
        seed: of the draws behind the intervals of ranks.
    """
    halves = _half_widths(landscape, effect)
    shrunk = shrink_means(landscape)
    low, high = _rank_intervals(shrunk, landscape, seed)
    means = landscape.reward.mean(axis=0)
    order_of = np.lexsort((-means, ~landscape.is_eligible))
    places = enumerate(order_of.tolist(), 1)
    return [
        Standing(
            order=order,
            reward=Estimate(float(means[order]), float(halves[order])),
            believed=float(shrunk.mean[order]),
            rank_low=min(math.floor(low[order]), place),
            rank_high=max(math.ceil(high[order]), place),
        )
        for place, order in places
    ]


def rank_agreement(one: Landscape, other: Landscape) -> float:
    """Returns the rank correlation (Spearman) of two landscapes' mean rewards.

    Orders that are equal in the first share the mean of their class, so that only differences that
    can be real count. NaN where one of them makes no difference at all.
    """
    classes = one.classes
    a, b = (
        (np.bincount(classes, land.reward.mean(axis=0)) / np.bincount(classes))[classes]
        for land in (one, other)
    )
    return rank_correlation(a, b)


def _rank_intervals(shrunk: ShrunkMeans, landscape: Landscape, seed: int) -> tuple[Floats, Floats]:
    """Returns (120,) the ends of each order's rank, over draws of all orders' true values.

    As in the ranking, orders that mostly do not comply come after the others.
    """
    rng = np.random.default_rng([seed, 123])
    names, first, members = np.unique(landscape.classes, return_index=True, return_inverse=True)
    draws = rng.normal(shrunk.mean[first], shrunk.deviation[first], (_DRAWS, len(names)))
    # An order's rank may be any among its equals.
    draws = draws[:, members] + 1e-9 * rng.random((_DRAWS, len(members)))
    below = np.ptp(draws) + 1.0
    draws = draws - below * ~landscape.is_eligible
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    low, high = np.percentile(ranks, _ENDS, axis=0)
    return low, high


def _half_widths(landscape: Landscape, effect: OrderEffect) -> Floats:
    """Returns (120,) half of the 95 % interval of each order's mean over seeds.

    Some orders are noisier than others. An order with equals is as noisy as all trainings of its
    class are; without equals there are too few trainings to tell, and all orders share the noise
    that is left when what seeds give all orders alike is taken out.
    """
    seeds = len(landscape.seeds)
    halves = np.full(landscape.reward.shape[1], np.nan)
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
