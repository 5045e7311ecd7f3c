import math
import warnings

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from workflow_rl.ordersearch.fitting import Points, _likelihood, _loss, fitted
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import units_of

HOSTS = Orders(units_of("hosts"))
ORDERS = [3, 3, 3, 17, 60, 60, 99, 118, 7, 17]


def values(number: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=number)


def test_trials_of_one_order_are_one_point() -> None:
    points = Points.of(TYPES, ORDERS, values(10))
    assert points.indices == (3, 17, 60, 99, 118, 7)
    assert points.counts.tolist() == [3, 2, 2, 1, 1, 1]
    assert points.means[0] == pytest.approx(values(10)[:3].mean())
    assert points.scatter[0] == pytest.approx(((values(10)[:3] - values(10)[:3].mean()) ** 2).sum())


def test_nothing_of_the_likelihood_is_lost_by_that() -> None:
    """Against the textbook: a normal distribution of all trials, each by itself."""
    y, lengthscales, output, noise, mean = values(10), np.linspace(1, 8, 10), 0.8, 0.3, 0.2
    found, _ = _likelihood(Points.of(TYPES, ORDERS, y), lengthscales, output, noise, mean)
    x = TYPES.precedence(ORDERS)
    different = x[:, None] != x[None]
    total = output * np.exp(-(different @ (1 / lengthscales))) + noise * np.eye(10)
    residuals = y - mean
    expected = -(
        residuals @ np.linalg.solve(total, residuals)
        + np.linalg.slogdet(total)[1]
        + 10 * math.log(2 * math.pi)
    )
    assert found == pytest.approx(expected / 2, rel=1e-10)


@pytest.mark.parametrize("orders", [TYPES, HOSTS])
def test_the_gradient_is_that_of_numeric_differentiation(orders: Orders) -> None:
    rng = np.random.default_rng(1)
    indices = orders.draw(rng, 12).tolist()
    points = Points.of(orders, indices + indices[:3], values(15))
    at = np.concatenate([rng.normal(1.5, 0.3, len(orders.pairs)), [0.2, -1.0, 0.3]])
    _, gradient = _loss(at, points, 1.0)
    for k in range(0, len(at), 1 + len(at) // 13):
        step = 1e-6 * (np.arange(len(at)) == k)
        above, below = _loss(at + step, points, 1.0)[0], _loss(at - step, points, 1.0)[0]
        assert gradient[k] == pytest.approx((above - below) / 2e-6, abs=1e-7)


@pytest.mark.slow
def test_the_fit_is_as_good_as_botorch_s() -> None:
    """BoTorch's own model of the same priors, fitted by its own optimiser, on all trials."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.kernels import CategoricalKernel
        from gpytorch.constraints import Interval
        from gpytorch.kernels import ScaleKernel
        from gpytorch.likelihoods import GaussianLikelihood
        from gpytorch.mlls import ExactMarginalLogLikelihood
        from gpytorch.priors import GammaPrior, LogNormalPrior

        rng = np.random.default_rng(2)
        indices = TYPES.draw(rng, 25).tolist()
        y = TYPES.precedence(indices) @ rng.normal(size=10) + 0.5 * rng.normal(size=25)
        y = (y - y.mean()) / y.std(ddof=1)
        kernel = CategoricalKernel(
            ard_num_dims=10, lengthscale_constraint=Interval(0.05, 5.0).double()
        )
        kernel.register_prior(
            "lengthscale_prior", GammaPrior(3.0, 0.5), lambda it: 10 * it.lengthscale
        )
        scaled = ScaleKernel(kernel, outputscale_prior=GammaPrior(2.0, 1.5))
        likelihood = GaussianLikelihood(
            noise_prior=LogNormalPrior(-2.0, 1.0), noise_constraint=Interval(1e-4, 2.0)
        )
        model = SingleTaskGP(
            torch.from_numpy(TYPES.precedence(indices)).double(),
            torch.from_numpy(y)[:, None],
            likelihood=likelihood,
            covar_module=scaled,
            outcome_transform=None,
        )
        kernel.lengthscale, scaled.outputscale, likelihood.noise = 0.5, 1.0, 0.1
        fit_gpytorch_mll(ExactMarginalLogLikelihood(likelihood, model), max_attempts=1)
    points = Points.of(TYPES, indices, y)
    theirs = np.concatenate(
        [
            np.log(10 * kernel.lengthscale.detach().numpy()[0]),
            [math.log(scaled.outputscale.item()), math.log(likelihood.noise.item())],
            [model.mean_module.constant.item()],
        ]
    )
    ours = fitted(points)
    logs = [2 * math.log(ours.deviation), 2 * math.log(ours.noise), ours.mean]
    at = np.concatenate([np.log(ours.lengthscales), logs])
    assert _loss(at, points, 1.0)[0] <= _loss(theirs, points, 1.0)[0] + 1e-5
    np.testing.assert_allclose(at, theirs, atol=0.05)
