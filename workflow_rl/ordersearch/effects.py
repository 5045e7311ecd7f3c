"""The effect of each pair "A before B", estimated from trials that a strategy picked.

Such trials are not a random sample: once orders with A before B look good, the search tries little
else, and other pairs that those orders share are confounded with it. A regression that shrinks all
pairs alike would spread one large effect over them. This is Bayesian model averaging instead: every
set of pairs is a model, weighted by its marginal likelihood. A pair that always occurred together
with another gets half of the probability, not half of the effect, and neither is called clear. The
choice of a trial depends only on the results before it, which leaves the likelihood unchanged.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate, Floats, t_probability

# Probability that everything called clear is right, taken together. Beyond 0.95, because trials may
# be noisier in some orders than in others, and an order worth more than its pairs (docs/report.md).
LEVEL: Final = 0.98
_EFFECT_SIZES: Final = (1.5, 6.0, 24.0)  # how large effects may be, in deviations of a trial
_MOST_SETS: Final = 1_024  # all sets of 10 pairs; of more pairs, the smaller sets
_LEAST_NOISE: Final = 0.01  # variance of a trial that is taken for one more trial's, of all trials'


@dataclass(frozen=True)
class PairWeights:
    """What the trials say of each pair, and of all of them together.

    An explanation is a set of pairs and a size of effects; (E,) of them. Signs are those of the
    features: positive if a pair's first before its second is better.
    """

    worth: Floats  # (pairs,) of the first before the second over the reverse
    error: Floats  # (pairs,) standard deviation of that belief
    weight: Floats  # (E,) of each explanation, 1 in all
    positive: Floats  # (E, pairs) probability that the pair matters this way round, given it
    negative: Floats  # (E, pairs) and the other way round
    explained: float  # share of the trials' variance

    @property
    def probability(self) -> Floats:
        """(pairs,) that a pair matters, the more probable way round."""
        return np.maximum(self.weight @ self.positive, self.weight @ self.negative)

    def matters(self, pair: int) -> Floats:
        """Returns (E,) the probability that a pair matters, the more probable way round."""
        positive, negative = self.positive[:, pair], self.negative[:, pair]
        return positive if self.weight @ positive >= self.weight @ negative else negative

    def estimate(self, pair: int) -> Estimate:
        """Returns the estimated effect of a pair."""
        return Estimate.from_error(float(self.worth[pair]), float(self.error[pair]))


def weigh_pairs(features: Floats, values: Floats) -> PairWeights:
    """Weighs every set of pairs by how well it explains the values.

    Linear and Bayesian, by conjugate priors: the level of all values is free, an effect is normal
    around 0, the noise of a trial unknown. Sets of one size are equally probable beforehand, and
    each further pair costs a factor of e: of ten pairs one often looks good by chance.

    Args:
        features: (trials, pairs) 1/2 if the pair's first comes before its second, else -1/2.
        values: (trials,) not all equal.
    """
    spread = float(values.std())
    inputs, targets = features - features.mean(axis=0), (values - values.mean()) / spread
    gram, along = inputs.T @ inputs, inputs.T @ targets
    freedom, total = float(len(values)), float(targets @ targets) + _LEAST_NOISE
    parts = [
        _of_one_size(gram, along, total, freedom, chosen, size)
        for chosen in _sets(features.shape[1])
        for size in _EFFECT_SIZES
    ]
    log_weight, mean, variance, residual = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    held = variance > 0
    score = np.divide(mean, np.sqrt(variance), out=np.zeros_like(mean), where=held)
    positive = np.where(held, t_probability(score, freedom), 0.0)
    worth, error = _believed(weight, mean, variance)
    return PairWeights(
        worth=spread * worth,
        error=spread * error,
        weight=weight,
        positive=positive,
        negative=np.where(held, 1 - positive, 0.0),
        explained=float(np.clip(1 - weight @ residual / freedom, 0.0, 1.0)),
    )


def _believed(weight: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Returns (pairs,) mean and standard deviation of what is believed of each effect.

    That an effect is exactly none is no knowledge but a way to weigh explanations: the deviation is
    at least that among the explanations which have the pair in them.
    """
    worth = weight @ mean
    overall = weight @ (variance + mean**2) - worth**2
    inside = np.where(variance > 0, weight[:, None], 0.0)
    share = inside.sum(axis=0)
    given = (inside * mean).sum(axis=0) / share
    within = (inside * (variance + mean**2)).sum(axis=0) / share - given**2
    return worth, np.sqrt(np.maximum(np.maximum(overall, within), 0.0))


def _of_one_size(
    gram: Floats,
    along: Floats,
    total: float,
    freedom: float,
    chosen: NDArray[np.int64],
    size: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Returns log weight, means, variances and unexplained squares of sets of a given size.

    Args:
        gram: (pairs, pairs) products of the features.
        along: (pairs,) their products with the values.
        total: sum of the values' squares.
        freedom: degrees of freedom of the noise.
        chosen: (sets, k) the pairs of each set.
        size: of effects, in deviations of a trial.
    """
    sets, k = chosen.shape
    pairs = len(along)
    precision = gram[chosen[:, :, None], chosen[:, None, :]] + np.eye(k) / size**2
    inverse = np.linalg.inv(precision)
    target = along[chosen]
    best = np.einsum("sij,sj->si", inverse, target)
    residual = total - np.einsum("si,si->s", best, target)
    log_determinant = np.linalg.slogdet(precision)[1] + 2 * k * math.log(size)
    log_prior = -math.log(math.comb(pairs, k)) - k
    log_weight = log_prior - log_determinant / 2 - freedom / 2 * np.log(residual)
    mean, variance = np.zeros((2, sets, pairs))
    rows = np.arange(sets)[:, None]
    mean[rows, chosen] = best
    variance[rows, chosen] = np.diagonal(inverse, axis1=1, axis2=2) * (residual / freedom)[:, None]
    return log_weight, mean, variance, residual


@cache
def _sets(pairs: int) -> tuple[NDArray[np.int64], ...]:
    """Returns the sets of pairs by their size, from none on, as many as are looked at."""
    found: list[NDArray[np.int64]] = []
    number = 0
    for k in range(pairs + 1):
        number += math.comb(pairs, k)
        if number > _MOST_SETS and k > 1:
            break
        sets = list(itertools.combinations(range(pairs), k))
        found.append(np.array(sets, np.int64).reshape(len(sets), k))
    return tuple(found)


def clear_pairs(weights: PairWeights) -> list[int]:
    """Returns the pairs of which it is clear that they matter, all of them taken together."""
    clear, joint = [], weights.weight
    for pair in np.argsort(-weights.probability, kind="stable").tolist():
        joint = joint * weights.matters(pair)
        if float(joint.sum()) < LEVEL:
            break
        clear.append(pair)
    return clear


def alternatives(weights: PairWeights, clear: Sequence[int]) -> list[int]:
    """Returns the fewest other pairs of which at least one matters; none if that is not clear."""
    joint = weights.weight
    for pair in clear:
        joint = joint * weights.matters(pair)
    rest = [p for p in np.argsort(-weights.probability, kind="stable").tolist() if p not in clear]
    unexplained, found = joint, []
    for pair in rest:
        found.append(pair)
        unexplained = unexplained * (1 - weights.matters(pair))
        if float((joint - unexplained).sum()) >= LEVEL:
            return found
    return []
