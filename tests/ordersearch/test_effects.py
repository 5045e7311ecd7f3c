"""The weights of explanations against the same model written another way, and what follows of them.

The model: a level that may be anything, an effect for each pair of the set, normal with a deviation
of 1.5, 6 or 24 times the noise of a trial; and of that noise's variance as much known beforehand as
one trial tells, that it is a hundredth of the values' variance.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.special import softmax
from scipy.stats import multivariate_t, t

from workflow_rl.ordersearch.effects import (
    LEVEL,
    PairWeights,
    alternatives,
    clear_pairs,
    weigh_pairs,
)

Floats = NDArray[np.float64]
SIZES = (1.5, 6.0, 24.0)
KNOWN_NOISE = 0.01


def drawn(trials: int, pairs: int, seed: int) -> tuple[Floats, Floats]:
    """Features, the first two pairs alike but for one trial, and values that hang on the first."""
    rng = np.random.default_rng(seed)
    features = rng.choice([-0.5, 0.5], size=(trials, pairs))
    features[1:, 1] = features[1:, 0]
    features[0, 1] = -features[0, 0]
    return features, -20.0 + 5.0 * features[:, 0] + rng.normal(scale=2.0, size=trials)


def by_the_dense_model(features: Floats, values: Floats) -> dict[str, Floats]:
    """Weighs every set by the density of the values, a multivariate t, with no shortcut."""
    n, pairs = features.shape
    spread = values.std()
    contrasts = null_space(np.ones((1, n))).T  # what the level cannot reach
    targets = contrasts @ values / spread
    rows = []
    for k in range(pairs + 1):
        for chosen, size in itertools.product(itertools.combinations(range(pairs), k), SIZES):
            inputs = contrasts @ features[:, chosen]
            shape = np.eye(n - 1) + size**2 * inputs @ inputs.T
            log_prior = -k - math.log(math.comb(pairs, k))
            density = multivariate_t.logpdf(targets, shape=KNOWN_NOISE * shape, df=1)
            solved = np.linalg.solve(shape, np.column_stack([targets, inputs]))
            unexplained = KNOWN_NOISE + targets @ solved[:, 0]
            covariance = size**2 * np.eye(k) - size**4 * inputs.T @ solved[:, 1:]
            mean, variance = np.zeros(pairs), np.full(pairs, np.nan)
            mean[list(chosen)] = size**2 * inputs.T @ solved[:, 0]
            variance[list(chosen)] = np.diag(covariance) * unexplained / n
            rows.append((log_prior + density, mean, variance, unexplained))
    log_weights, mean, variance, unexplained = map(np.array, zip(*rows, strict=True))
    weight = softmax(log_weights)
    has = ~np.isnan(variance)
    below = np.where(has, t.cdf(0, n, loc=mean, scale=np.sqrt(variance)), 0.0)
    variance = np.where(has, variance, 0.0)
    deviations = []
    for pair in range(pairs):  # of the mixture: within its parts and between them
        of_all, of_those = weight, weight * has[:, pair] / weight[has[:, pair]].sum()
        for share in (of_all, of_those):
            apart = mean[:, pair] - share @ mean[:, pair]
            deviations.append(math.sqrt(share @ (variance[:, pair] + apart**2)))
    return {
        "worth": spread * (weight @ mean),
        "error": spread * np.reshape(deviations, (pairs, 2)).max(axis=1),
        "positive": weight @ np.where(has, 1 - below, 0.0),
        "negative": weight @ below,
        "explained": 1 - weight @ unexplained / n,
    }


@pytest.mark.parametrize(
    ("trials", "pairs", "seed"), [(9, 3, 0), (14, 2, 1), (23, 3, 2), (8, 4, 5), (300, 2, 0)]
)
def test_sets_are_weighed_by_the_density_of_the_values(trials: int, pairs: int, seed: int) -> None:
    features, values = drawn(trials, pairs, seed)
    weights = weigh_pairs(features, values)
    expected = by_the_dense_model(features, values)
    assert weights.weight.sum() == pytest.approx(1.0)
    got = {
        "worth": weights.worth,
        "error": weights.error,
        "positive": weights.weight @ weights.positive,
        "negative": weights.weight @ weights.negative,
        "explained": weights.explained,
    }
    for name, values_of in expected.items():
        assert got[name] == pytest.approx(values_of, rel=1e-6), name
    probability = np.maximum(expected["positive"], expected["negative"])
    assert weights.probability == pytest.approx(probability, rel=1e-6)


def sets_looked_at(pairs: int) -> NDArray[np.int64]:
    """How many sets of each size."""
    features = np.random.default_rng(0).choice([-0.5, 0.5], size=(6, pairs))
    weights = weigh_pairs(features, np.arange(6.0))
    chosen = weights.positive + weights.negative > 0
    return np.bincount(chosen.sum(axis=1)) // len(SIZES)


def test_of_up_to_ten_pairs_every_set_is_looked_at_and_of_more_the_smaller_ones() -> None:
    assert sets_looked_at(4).tolist() == [1, 4, 6, 4, 1]
    assert sets_looked_at(10).tolist() == [math.comb(10, k) for k in range(11)]
    assert sets_looked_at(11).tolist() == [math.comb(11, k) for k in range(6)]  # 1,024, too
    assert sets_looked_at(12).tolist() == [math.comb(12, k) for k in range(5)]
    assert sets_looked_at(66).tolist() == [1, 66]


def believed(weight: list[float], positive: list[list[float]]) -> PairWeights:
    """Explanations by which each pair matters with a probability, or not at all."""
    nothing = np.zeros(len(positive[0]))
    chances = np.array(positive)
    return PairWeights(nothing, nothing, np.array(weight), chances, np.zeros_like(chances), 0.5)


def chance(weights: PairWeights, all_of: list[int], any_of: list[int]) -> float:
    """The probability that all of some pairs matter and one of others, case by case."""
    total = 0.0
    for weight, chances in zip(weights.weight, weights.positive, strict=True):
        for matter in itertools.product([False, True], repeat=len(chances)):
            is_so = all(matter[p] for p in all_of) and any(matter[p] for p in any_of)
            each = [c if m else 1 - c for c, m in zip(chances, matter, strict=True)]
            total += weight * math.prod(each) * is_so
    return total


def test_what_is_clear_and_what_is_not_told_apart_is_so_with_the_probability_asked_for() -> None:
    rng, said = np.random.default_rng(0), set()
    for _ in range(60):
        likely = 1 - rng.random((2, 3)) ** rng.choice([1, 5, 30], size=3)
        weights = believed(rng.dirichlet([1, 9]).tolist(), likely.tolist())
        falling = sorted(range(3), key=lambda pair: (-weights.probability[pair], pair))
        sure = [n for n in (1, 2, 3) if chance(weights, falling[:n], falling[:n]) > LEVEL]
        clear, rest = falling[: len(sure)], falling[len(sure) :]
        enough = [n + 1 for n in range(len(rest)) if chance(weights, clear, rest[: n + 1]) > LEVEL]
        either = rest[: enough[0]] if enough else []
        assert clear_pairs(weights) == clear
        assert alternatives(weights, clear) == either
        said.add((len(clear), len(either)))
    assert said >= {(0, 0), (0, 2), (0, 3), (1, 0), (1, 2), (2, 0), (3, 0)}


def test_exactly_the_level_is_enough() -> None:
    assert clear_pairs(believed([1.0], [[LEVEL]])) == [0]
    assert clear_pairs(believed([1.0], [[math.nextafter(LEVEL, 0)]])) == []
    assert alternatives(believed([LEVEL, 1 - LEVEL], [[1.0], [0.0]]), []) == [0]
    below = math.nextafter(LEVEL, 0)
    assert alternatives(believed([below, 1 - below], [[1.0], [0.0]]), []) == []
