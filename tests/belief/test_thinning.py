"""Fewer states for many: how many stay, which ones, and with what weight."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.belief.thinning import thin


def thinned(weights: list[float], limit: int, uniform: float) -> np.ndarray:
    values = np.array([*weights, 7.0])  # what lies behind the states is not touched
    thin(values, len(weights), limit, uniform)
    assert values[-1] == 7.0
    return values[:-1]


def test_every_state_keeps_its_weight_on_average() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(30, 0.3))
    grid = (np.arange(20_000) + 0.5) / 20_000
    mean = np.mean([thinned(weights.tolist(), 7, uniform) for uniform in grid], axis=0)
    np.testing.assert_allclose(mean, weights, atol=1e-4)


@given(
    weights=st.lists(st.floats(1e-12, 1.0), min_size=2, max_size=40),
    share=st.floats(0.0, 1.0, exclude_max=True),
    uniform=st.floats(1e-9, 1.0, exclude_max=True),
)
def test_as_many_stay_as_may_and_their_weight_is_that_of_all(
    weights: list[float], share: float, uniform: float
) -> None:
    limit = 1 + int(share * (len(weights) - 1))
    after = thinned(weights, limit, uniform)
    assert 1 <= (after > 0).sum() <= limit
    assert after.sum() == pytest.approx(sum(weights), rel=1e-6)


def test_it_ends_where_rounding_moves_the_threshold_across_equal_weights() -> None:
    after = thinned([0.001] * 7 + [0.0002] * 10, 9, 0.5)
    assert after[:7].tolist() == [0.001] * 7
    assert (after > 0).sum() == 9
    assert after.sum() == pytest.approx(0.009)
