import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats

from tests.ordersearch.quick import HOSTS
from workflow_rl.ordersearch import fitting
from workflow_rl.ordersearch.fitting import Fits, Points, _likelihood, _loss, fitted
from workflow_rl.ordersearch.kernel import Hyperparameters, typical
from workflow_rl.workflow.orders import TYPES, Orders

ORDERS = [3, 3, 3, 17, 60, 60, 99, 118, 7, 17]
# What is believed before anything is seen; lengthscales are in pairs of five units.
LENGTHSCALES = stats.gamma(3.0, scale=1 / 0.5)
OUTPUT_SCALE = stats.gamma(2.0, scale=1 / 1.5)
NOISE = stats.lognorm(1.0, scale=math.exp(-2.0))


def values(number: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=number)


def natural(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float, float]:
    """Lengthscales, output scale, noise and mean of hyper-parameters as `_loss` takes them."""
    return np.exp(x[:-3]), math.exp(x[-3]), math.exp(x[-2]), x[-1]


def log_likelihood(
    x: NDArray[np.float64], orders: Orders, indices: list[int], y: NDArray[np.float64]
) -> float:
    """From the textbook and every single trial."""
    lengthscales, output, noise, mean = natural(x)
    features = orders.precedence(indices)
    distance = (features[:, None] != features[None]) @ (1 / lengthscales)
    total = output * np.exp(-distance) + noise * np.eye(len(y))
    return float(stats.multivariate_normal(np.full(len(y), mean), total).logpdf(y))


def log_posterior(x: NDArray[np.float64], orders: Orders, *trials: Any) -> float:
    lengthscales, output, noise, _ = natural(x)
    prior = LENGTHSCALES.logpdf(lengthscales / (len(orders.pairs) / 10)).sum()
    prior += OUTPUT_SCALE.logpdf(output) + NOISE.logpdf(noise)
    return log_likelihood(x, orders, *trials) + float(prior)


def logs_of(found: Hyperparameters) -> NDArray[np.float64]:
    logs = [2 * math.log(found.deviation), 2 * math.log(found.noise), found.mean]
    return np.concatenate([np.log(found.lengthscales), logs])


def test_trials_of_one_order_are_one_point() -> None:
    points, y = Points.of(TYPES, ORDERS, values(10)), values(10)
    assert points.indices == (3, 17, 60, 99, 118, 7)
    assert points.counts.tolist() == [3, 2, 2, 1, 1, 1]
    assert points.means[0] == pytest.approx(y[:3].mean())
    assert points.scatter[0] == pytest.approx(((y[:3] - y[:3].mean()) ** 2).sum())
    some, alone = (
        points.some(np.array([1, 4, 5])),
        Points.of(TYPES, [17, 118, 7, 17], y[[3, 7, 8, 9]]),
    )
    assert (some.indices, some.key()) == (alone.indices, alone.key())
    assert (some.features == alone.features).all()


def test_points_are_told_apart_by_their_orders_and_by_all_that_was_observed() -> None:
    keys = {
        Points.of(TYPES, orders, np.array(y)).key()
        for orders, y in [
            ([3, 17], [1.0, 2.0]),
            ([3, 18], [1.0, 2.0]),
            ([3, 17], [1.0, 2.5]),
            ([3, 17, 17], [1.0, 2.0, 2.0]),  # as often as before, but for one
            ([3, 17, 17], [1.0, 1.0, 3.0]),  # of the same mean
        ]
    }
    assert len(keys) == 5


@pytest.mark.parametrize("orders", [TYPES, HOSTS])
def test_the_loss_is_the_negative_log_posterior_of_each_trial(orders: Orders) -> None:
    """But for a constant: that of the priors is left out."""
    rng = np.random.default_rng(4)
    indices = orders.draw(rng, 9).tolist() * 2
    points, y = Points.of(orders, indices, values(18)), values(18)
    start = logs_of(typical(len(orders.pairs)))
    others = start + rng.normal(scale=0.7, size=(4, len(start)))
    for at in others:
        difference = _loss(at, points)[0] - _loss(start, points)[0]
        expected = log_posterior(start, orders, indices, y) - log_posterior(at, orders, indices, y)
        assert difference == pytest.approx(expected / 18, rel=1e-9)
        likelihood = log_likelihood(at, orders, indices, y)
        assert _likelihood(points, *natural(at))[0] == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.parametrize("orders", [TYPES, HOSTS])
def test_the_gradient_is_that_of_numeric_differentiation(orders: Orders) -> None:
    rng = np.random.default_rng(1)
    indices = orders.draw(rng, 12).tolist()
    points = Points.of(orders, indices + indices[:3], values(15))
    at = np.concatenate([rng.normal(1.5, 0.3, len(orders.pairs)), [0.2, -1.0, 0.3]])
    _, gradient = _loss(at, points)
    for k in [*range(0, len(at) - 3, len(at) // 13), -3, -2, -1]:
        step = np.zeros(len(at))
        step[k] = 1e-6
        above, below = _loss(at + step, points)[0], _loss(at - step, points)[0]
        assert gradient[k] == pytest.approx((above - below) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("orders", [TYPES, HOSTS])
def test_no_other_hyperparameters_nearby_are_more_probable_than_the_fitted(orders: Orders) -> None:
    rng = np.random.default_rng(5)
    indices = orders.draw(rng, 15).tolist() + orders.draw(rng, 2).tolist() * 3
    y = orders.precedence(indices) @ rng.normal(size=len(orders.pairs)) + rng.normal(size=21)
    y = stats.zscore(y, ddof=1)
    at = logs_of(fitted(Points.of(orders, indices, y)))
    best = log_posterior(at, orders, indices, y)
    for k in range(-5, 0):  # two lengthscales, output scale, noise, mean
        for shift in (-0.1, 0.1):
            step = np.zeros(len(at))
            step[k] = shift
            assert log_posterior(at + step, orders, indices, y) < best


def test_what_is_fitted_stays_in_its_ranges() -> None:
    """Values that nobody standardised drive it to their ends, and no farther."""
    indices = TYPES.draw(np.random.default_rng(0), 20).tolist() * 2
    one_pair = TYPES.precedence(indices)[:, 0] + 0.1 * values(40)
    huge = fitted(Points.of(TYPES, indices, 1e6 * one_pair))
    assert huge.lengthscales.min() == pytest.approx(0.5)
    assert huge.lengthscales.max() == pytest.approx(50.0)
    assert huge.deviation**2 == pytest.approx(1e4)
    assert huge.noise**2 == pytest.approx(2.0)
    tiny = fitted(Points.of(TYPES, indices, 1e-6 * one_pair))
    assert tiny.deviation**2 == pytest.approx(1e-4)
    assert tiny.noise**2 == pytest.approx(1e-4)
    indices = HOSTS.draw(np.random.default_rng(0), 20).tolist()
    one_pair = HOSTS.precedence(indices)[:, 0] + 0.1 * values(20)
    longer = fitted(Points.of(HOSTS, indices, 1e6 * one_pair)).lengthscales  # of 66 pairs
    assert (longer.min(), longer.max()) == (pytest.approx(3.3), pytest.approx(330.0))


@pytest.mark.parametrize("pairs", [10, 66])
def test_typical_is_what_lies_between_the_mode_and_the_mean_of_the_priors(pairs: int) -> None:
    found = typical(pairs)
    assert found.mean == 0
    assert len(found.lengthscales) == pairs
    assert np.ptp(found.lengthscales) == 0
    typical_length = found.lengthscales[0] / (pairs / 10)  # the more pairs, the longer
    assert (3.0 - 1) / 0.5 < typical_length < LENGTHSCALES.mean()
    assert (2.0 - 1) / 1.5 < found.deviation**2 < OUTPUT_SCALE.mean()
    assert math.exp(-2.0 - 1.0) < found.noise**2 < NOISE.mean()


@pytest.mark.parametrize("failure", [RuntimeError, FloatingPointError, None])
def test_a_fit_that_fails_leaves_what_is_typical(
    failure: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object, start: NDArray[np.float64], **options: object) -> SimpleNamespace:
        if failure:
            raise failure("no root")
        return SimpleNamespace(x=np.where(np.arange(len(start)) == 4, np.nan, start))

    monkeypatch.setattr(fitting, "minimize", fails)
    found, expected = fitted(Points.of(TYPES, ORDERS, values(10))), typical(10)
    assert (logs_of(found) == logs_of(expected)).all()


@pytest.fixture
def fitted_to(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The orders that fits are made to, one after the other; none is found."""
    made: list[tuple[int, ...]] = []

    def notes(*given: object, args: tuple[Points], **options: object) -> None:
        made.append(args[0].indices)
        raise RuntimeError("enough")

    monkeypatch.setattr(fitting, "minimize", notes)
    return made


def observed(number: int, seed: int = 0) -> Points:
    """The first of 300 different orders of hosts."""
    indices = np.random.default_rng(0).choice(HOSTS.total, 300, replace=False)[:number]
    return Points.of(HOSTS, indices.tolist(), np.random.default_rng(seed).normal(size=number))


@pytest.mark.parametrize("number", [2, 128])
def test_up_to_128_orders_every_look_fits_to_all(
    number: int, fitted_to: list[tuple[int, ...]]
) -> None:
    fits, points = Fits(), observed(number)
    for _ in range(2):
        fits.of(points)
    assert fitted_to == [points.indices] * 2


def test_beyond_them_a_fit_holds_until_there_are_a_tenth_more(
    fitted_to: list[tuple[int, ...]],
) -> None:
    fits = Fits()
    found = [fits.of(observed(number)) for number in (129, 140, 141, 155, 156, 157)]
    every = observed(300).indices
    assert fitted_to == [every[:128], every[:141], every[:156]]
    assert found[0] is found[1] is not found[2] is found[3] is not found[4] is found[5]


def test_a_fit_to_many_is_to_256_of_them_evenly_taken(fitted_to: list[tuple[int, ...]]) -> None:
    points = observed(285)  # 282 is a step of a tenth
    Fits().of(points)
    assert fitted_to == [tuple(points.indices[k * 281 // 255] for k in range(256))]


def test_a_fit_to_other_values_is_another(fitted_to: list[tuple[int, ...]]) -> None:
    fits, some, others = Fits(), observed(130, seed=1), observed(130, seed=2)
    for points in (some, some, others, others, some, others):
        fits.of(points)
    assert len(fitted_to) == 4


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
        categorical = CategoricalKernel(
            ard_num_dims=10, lengthscale_constraint=Interval(0.05, 5.0).double()
        )
        categorical.register_prior(
            "lengthscale_prior", GammaPrior(3.0, 0.5), lambda it: 10 * it.lengthscale
        )
        scaled = ScaleKernel(categorical, outputscale_prior=GammaPrior(2.0, 1.5))
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
        categorical.lengthscale, scaled.outputscale, likelihood.noise = 0.5, 1.0, 0.1
        fit_gpytorch_mll(ExactMarginalLogLikelihood(likelihood, model), max_attempts=1)
    points = Points.of(TYPES, indices, y)
    theirs = np.concatenate(
        [
            np.log(10 * categorical.lengthscale.detach().numpy()[0]),
            [math.log(scaled.outputscale.item()), math.log(likelihood.noise.item())],
            [model.mean_module.constant.item()],
        ]
    )
    at = logs_of(fitted(points))
    assert _loss(at, points)[0] <= _loss(theirs, points)[0] + 1e-5
    np.testing.assert_allclose(at, theirs, atol=0.05)
