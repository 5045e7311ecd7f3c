"""Fitting a Gaussian process over orders: the posterior of its hyper-parameters, maximised.

Trials of one order are one point: their mean, as noisy as so many trials leave it, and their
scatter, which tells of the noise. Nothing is lost by that (the likelihood is the same), and the
cost grows with the orders tried, not with the trials.

Likelihood and gradient are written out: with features of +1 and -1 every part of them is a matrix
product, so that sixty-six lengthscales cost what ten do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

import numpy as np
import torch
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor

from workflow_rl.estimates import Floats
from workflow_rl.ordersearch.kernel import (
    Hyperparameters,
    covariance,
    log_prior,
    log_ranges,
    typical,
)
from workflow_rl.workflow.orders import Indices, Orders

_ALWAYS: Final = 128  # points up to which every call fits anew
_GROWTH: Final = 1.1  # beyond them a fit is repeated when the points have grown by this factor ...
_MOST: Final = 256  # ... on at most this many of them, evenly spaced


@dataclass(frozen=True)
class Points:
    """Observed values by order, in the order of first observations; n orders."""

    indices: tuple[int, ...]
    features: Tensor  # (n, pairs)
    counts: Tensor  # (n,) observations
    means: Tensor  # (n,) of them
    scatter: Tensor  # (n,) sum of their squared distances from the mean

    def __len__(self) -> int:
        """Returns the number of orders."""
        return len(self.indices)

    @classmethod
    def of(cls, orders: Orders, indices: Sequence[int], values: Floats) -> Self:
        """Gathers observations by order."""
        place: dict[int, int] = {}
        where = np.array([place.setdefault(int(index), len(place)) for index in indices])
        counts = np.bincount(where).astype(np.float64)
        means = np.bincount(where, values) / counts
        scatter = np.bincount(where, (values - means[where]) ** 2)
        rows = map(torch.from_numpy, (counts, means, scatter))
        return cls(tuple(place), features_of(orders, tuple(place)), *rows)

    def some(self, places: Indices) -> Self:
        """Returns the points at some places."""
        at = torch.from_numpy(places)
        kept = (self.features[at], self.counts[at], self.means[at], self.scatter[at])
        return type(self)(tuple(self.indices[place] for place in places.tolist()), *kept)

    def with_more(self, orders: Orders, indices: Sequence[int]) -> Self:
        """Returns the points after further observations, of which nothing but the number counts."""
        counts = dict(zip(self.indices, self.counts.tolist(), strict=True))
        for index in indices:
            counts[int(index)] = counts.get(int(index), 0.0) + 1.0
        everyone = tuple(counts)  # the observed ones come first
        new = everyone[len(self) :]
        nothing = torch.zeros(len(new), dtype=torch.float64)
        return type(self)(
            everyone,
            torch.cat([self.features, features_of(orders, new)]),
            torch.tensor(list(counts.values()), dtype=torch.float64),
            torch.cat([self.means, nothing]),
            torch.cat([self.scatter, nothing]),
        )

    def key(self) -> bytes:
        """Returns what tells these points from others."""
        arrays = (self.counts, self.means, self.scatter)
        return repr(self.indices).encode() + b"".join(a.numpy().tobytes() for a in arrays)


def features_of(orders: Orders, indices: Sequence[int] | Indices) -> Tensor:
    """Returns the precedence features (n, pairs) of orders."""
    return torch.from_numpy(orders.precedence(indices).astype(np.float64))


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


def fitted(points: Points) -> Hyperparameters:
    """Returns the most probable hyper-parameters of standardised values, else the typical ones."""
    pairs = points.features.shape[1]
    start = typical(pairs)
    logs = np.log([*start.lengthscales, start.deviation**2, start.noise**2])
    try:
        with _blas().limit(limits=1, user_api="blas"):  # waiting for threads costs ten times a fit
            found: Any = minimize(
                _loss,
                np.append(logs, start.mean),
                args=(points,),
                jac=True,
                method="L-BFGS-B",
                bounds=[*map(tuple, log_ranges(pairs)), (None, None)],
            )
    except (ArithmeticError, RuntimeError):  # no Cholesky root, say
        return start
    x = found.x
    if not np.isfinite(x).all():
        return start
    deviation, noise = math.exp(x[-3] / 2), math.exp(x[-2] / 2)
    return Hyperparameters(np.exp(x[:-3]), float(x[-1]), deviation, noise)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _loss(x: Floats, points: Points) -> tuple[float, Floats]:
    """Returns the negative log posterior per observation, and its gradient.

    `x` holds the logarithms of lengthscales, output scale and the noise's variance; then the mean.
    """
    lengthscales, output, noise = np.exp(x[:-3]), math.exp(x[-3]), math.exp(x[-2])
    observations = float(points.counts.sum())
    value, slope = _likelihood(points, lengthscales, output, noise, float(x[-1]))
    value_prior, slope_prior = log_prior(lengthscales, output, noise)
    gradient = np.append(slope[:-1] + slope_prior, slope[-1])
    return -(value + value_prior) / observations, -gradient / observations


def _likelihood(
    points: Points, lengthscales: Floats, output: float, noise: float, mean: float
) -> tuple[float, Floats]:
    """Returns the log likelihood, and its gradient by the others' logarithms and by the mean."""
    n, observations = len(points), float(points.counts.sum())
    of_orders = output * covariance(
        points.features, points.features, torch.from_numpy(lengthscales)
    )
    total = of_orders.clone()
    total.diagonal().add_(noise / points.counts)
    root = torch.linalg.cholesky(total)
    inverse = torch.cholesky_inverse(root)
    residuals = points.means - mean
    weights = inverse @ residuals
    scatter, repeats = float(points.scatter.sum()), observations - n
    value = (
        -float(residuals @ weights) / 2
        - float(root.diagonal().log().sum())
        - repeats / 2 * math.log(noise)
        - scatter / (2 * noise)
        - float(points.counts.log().sum()) / 2
        - observations / 2 * math.log(2 * math.pi)
    )
    pull = torch.outer(weights, weights) - inverse  # twice the slope by the covariance
    by_covariance = pull * of_orders
    everywhere = float(by_covariance.sum())
    alike = (points.features * (by_covariance @ points.features)).sum(dim=0).numpy()
    by_lengthscale = (everywhere - alike) / 4 / lengthscales
    by_noise = noise / 2 * float((pull.diagonal() / points.counts).sum())
    by_noise += scatter / (2 * noise) - repeats / 2
    slope = np.concatenate([by_lengthscale, [everywhere / 2, by_noise, float(weights.sum())]])
    return value, slope
