from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.ordersearch.quick import EVERY, PRECEDENCE
from workflow_rl.ordersearch.fitting import features_of
from workflow_rl.ordersearch.kernel import covariance
from workflow_rl.workflow.orders import TYPES, Orders

SHORTEST, LONGEST = 0.5, 50.0


def covariances(lengthscales: Any, orders: Orders = TYPES, at: Any = EVERY) -> NDArray[np.float64]:
    features = features_of(orders, at)
    each = torch.from_numpy(np.broadcast_to(lengthscales, len(orders.pairs)).astype(np.float64))
    return covariance(features, features, each).numpy()


@pytest.mark.parametrize("lengthscales", [SHORTEST, 3.0, LONGEST, np.arange(1.0, 11.0)], ids=repr)
def test_covariance_falls_exponentially_with_the_pairs_that_differ(lengthscales: Any) -> None:
    differ = PRECEDENCE[:, None] != PRECEDENCE[None]
    expected = np.exp(-(differ / lengthscales).sum(axis=-1))
    np.testing.assert_allclose(covariances(lengthscales), expected, rtol=1e-12)


def test_no_covariance_is_beyond_the_variance_by_rounding() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert covariances(rng.uniform(SHORTEST, 1.0, size=10)).max() <= 1.0
