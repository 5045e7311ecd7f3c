import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from workflow_rl.ordersearch.acquisition import (
    compliance_chance,
    compliance_margin,
    constrained_improvement,
    upper_confidence_bound,
)
from workflow_rl.ordersearch.model import Posterior

Floats = NDArray[np.float64]


def belief(mean: list[float], deviation: list[float], noise: float = 0.0) -> Posterior:
    return Posterior(np.array(mean), np.array(deviation), noise, 5.0)


def test_the_bound_is_as_many_deviations_above_the_mean_as_asked_for() -> None:
    value = belief([-10.0, -12.0, -9.0], [1.0, 3.0, 0.0])
    assert upper_confidence_bound(value, 2.0).tolist() == [-8.0, -6.0, -9.0]
    assert upper_confidence_bound(value, 0.0).tolist() == [-10.0, -12.0, -9.0]


def test_the_chance_weighs_what_is_promised_and_only_that() -> None:
    bound, chance = np.array([-8.0, -6.0, -10.0, -13.0]), np.array([0.5, 0.0, 0.5, 0.1])
    assert constrained_improvement(bound, -10.0, chance).tolist() == [1.0, 0.0, 0.0, -3.0]
    little, chance = np.array([-9.5, -10.5]), np.array([0.5, 0.5])
    assert constrained_improvement(little, -10.0, chance).tolist() == [0.25, -0.5]


@given(
    st.lists(st.integers(-500, 500), min_size=3, max_size=20, unique=True),
    st.integers(-500, 500),
    st.floats(0.01, 1.0),
)
def test_with_equal_chances_the_ranking_is_that_of_the_bound(
    bounds: list[int], best: int, chance: float
) -> None:
    bound = np.array(bounds, float)
    score = constrained_improvement(bound, float(best), np.full(len(bounds), chance))
    assert np.argsort(score).tolist() == np.argsort(bound).tolist()


def test_the_margin_counts_deviations_of_an_observation_from_one_deviation_above_the_mean() -> None:
    compliance = belief([0.9, 0.95, 0.5], [0.03, 0.0, 0.3], noise=0.04)
    assert compliance_margin(compliance, 0.95) == pytest.approx(
        [(0.93 - 0.95) / 0.05, 0.0, (0.8 - 0.95) / np.hypot(0.3, 0.04)]
    )


def test_the_chance_is_the_normal_distribution_function() -> None:
    margin = np.array([-np.inf, -1.959964, 0.0, 1.959964, np.inf])
    np.testing.assert_allclose(compliance_chance(margin), [0.0, 0.025, 0.5, 0.975, 1.0], atol=1e-6)
