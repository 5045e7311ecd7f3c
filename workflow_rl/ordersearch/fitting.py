"""Fitting a Gaussian process over orders: the posterior of its hyper-parameters, maximised.

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
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor

from workflow_rl.ordersearch.kernel import LONGEST, SHORTEST, covariance, scale_of
from workflow_rl.workflow.orders import Indices, Orders

# What the priors hold typical, values standardised: where a fit starts and, should it fail, stays.
_LENGTHSCALE: Final = 5.0  # in pairs, of five units
_OUTPUT_SCALE: Final = 1.0  # variance of orders
_NOISE: Final = 0.1  # variance of an observation
_NOISES: Final = (1e-4, 2.0)  # its range
_OUTPUT_SCALES: Final = (1e-4, 1e4)
# Gamma priors (shape, rate) of lengthscales and output scale, a log-normal one of the noise.
_LENGTHSCALE_PRIOR: Final = (3.0, 0.5)
_OUTPUT_SCALE_PRIOR: Final = (2.0, 1.5)
_NOISE_PRIOR: Final = (-2.0, 1.0)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Hyperparameters:
    """What is fitted."""

    lengthscales: Floats  # of each pair, in pairs ordered differently
    mean: float  # of the values of all orders
    deviation: float  # standard deviation of the value of an order before it is observed
    noise: float  # standard deviation of an observation around the value

    @property
    def lengthscale(self) -> float:
        """Pairs ordered differently over which the covariance falls by a factor of e, on average.

        That is the harmonic mean: what adds up over pairs is the inverse of their lengthscales.
        """
        return float(1 / np.mean(1 / self.lengthscales))


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
        return cls(
            tuple(place),
            features_of(orders, tuple(place)),
            torch.from_numpy(counts),
            torch.from_numpy(means),
            torch.from_numpy(scatter),
        )

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
        new = tuple(index for index in counts if index not in set(self.indices))
        nothing = torch.zeros(len(new), dtype=torch.float64)
        return type(self)(
            self.indices + new,
            torch.cat([self.features, features_of(orders, new)]),
            torch.tensor([counts[index] for index in (*self.indices, *new)], dtype=torch.float64),
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


def typical(pairs: int) -> Hyperparameters:
    """Returns what the priors hold typical."""
    lengthscales = np.full(pairs, scale_of(pairs) * _LENGTHSCALE)
    return Hyperparameters(lengthscales, 0.0, math.sqrt(_OUTPUT_SCALE), math.sqrt(_NOISE))


def fitted(points: Points) -> Hyperparameters:
    """Returns the most probable hyper-parameters; if they cannot be found, the typical ones.

    Args:
        points: with standardised values.
    """
    pairs = points.features.shape[1]
    start, scale = typical(pairs), scale_of(pairs)
    lengths = (scale * SHORTEST, scale * LONGEST)
    ranges = np.log([lengths] * pairs + [_OUTPUT_SCALES, _NOISES])
    logs = np.log([*start.lengthscales, _OUTPUT_SCALE, _NOISE])
    try:
        with _one_blas_thread():
            found: Any = minimize(
                _loss,
                np.append(logs, start.mean),
                args=(points, scale),
                jac=True,
                method="L-BFGS-B",
                bounds=[*map(tuple, ranges), (None, None)],
            )
    except (ArithmeticError, RuntimeError):  # no Cholesky root, say
        return start
    x = found.x
    if not np.isfinite(x).all():
        return start
    deviation, noise = math.exp(x[-3] / 2), math.exp(x[-2] / 2)
    return Hyperparameters(np.exp(x[:-3]), float(x[-1]), deviation, noise)


def _one_blas_thread() -> Any:
    """Keeps scipy's small matrices to one thread: waiting for others costs ten times the fit."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _loss(x: Floats, points: Points, scale: float) -> tuple[float, Floats]:
    """Returns the negative log posterior per observation, and its gradient.

    Args:
        x: logarithms of the lengthscales, of the output scale and of the noise's variance; mean.
        points: what was observed.
        scale: of the lengthscales.
    """
    lengthscales, output, noise = np.exp(x[:-3]), math.exp(x[-3]), math.exp(x[-2])
    observations = float(points.counts.sum())
    value, slope = _likelihood(points, lengthscales, output, noise, float(x[-1]))
    value_prior, slope_prior = _prior(lengthscales / scale, output, noise)
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


def _prior(lengthscales: Floats, output: float, noise: float) -> tuple[float, Floats]:
    """Returns the log density of the priors, and its gradient by the logarithms."""
    shape, rate = _LENGTHSCALE_PRIOR
    value = float(((shape - 1) * np.log(lengthscales) - rate * lengthscales).sum())
    by_lengthscale = (shape - 1) - rate * lengthscales
    shape, rate = _OUTPUT_SCALE_PRIOR
    value += (shape - 1) * math.log(output) - rate * output
    by_output = (shape - 1) - rate * output
    centre, width = _NOISE_PRIOR
    distance = (math.log(noise) - centre) / width
    value += -math.log(noise) - distance**2 / 2
    by_noise = -1 - distance / width
    return value, np.concatenate([by_lengthscale, [by_output, by_noise]])
