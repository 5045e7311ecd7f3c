from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.ordersearch.quick import EVERY, HOSTS, PRECEDENCE
from workflow_rl.ordersearch.fitting import features_of
from workflow_rl.ordersearch.kernel import covariance, typical
from workflow_rl.workflow.orders import TYPES, Orders

SHORTEST, LONGEST = 0.5, 50.0


def covariances(lengthscales: Any, orders: Orders = TYPES, at: Any = EVERY) -> NDArray[np.float64]:
    features = features_of(orders, at)
    each = torch.from_numpy(np.broadcast_to(lengthscales, len(orders.pairs)).astype(np.float64))
    return covariance(features, features, each).numpy()


def test_features_say_for_each_pair_which_comes_first() -> None:
    given = features_of(TYPES, [0, 119])
    assert given.dtype == torch.float64
    assert given.tolist() == [[1.0] * 10, [-1.0] * 10]
    assert features_of(HOSTS, [0]).shape == (1, 66)


@pytest.mark.parametrize("lengthscales", [SHORTEST, 3.0, LONGEST, np.arange(1.0, 11.0)], ids=repr)
def test_covariance_falls_exponentially_with_the_pairs_that_differ(lengthscales: Any) -> None:
    differ = PRECEDENCE[:, None] != PRECEDENCE[None]
    expected = np.exp(-(differ / lengthscales).sum(axis=-1))
    np.testing.assert_allclose(covariances(lengthscales), expected, rtol=1e-12)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(SHORTEST, LONGEST), min_size=10, max_size=10))
def test_any_weights_of_pairs_are_a_covariance_of_all_120(lengthscales: list[float]) -> None:
    given = covariances(lengthscales)
    np.testing.assert_allclose(given, given.T, rtol=1e-12)
    np.testing.assert_allclose(given.diagonal(), 1.0, rtol=1e-12)
    assert np.linalg.eigvalsh(given).min() > 0


def test_no_covariance_is_beyond_the_variance_by_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert covariances(rng.uniform(SHORTEST, 1.0, size=10)).max() <= 1.0


def test_orders_of_twelve_units_have_a_covariance() -> None:
    at = HOSTS.draw(np.random.default_rng(0), 60)
    given = covariances(typical(66).lengthscales, HOSTS, at)
    assert np.linalg.eigvalsh(given).min() > 0
    # Two orders drawn at random are as alike as two of five units are, on average.
    apart = given[np.triu_indices(60, 1)].mean()
    of_five = covariances(5.0)[np.triu_indices(120, 1)].mean()
    assert 0.7 < apart / of_five < 1.4
