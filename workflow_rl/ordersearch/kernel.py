"""A covariance of orders: Mallows' kernel on a weighted Kendall distance, and its priors.

Each pair of units has its own lengthscale, so that one that matters stands out from those that
do not: the covariance of two orders is exp(-sum of 1 / lengthscale over the pairs they arrange
differently). It is positive definite on all orders, as a product of positive definite kernels of
one pair; with equal lengthscales it is Mallows' kernel (Jiao and Vert, "The Kendall and Mallows
kernels for permutations", 2015). Orders are given by their precedence features: for each pair +1
or -1, so that the distance is one matrix product.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import Tensor

from workflow_rl.estimates import Floats

# Lengthscales, in pairs ordered differently, for the ten pairs of five units; the more pairs, the
# farther two orders drawn at random are from each other, and lengthscales grow alike.
_LENGTHSCALES: Final = (0.5, 50.0)
_PAIRS_OF_FIVE: Final = 10
_OUTPUT_SCALES: Final = (1e-4, 1e4)  # variance of orders, values standardised
_NOISES: Final = (1e-4, 2.0)  # variance of an observation
# What the priors hold typical: where a fit starts and, should it fail, stays.
_LENGTHSCALE: Final = 5.0
_OUTPUT_SCALE: Final = 1.0
_NOISE: Final = 0.1
# Gamma priors (shape, rate) of lengthscales and output scale, a log-normal one of the noise.
_LENGTHSCALE_PRIOR: Final = (3.0, 0.5)
_OUTPUT_SCALE_PRIOR: Final = (2.0, 1.5)
_NOISE_PRIOR: Final = (-2.0, 1.0)


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

    def covariance(self, a: Tensor, b: Tensor) -> Tensor:
        """Returns (n, m) the covariance of orders, given by features (n, pairs) and (m, pairs)."""
        return self.deviation**2 * covariance(a, b, torch.from_numpy(self.lengthscales))


def covariance(a: Tensor, b: Tensor, lengthscales: Tensor) -> Tensor:
    """Returns (n, m) the covariance of orders, the variance of each being 1.

    Args:
        a: (n, pairs) precedence features.
        b: (m, pairs) precedence features.
        lengthscales: (pairs,) in pairs ordered differently.
    """
    weights = 1 / lengthscales
    distance = (weights.sum() - (a * weights) @ b.T) / 2
    return distance.clamp_(min=0).neg_().exp_()


def typical(pairs: int) -> Hyperparameters:
    """Returns what the priors hold typical."""
    lengthscales = np.full(pairs, _growth(pairs) * _LENGTHSCALE)
    return Hyperparameters(lengthscales, 0.0, math.sqrt(_OUTPUT_SCALE), math.sqrt(_NOISE))


def log_ranges(pairs: int) -> Floats:
    """Returns (pairs + 2, 2) the ranges of the logarithms: lengthscales, output scale, noise."""
    shortest, longest = _LENGTHSCALES
    lengthscales = (_growth(pairs) * shortest, _growth(pairs) * longest)
    return np.log([lengthscales] * pairs + [_OUTPUT_SCALES, _NOISES])


def log_prior(lengthscales: Floats, output: float, noise: float) -> tuple[float, Floats]:
    """Returns the log density of the priors, and its gradient by the logarithms."""
    scaled = lengthscales / _growth(len(lengthscales))
    shape, rate = _LENGTHSCALE_PRIOR
    value = float(((shape - 1) * np.log(scaled) - rate * scaled).sum())
    by_lengthscale = (shape - 1) - rate * scaled
    shape, rate = _OUTPUT_SCALE_PRIOR
    value += (shape - 1) * math.log(output) - rate * output
    by_output = (shape - 1) - rate * output
    centre, width = _NOISE_PRIOR
    distance = (math.log(noise) - centre) / width
    value += -math.log(noise) - distance**2 / 2
    by_noise = -1 - distance / width
    return value, np.concatenate([by_lengthscale, [by_output, by_noise]])


def _growth(pairs: int) -> float:
    return pairs / _PAIRS_OF_FIVE
