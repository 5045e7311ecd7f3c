from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.ordersearch.kernel import (
    LONGEST,
    SHORTEST,
    features,
    lengthscales_in_pairs,
    mallows_kernel,
)
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, kendall_distance

LENGTHSCALES = (SHORTEST + 0.01, 1.0, 3.0, 10.0, LONGEST - 0.1)  # in pairs
EVERY_ORDER = range(NUM_ORDERS)


def kernel_of(lengthscale: float) -> Any:
    kernel = mallows_kernel().double()
    kernel.lengthscale = lengthscale / len(PAIRS)
    return kernel


def covariance(kernel: Any) -> torch.Tensor:
    everywhere = features(EVERY_ORDER)
    result: torch.Tensor = kernel(everywhere, everywhere).to_dense().detach()
    return result


def test_features_say_for_each_pair_which_comes_first() -> None:
    given = features([0, 119])
    assert given.shape == (2, len(PAIRS))
    assert given.dtype == torch.float64
    assert given.tolist() == [[1.0] * len(PAIRS), [-1.0] * len(PAIRS)]


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_covariance_falls_exponentially_with_the_kendall_distance(lengthscale: float) -> None:
    distance = np.array([[kendall_distance(a, b) for b in EVERY_ORDER] for a in EVERY_ORDER])
    kernel = kernel_of(lengthscale)
    # What was asked for, up to the rounding of its transform.
    exact = lengthscales_in_pairs(kernel).mean().item()
    assert exact == pytest.approx(lengthscale, rel=1e-5)
    np.testing.assert_allclose(covariance(kernel).numpy(), np.exp(-distance / exact), rtol=1e-12)


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_covariance_is_symmetric_with_a_unit_diagonal(lengthscale: float) -> None:
    given = covariance(kernel_of(lengthscale))
    assert torch.equal(given, given.T)
    assert torch.equal(given.diagonal(), torch.ones(NUM_ORDERS, dtype=torch.float64))


@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_covariance_of_all_120_is_positive_definite(lengthscale: float) -> None:
    given = covariance(kernel_of(lengthscale)).numpy()
    assert np.linalg.eigvalsh(given).min() > 0
    np.linalg.cholesky(given)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(SHORTEST * 1.01, LONGEST * 0.99), min_size=10, max_size=10))
def test_any_weights_of_pairs_are_a_covariance(lengthscales: list[float]) -> None:
    kernel = mallows_kernel().double()
    kernel.lengthscale = torch.tensor([lengthscales]) / len(PAIRS)
    given = covariance(kernel).numpy()
    np.testing.assert_array_equal(given, given.T)
    np.testing.assert_array_equal(given.diagonal(), 1.0)
    assert np.linalg.eigvalsh(given).min() > 0


def test_each_pair_counts_by_its_own_lengthscale() -> None:
    kernel = mallows_kernel().double()
    kernel.lengthscale = torch.arange(1.0, 11.0)[None] / len(PAIRS)
    different = (features([0]) != features([77]))[0].numpy()
    assert 1 < different.sum() < len(PAIRS)
    covariance = kernel(features([0]), features([77])).to_dense().item()
    expected = np.exp(-sum(1 / (p + 1) for p in np.flatnonzero(different)))
    assert covariance == pytest.approx(expected, rel=1e-5)


def test_the_lengthscales_of_pairs_that_differ_can_be_learned() -> None:
    kernel = kernel_of(2.5)
    kernel(features([0]), features([5])).to_dense().sum().backward()
    assert kernel.raw_lengthscale.grad is not None
    learned = kernel.raw_lengthscale.grad[0].numpy() != 0
    assert learned.tolist() == (features([0]) != features([5]))[0].tolist()


@pytest.mark.parametrize("lengthscale", [SHORTEST / 2, LONGEST * 2])
def test_a_lengthscale_out_of_range_cannot_be(lengthscale: float) -> None:
    with pytest.raises(RuntimeError):
        kernel_of(lengthscale)


def test_the_prior_is_one_of_pairs() -> None:
    # Its peak, 4 pairs, is where the slope is nothing.
    kernel = kernel_of(4.0)
    ((_, _, prior, closure, _),) = kernel.named_priors()
    prior.log_prob(closure(kernel)).sum().backward()
    assert kernel.raw_lengthscale.grad.abs().max().item() < 1e-6
