"""The ranking of all orders, with how sure it is."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.studies.landscape.table import Landscape
from workflow_rl.studies.landscape.variance import OrderEffect, decompose

Floats = NDArray[np.float64]
_DRAWS: Final = 2_000
_TAIL: Final = 2.5  # percent on each side of a 95 % interval


@dataclass(frozen=True)
class Belief:
    """What is believed of each order's value; (120,) each.

    Means of few noisy trainings are too far apart: the highest of 120 is partly luck. Each is
    therefore drawn towards the mean of all by the share of its variance that is noise. Equal orders
    share one belief, which rests on the trainings of all of them.
    """

    mean: Floats
    deviation: Floats


@dataclass(frozen=True)
class Standing:
    """One order's place."""

    order: int
    mean: float  # of its trainings, one for each seed
    half_width: float  # of the 95 % interval of that mean
    believed: float
    rank_low: int  # 95 % interval of its rank among all
    rank_high: int
    compliance: float
    compliance_true: float
    compliant: int  # seeds for which it complied


def believe(landscape: Landscape) -> Belief:
    """Returns what the trainings let one believe of each order's value."""
    values = landscape.levelled
    names, members = np.unique(landscape.classes, return_inverse=True)
    indicator = np.eye(len(names))[members]
    sizes = indicator.sum(axis=0)
    per_class = values @ indicator / sizes  # (seeds, classes)
    noise = _noise_of_means(values, per_class, members)
    means = per_class.mean(axis=0)
    spread = float(means.var(ddof=1)) if len(means) > 1 else 0.0
    signal = max(spread - noise, 0.0)
    weight = signal / (signal + noise) if signal + noise > 0 else 1.0
    mean = means.mean() + weight * (means - means.mean())
    deviation = np.full(len(means), math.sqrt(weight * noise))
    return Belief(mean[members], deviation[members])


def _noise_of_means(values: Floats, per_class: Floats, members: NDArray[np.int64]) -> float:
    """Returns the variance of a class's mean by chance; 0 where nothing tells of chance."""
    seeds, orders = values.shape
    classes = per_class.shape[1]
    if seeds > 1 and classes > 1:
        return float(decompose(per_class)[2].mean_square / seeds)
    freedom = orders - classes
    if not freedom:
        return 0.0
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
    belief = believe(landscape)
    rng = np.random.default_rng([seed, 123])
    names, first, members = np.unique(landscape.classes, return_index=True, return_inverse=True)
    draws = rng.normal(belief.mean[first], belief.deviation[first], (_DRAWS, len(names)))
    # An order's rank may be any among its equals.
    draws = draws[:, members] + 1e-9 * rng.random((_DRAWS, len(members)))
    ranks = np.argsort(np.argsort(-draws, axis=1), axis=1) + 1
    low, high = np.percentile(ranks, [_TAIL, 100 - _TAIL], axis=0)
    means = landscape.reward.mean(axis=0)
    order_of = np.lexsort((-means, ~landscape.is_eligible))
    return [
        Standing(
            order=order,
            mean=float(means[order]),
            half_width=float(halves[order]),
            believed=float(belief.mean[order]),
            rank_low=math.floor(low[order]),
            rank_high=math.ceil(high[order]),
            compliance=float(landscape.compliance[:, order].mean()),
            compliance_true=float(landscape.compliance_true[:, order].mean()),
            compliant=int(landscape.is_compliant[:, order].sum()),
        )
        for order in order_of.tolist()
    ]


def _half_widths(landscape: Landscape, effect: OrderEffect) -> Floats:
    """Returns (120,) half of the 95 % interval of each order's mean over seeds.

    Some orders are noisier than others. An order with equals is as noisy as all trainings of its
    class are; without equals there are too few trainings to tell, and all orders share the noise
    that is left when what seeds give all orders alike is taken out.
    """
    from scipy.stats import t

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
            quantile = float(t.ppf(1 - _TAIL / 100, freedom))
            halves[inside] = quantile * math.sqrt(variance / seeds)
    return halves
