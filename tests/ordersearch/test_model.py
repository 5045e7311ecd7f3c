import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.ordersearch.quick import EVERY, PAIRS, PRECEDENCE
from workflow_rl.ordersearch.fitting import Fits, Points, fitted
from workflow_rl.ordersearch.kernel import Hyperparameters, typical
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

DIFFERENT = PRECEDENCE[:, None] != PRECEDENCE[None]  # (120, 120, 10)


def pairwise(seed: int) -> NDArray[np.float64]:
    """Values of all orders that are sums of what each pair's arrangement is worth."""
    worth = np.random.default_rng(seed).normal(size=len(PAIRS))
    return -30.0 + PRECEDENCE @ worth


def sample(seed: int, number: int, noise: float) -> tuple[list[int], list[float]]:
    rng = np.random.default_rng(seed)
    orders = rng.choice(NUM_ORDERS, number, replace=False)
    values = pairwise(seed)[orders] + noise * rng.normal(size=number)
    return orders.tolist(), values.tolist()


def dense(
    gp: OrderGP, orders: list[int], values: list[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The textbook posterior at the fitted hyper-parameters, in the values' own units."""
    fitted = gp.hyperparameters
    covariance = fitted.deviation**2 * np.exp(-(DIFFERENT @ (1 / fitted.lengthscales)))
    observed = covariance[np.ix_(orders, orders)] + fitted.noise**2 * np.eye(len(orders))
    across = np.linalg.solve(observed, covariance[orders]).T
    mean = fitted.mean + across @ (np.array(values) - fitted.mean)
    variance = fitted.deviation**2 - np.sum(across * covariance[orders].T, axis=1)
    return mean, np.sqrt(variance)


@pytest.mark.parametrize(
    ("orders", "values"),
    [
        *(sample(n, n, noise) for n, noise in ((2, 0.5), (8, 0.1), (20, 1.0), (120, 0.5))),
        ([4, 4, 4, 60, 60, 110], [-20.0, -21.0, -20.5, -30.0, -29.0, -25.0]),
        ([3], [-12.5]),
        ([3, 50, 100], [-12.5, -12.5, -12.5]),
    ],
    ids=["2", "8", "20", "120", "repeated", "one", "equal"],
)
def test_posterior_equals_a_dense_solve(orders: list[int], values: list[float]) -> None:
    gp = OrderGP(TYPES, orders, values)
    mean, deviation = dense(gp, orders, values)
    belief = gp.posterior(EVERY)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(belief.deviation, deviation, rtol=1e-4)


def test_the_lengthscale_told_is_that_of_the_mean_slope() -> None:
    equal = Hyperparameters(np.full(len(PAIRS), 4.0), 0.0, 1.0, 0.1)
    assert equal.lengthscale == pytest.approx(4.0)
    halves = Hyperparameters(np.repeat([2.0, 5.0], 5), 0.0, 1.0, 0.1)
    assert halves.lengthscale == pytest.approx(stats.hmean(halves.lengthscales))


def test_what_is_fitted_to_standardised_values_is_told_in_the_values_own_units() -> None:
    orders, values = sample(2, 9, 0.5)
    found = OrderGP(TYPES, orders, values).hyperparameters
    expected = fitted(Points.of(TYPES, orders, stats.zscore(values, ddof=1)))
    scale = stats.tstd(values)
    assert found.lengthscales == pytest.approx(expected.lengthscales)
    assert found.mean == pytest.approx(np.mean(values) + scale * expected.mean)
    assert found.deviation == pytest.approx(scale * expected.deviation)
    assert found.noise == pytest.approx(scale * expected.noise)


@pytest.mark.parametrize("orders", [[3], [3, 50, 50]])
def test_where_there_is_nothing_to_fit_it_is_typical_around_the_value(orders: list[int]) -> None:
    found = OrderGP(TYPES, orders, [-12.5] * len(orders)).hyperparameters
    expected = typical(len(PAIRS))
    assert (found.lengthscales == expected.lengthscales).all()
    assert (found.mean, found.deviation) == (-12.5, expected.deviation)
    assert found.noise == expected.noise


class Noiseless(Fits):
    """Holds every observation exact."""

    def of(self, points: Points) -> Hyperparameters:
        return Hyperparameters(np.full(len(PAIRS), 5.0), 0.0, 1.0, 1e-9)


def test_what_is_known_exactly_has_no_deviation() -> None:
    orders, values = sample(4, 60, 0.0)
    belief = OrderGP(TYPES, orders, values, Noiseless()).posterior(orders)
    assert belief.mean == pytest.approx(values)
    assert belief.deviation == pytest.approx(np.zeros(60), abs=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0, -1e6])
def test_a_spread_counts_from_a_billionth_of_the_values_on(level: float) -> None:
    """Of 1, if they are smaller: two values x apart have a standard deviation of x / sqrt(2)."""
    for spread, is_one in ((0.9e-9, False), (1.1e-9, True)):
        far = math.sqrt(2) * spread * max(1.0, abs(level))
        belief = OrderGP(TYPES, [0, 119], [level, level + far]).posterior(EVERY)
        assert (belief.deviation.max() < 0.01) == is_one


def test_pending_orders_shrink_the_deviation_and_leave_the_mean() -> None:
    orders, values = sample(5, 10, 0.5)
    gp = OrderGP(TYPES, orders, values)
    pending = [order for order in range(NUM_ORDERS) if order not in orders][:3]
    before, after = gp.posterior(EVERY), gp.posterior(EVERY, pending)
    np.testing.assert_array_equal(after.mean, before.mean)
    assert (after.deviation <= before.deviation + 1e-9).all()
    assert (after.deviation[pending] < 0.9 * before.deviation[pending]).all()
    expected = [float(before.mean[order]) for order in pending]
    _, deviation = dense(gp, orders + pending, values + expected)
    np.testing.assert_allclose(after.deviation, deviation, rtol=1e-4)


def test_what_is_pending_may_change_from_look_to_look() -> None:
    sampled = sample(5, 10, 0.5)
    gp = OrderGP(TYPES, *sampled)
    for pending in ([], [8], [8, 9], [9, 8], [8, 8], [9], []):
        alone = OrderGP(TYPES, *sampled).posterior([5, 77], pending)
        np.testing.assert_allclose(gp.posterior(EVERY, pending).deviation[[5, 77]], alone.deviation)
