"""A Gaussian process over orders, with fitted lengthscales, scale and noise.

Trials of one order are one point: their mean, as noisy as so many trials leave it, and their
scatter, which tells of the noise. Nothing is lost by that (the likelihood is the same), and the
cost grows with the orders tried, not with the trials.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.config import whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.fitting import (
    Hyperparameters,
    Points,
    features_of,
    fitted,
    typical,
)
from workflow_rl.ordersearch.kernel import covariance
from workflow_rl.processes import one_thread
from workflow_rl.workflow.orders import Indices, Orders

_ROUNDING: Final = 1e-9  # a smaller spread, relative to the values, is none
_ALWAYS: Final = 128  # points up to which every look fits anew
_GROWTH: Final = 1.1  # beyond them a fit is made when there are so many times more points ...
_MOST: Final = 256  # ... on so many of them, evenly taken


@dataclass(frozen=True)
class Posterior:
    """What is believed of some orders' values; (k,) each."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]  # of the value itself, without the noise of observing it
    noise: float  # standard deviation of an observation around the value
    lengthscale: float  # pairs ordered differently, on average over the pairs


class OrderGP:
    """A Gaussian process fitted to observed values of orders."""

    def __init__(
        self,
        orders: Orders,
        indices: Sequence[int],
        values: Sequence[float],
        fits: "Fits | None" = None,
    ) -> None:
        """Fits lengthscales, scale and noise, the values standardised.

        Where there is nothing to fit (one value, or equal ones) or the fit fails, they stay
        at what the priors hold typical.

        Args:
            orders: those there are.
            indices: the orders observed, the same one perhaps several times.
            values: what was observed of each.
            fits: earlier ones to take up where there are many points; by default a new fit.

        Raises:
            InvalidInputError: there are none, or one of them cannot be.
        """
        observed = _checked(orders, indices, values)
        smallest = _ROUNDING * max(1.0, abs(float(observed.mean())))
        spread = float(observed.std(ddof=1)) if len(observed) > 1 else 0.0
        varies = spread > smallest
        self._orders = orders
        self._centre = float(observed.mean())
        self._scale = spread if varies else 1.0
        targets = (observed - self._centre) / self._scale if varies else np.zeros(len(observed))
        points = Points.of(orders, indices, targets)
        with one_thread():
            self._fit = (fits or Fits()).of(points) if varies else typical(len(orders.pairs))
            self._points = points
            self._root = _root(points, self._fit)
            residuals = (points.means - self._fit.mean)[:, None]
            self._weights = torch.cholesky_solve(residuals, self._root)
        self._beside: tuple[tuple[int, ...], Points, Tensor] = ((), points, self._root)

    @property
    def hyperparameters(self) -> Hyperparameters:
        """What was fitted, in the units of the values."""
        fit = self._fit
        return Hyperparameters(
            lengthscales=fit.lengthscales,
            mean=self._centre + self._scale * fit.mean,
            deviation=self._scale * fit.deviation,
            noise=self._scale * fit.noise,
        )

    def posterior(self, at: Sequence[int] | Indices, pending: Sequence[int] = ()) -> Posterior:
        """Returns the belief about some orders.

        Args:
            at: the orders.
            pending: orders being tried now: they count as observed at their expected value,
                which leaves the mean as it is and takes away the uncertainty they will resolve.
        """
        fit, points = self._fit, self._points
        lengthscales = torch.from_numpy(fit.lengthscales)
        features = features_of(self._orders, at)
        with one_thread():
            across = fit.deviation**2 * covariance(features, points.features, lengthscales)
            mean = fit.mean + (across @ self._weights)[:, 0]
            root = self._root
            if len(pending):
                points, root = self._with(tuple(pending))
                across = fit.deviation**2 * covariance(features, points.features, lengthscales)
            explained = torch.linalg.solve_triangular(root, across.T, upper=False)
            variance = fit.deviation**2 - (explained**2).sum(dim=0)
        known = self.hyperparameters
        return Posterior(
            mean=self._centre + self._scale * mean.numpy(),
            deviation=self._scale * np.sqrt(np.maximum(variance.numpy(), 0.0)),
            noise=known.noise,
            lengthscale=known.lengthscale,
        )

    def _with(self, pending: tuple[int, ...]) -> tuple[Points, Tensor]:
        """Returns points and root when pending orders count, too; kept for the next look."""
        if self._beside[0] != pending:
            points = self._points.with_more(self._orders, pending)
            self._beside = pending, points, _root(points, self._fit)
        return self._beside[1:]


class Fits:
    """Hyper-parameters for a growing set of points: fitted seldom where points are many.

    What is fitted depends on the points alone, not on what was asked before.
    """

    def __init__(self) -> None:
        """Starts without any."""
        self._last: tuple[bytes, Hyperparameters] | None = None

    def of(self, points: Points) -> Hyperparameters:
        """Returns the hyper-parameters for points in the order of their first trials."""
        if len(points) <= _ALWAYS:
            return fitted(points)
        number = _ALWAYS
        while number * _GROWTH < len(points):
            number = math.ceil(number * _GROWTH)
        places = np.unique(np.linspace(0, number - 1, min(number, _MOST)).astype(np.int64))
        part = points.some(places)
        key = part.key()
        if self._last is None or self._last[0] != key:
            self._last = key, fitted(part)
        return self._last[1]


def _checked(
    orders: Orders, indices: Sequence[int], values: Sequence[float]
) -> NDArray[np.float64]:
    observed = np.asarray(values, np.float64)
    if not len(indices) or observed.shape != (len(indices),):
        raise InvalidInputError(
            f"a Gaussian process needs a value for each order and at least one, "
            f"not {observed.size} values for {len(indices)} orders"
        )
    for order, value in zip(indices, observed.tolist(), strict=True):
        whole_number("an observed order", order, 0, orders.total - 1)
        if not math.isfinite(value):
            raise InvalidInputError(f"the value of order {order} must be a number, not {value}")
    return observed


def _root(points: Points, fit: Hyperparameters) -> Tensor:
    """Returns the lower Cholesky root of the covariance of the points' means."""
    lengthscales = torch.from_numpy(fit.lengthscales)
    total = fit.deviation**2 * covariance(points.features, points.features, lengthscales)
    total.diagonal().add_(fit.noise**2 / points.counts)
    root: Tensor = torch.linalg.cholesky(total)
    return root
