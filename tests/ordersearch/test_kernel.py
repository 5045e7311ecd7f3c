import numpy as np
import pytest
import torch

from workflow_rl.ordersearch.kernel import LONGEST, SHORTEST, MallowsKernel, features
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, kendall_distance

LENGTHSCALES = (SHORTEST + 0.01, 1.0, 3.0, 10.0, LONGEST - 0.1)
EVERY_ORDER = range(NUM_ORDERS)


def kernel_of(lengthscale: float) -> MallowsKernel:
    kernel = MallowsKernel().double()
    kernel.lengthscale = lengthscale
    return kernel


def covariance(kernel: MallowsKernel) -> torch.Tensor:
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
    exact = kernel.lengthscale.item()  # what was asked for, up to the rounding of its transform
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


def test_the_diagonal_path_equals_the_diagonal_of_the_whole() -> None:
    kernel = kernel_of(2.5)
    some, others = features([0, 17, 60, 119]), features([3, 17, 0, 0])
    whole = kernel(some, others).to_dense().detach()
    alone = kernel(some, others, diag=True).detach()
    assert alone.shape == (4,)
    torch.testing.assert_close(alone, whole.diagonal(), rtol=1e-15, atol=0)


def test_several_sets_of_orders_are_handled_at_once() -> None:
    kernel = kernel_of(2.5)
    sets = torch.stack([features([0, 1, 2]), features([40, 50, 60])])
    together = kernel(sets, sets).to_dense().detach()
    assert together.shape == (2, 3, 3)
    for one, given in zip(sets, together, strict=True):
        torch.testing.assert_close(kernel(one, one).to_dense().detach(), given)
    assert kernel(sets, sets, diag=True).shape == (2, 3)


def test_the_lengthscale_can_be_learned() -> None:
    kernel = kernel_of(2.5)
    kernel(features([0]), features([5])).to_dense().sum().backward()
    assert kernel.raw_lengthscale.grad is not None
    assert kernel.raw_lengthscale.grad.abs() > 0
