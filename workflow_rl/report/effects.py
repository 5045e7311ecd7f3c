"""What is believed of every order, and what matters in an order."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from workflow_rl.estimates import Estimate, Floats
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import Indices, Orders

_NEEDED: Final = 2  # compliant trials, to learn from them alone
_FEWEST: Final = 3  # trials, to say anything of pairs
# How large effects and noise may be, in standard deviations of the observed rewards.
_EFFECT_SIZES: Final = np.geomspace(0.05, 4.0, 16)
_NOISE_SIZES: Final = np.geomspace(0.02, 1.5, 24)
_WRONG: Final = 0.05  # chance that one of all pairs is called clear by chance
_VAGUE: Final = 10.0  # of the mean of all orders, about which nothing is assumed


def worth_learning_from(seen: Sequence[Observation]) -> list[Observation]:
    """Returns the compliant trials, as the search does; with fewer than two of those, all."""
    compliant = [o for o in seen if o.is_compliant]
    return compliant if len(compliant) >= _NEEDED else list(seen)


@dataclass(frozen=True)
class OrderBeliefs:
    """What the search's Gaussian process believes of every order's value."""

    orders: Indices  # (k,) those believed of: all that are allowed, or if too many those tried
    mean: Floats  # (k,)
    deviation: Floats  # (k,)
    noise: float  # standard deviation of a trial around its order's value
    lengthscale: float  # pairs ordered differently
    trials: int  # it rests on
    only_compliant: bool  # whether those are the compliant ones; else all trials are used

    def of(self, order: int) -> Estimate:
        """Returns what is believed of one order."""
        place = int(np.searchsorted(self.orders, order))
        return Estimate.from_error(float(self.mean[place]), float(self.deviation[place]))


def fit_orders(orders: Orders, seen: Sequence[Observation]) -> OrderBeliefs | None:
    """Fits the Gaussian process of the search to its trials; None without any."""
    used = worth_learning_from(seen)
    if not used:
        return None
    from workflow_rl.ordersearch.model import OrderGP

    tried = np.unique([o.order for o in seen])
    at = orders.listed() if orders.is_listable else tried
    gp = OrderGP(orders, [o.order for o in used], [o.value for o in used])
    belief = gp.posterior(at)
    return OrderBeliefs(
        orders=at,
        mean=belief.mean,
        deviation=belief.deviation,
        noise=belief.noise,
        lengthscale=belief.lengthscale,
        trials=len(used),
        only_compliant=sum(o.is_compliant for o in seen) >= _NEEDED,
    )


@dataclass(frozen=True)
class PairModel:
    """Rewards as a sum of what each pair's arrangement is worth."""

    space: Orders  # whose pairs these are
    mean: Floats  # (pairs,) of a pair's first before its second over the reverse
    covariance: Floats  # (pairs, pairs)
    explained: float  # share of the trials' variance that the pairs explain
    orders: tuple[int, ...]  # of the trials it rests on

    def combined(self, weights: Floats) -> Estimate:
        """Returns what is known of a weighted sum of the effects."""
        variance = float(weights @ self.covariance @ weights)
        return Estimate.from_error(float(weights @ self.mean), max(variance, 0.0) ** 0.5)


def fit_pairs(space: Orders, seen: Sequence[Observation]) -> PairModel | None:
    """Regresses the trials' rewards on the features "A before B"; None if that says nothing.

    Bayesian and linear: each effect is normal around zero, and how large effects and noise are is
    averaged over, weighed by how well it explains the trials. So an effect is given with all other
    pairs held, is drawn towards zero only as far as the trials leave it open, and has an interval
    even where there are fewer trials than pairs. A plain difference of means would also credit a
    pair with what goes along with it: orders that have A before B more often have A before C, too.
    """
    used = worth_learning_from(seen)
    orders = tuple(o.order for o in used)
    values = np.array([o.value for o in used])
    if len(used) < _FEWEST or not values.std() > 0:
        return None
    spread = float(values.std(ddof=1))
    features = space.precedence(orders) / 2.0  # from one arrangement to the other is 1
    mean, covariance, noise = _averaged_regression(features, (values - values.mean()) / spread)
    return PairModel(
        space=space,
        mean=spread * mean,
        covariance=spread**2 * covariance,
        explained=float(np.clip(1 - noise, 0, 1)),
        orders=orders,
    )


def _averaged_regression(features: Floats, targets: Floats) -> tuple[Floats, Floats, float]:
    """Returns mean and covariance of the coefficients, and the variance of the noise.

    Every size of the effects and of the noise is tried, weighed by the likelihood of the targets.

    Args:
        features: (trials, pairs).
        targets: (trials,) standardised.
    """
    gram, n = features @ features.T, len(targets)
    log_weights, means, covariances, noises = [], [], [], []
    for effect in _EFFECT_SIZES:
        for noise in _NOISE_SIZES:
            total = effect**2 * gram + noise**2 * np.eye(n) + _VAGUE**2
            root = np.linalg.cholesky(total)
            whitened = np.linalg.solve(root, targets)
            across = effect**2 * np.linalg.solve(root, features)
            log_weights.append(-whitened @ whitened / 2 - np.log(np.diag(root)).sum())
            means.append(across.T @ whitened)
            covariances.append(effect**2 * np.eye(features.shape[1]) - across.T @ across)
            noises.append(noise**2)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    weights /= weights.sum()
    each = np.array(means)
    mean = weights @ each
    within = np.tensordot(weights, np.array(covariances), axes=1)
    between = (weights[:, None] * (each - mean)).T @ (each - mean)
    return mean, within + between, float(weights @ np.array(noises))


@dataclass(frozen=True)
class PairEffect:
    """What it is worth to put one unit before another."""

    first: str  # the better way round, as far as is known
    second: str
    worth: Estimate  # of `first` before `second` over the reverse, all other pairs as they are
    tried: int  # trials with `first` before `second`
    tried_reverse: int
    pairs: int = 10  # looked at

    @property
    def is_clear(self) -> bool:
        """Whether it stands out although so many pairs are looked at (Bonferroni, 95 %)."""
        needed = NormalDist().inv_cdf(1 - _WRONG / 2 / self.pairs)
        return self.worth.mean > needed * self.worth.error


def pair_effects(model: PairModel) -> list[PairEffect]:
    """Returns the effect of each pair, the largest first."""
    effects = []
    pairs, names = model.space.pairs, model.space.units.names
    ways = model.space.precedence(model.orders)
    for pair, (a, b) in enumerate(pairs):
        worth = model.combined(np.eye(len(pairs))[pair])
        ahead = int((ways[:, pair] > 0).sum())
        counts = (ahead, len(model.orders) - ahead)
        if worth.mean < 0:
            a, b, counts = b, a, counts[::-1]
            worth = Estimate(-worth.mean, worth.half_width)
        effects.append(PairEffect(names[a], names[b], worth, *counts, len(pairs)))
    return sorted(effects, key=lambda effect: -effect.worth.mean)


def position_effects(orders: Orders, beliefs: OrderBeliefs) -> Floats | None:
    """Returns (unit, position) what the orders with the unit there are worth over all.

    From the Gaussian process, not from the pairs: a sum of pairs is linear in the position. None
    where there are too many orders to list; NaN where no allowed order has the unit there.
    """
    if not orders.is_listable:
        return None
    places = orders.positions(beliefs.orders)
    worth = np.full((orders.n, orders.n), np.nan)
    for unit in range(orders.n):
        for position in range(orders.n):
            there = places[:, unit] == position
            if there.any():
                worth[unit, position] = beliefs.mean[there].mean()
    return worth - float(beliefs.mean.mean())
