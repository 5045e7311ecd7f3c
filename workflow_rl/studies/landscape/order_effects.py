"""How much the order matters, and what in it: orders against noise, equal orders, and pairs."""

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
)
from workflow_rl.studies.landscape.landscape import Landscape

_ALPHA: Final = 0.05


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
            "order": deviation_of((self.order.mean_square - noise) / self.seeds),
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
    """What orders that must be equal differ by, within seeds and all the same over seeds."""

    classes: int
    between: float  # standard deviation of the means of classes
    within: float  # pooled standard deviation of equals trained from the same base policy
    ratio: float  # variance of equals' means over that of noise: 1 if they really are equal
    p_value: float  # how often shuffled equals differ as consistently

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
    return EqualsEffect(
        classes=len(names),
        between=float(means.mean(axis=0).std(ddof=1)) if len(names) > 1 else math.nan,
        within=deviation_of(float(np.sum(inside**2)) / (freedom * seeds)),
        ratio=consistent / noise if noise else math.nan,
        p_value=permutation_p_value(inside, classes, seed) if seeds > 1 else math.nan,
    )


@dataclass(frozen=True)
class PairEffectOverSeeds:
    """What one type before another is worth, with the other pairs as they are."""

    first: str  # the better way round
    second: str
    worth: Estimate  # mean over seeds, whose interval is not known with one seed
    of_seeds: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "worth": self.worth.mean,
            "half_width": self.worth.half_width,
            "of_seeds": list(self.of_seeds),
        }


def pair_effects_over_seeds(landscape: Landscape) -> list[PairEffectOverSeeds]:
    """Returns the effect of each pair, the largest first.

    For each seed by itself the rewards are regressed on the pairs; the interval is that of the
    seeds' coefficients, so it holds for other base policies, too. Orders that mostly do not comply
    are left out.
    """
    kept, orders = landscape.is_eligible, landscape.orders
    precedence = orders.precedence(landscape.listed[kept]).astype(np.float64)
    design = np.hstack([np.ones((len(precedence), 1)), precedence])
    # A feature goes from -1 to +1, so a pair is worth twice its coefficient.
    worth = 2 * (np.linalg.pinv(design) @ landscape.reward[:, kept].T)[1:]  # (pair, seed)
    effects = []
    for (a, b), values in zip(orders.pairs, worth, strict=True):
        if values.mean() < 0:
            a, b, values = b, a, -values
        names = orders.units.names[a], orders.units.names[b]
        effects.append(PairEffectOverSeeds(*names, Estimate.of_few(values), tuple(values.tolist())))
    return sorted(effects, key=lambda effect: -effect.worth.mean)
