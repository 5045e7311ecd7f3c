"""A Gaussian process over orders, with fitted lengthscales, scale and noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from workflow_rl.estimates import Floats
from workflow_rl.ordersearch.fitting import Fits, Points, features_of
from workflow_rl.ordersearch.kernel import Hyperparameters, typical
from workflow_rl.processes import one_thread
from workflow_rl.workflow.orders import Indices, Orders

_ROUNDING: Final = 1e-9  # a smaller spread, relative to the values, is none


@dataclass(frozen=True)
class Posterior:
    """What is believed of some orders' values; (k,) each."""

    mean: Floats
    deviation: Floats  # of the value itself, without the noise of observing it
    noise: float  # standard deviation of an observation around the value
    lengthscale: float  # pairs ordered differently, on average over the pairs


class OrderGP:
    """A Gaussian process fitted to observed values of orders."""

    def __init__(
        self,
        orders: Orders,
        indices: Sequence[int],
        values: Sequence[float],
        fits: Fits | None = None,
    ) -> None:
        """Fits lengthscales, scale and noise, the values standardised.

        Where there is nothing to fit (one value, or equal ones) or the fit fails, they stay
        at what the priors hold typical.

        Args:
            orders: the search space.
            indices: the orders observed, at least one, the same one perhaps several times.
            values: what was observed of each, a finite number.
            fits: earlier fits to reuse where there are many points; by default a new fit.
        """
        observed = np.asarray(values, np.float64)
        self._orders = orders
        self._centre = float(observed.mean())
        spread = float(observed.std(ddof=1)) if len(observed) > 1 else 0.0
        varies = spread > _ROUNDING * max(1.0, abs(self._centre))
        self._scale = spread if varies else 1.0
        targets = (observed - self._centre) / self._scale if varies else np.zeros(len(observed))
        self._points = points = Points.of(orders, indices, targets)
        with one_thread():
            self._fit = (fits or Fits()).of(points) if varies else typical(len(orders.pairs))
            self._root = _root(points, self._fit)
            residuals = (points.means - self._fit.mean)[:, None]
            self._weights = torch.cholesky_solve(residuals, self._root)
        self._pending: tuple[tuple[int, ...], Points, Tensor] = ((), points, self._root)

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
        fit, features = self._fit, features_of(self._orders, at)
        with one_thread():
            across = fit.covariance(features, self._points.features)
            mean = fit.mean + (across @ self._weights)[:, 0]
            root = self._root
            if len(pending):
                points, root = self._with(tuple(pending))
                across = fit.covariance(features, points.features)
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
        """Returns points and root including pending orders; cached for the next call."""
        if self._pending[0] != pending:
            points = self._points.with_more(self._orders, pending)
            self._pending = pending, points, _root(points, self._fit)
        return self._pending[1:]


def _root(points: Points, fit: Hyperparameters) -> Tensor:
    """Returns the lower Cholesky root of the covariance of the points' means."""
    total = fit.covariance(points.features, points.features)
    total.diagonal().add_(fit.noise**2 / points.counts)
    root: Tensor = torch.linalg.cholesky(total)
    return root
