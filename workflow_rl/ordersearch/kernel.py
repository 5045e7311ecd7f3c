"""A covariance of orders: Mallows' kernel on a weighted Kendall distance.

Each pair of units has a lengthscale of its own, so that one that matters stands out from those that
do not: the covariance of two orders is exp(-sum of 1 / lengthscale over the pairs they arrange
differently). It is positive definite on all orders, as a product of positive definite kernels of
one pair; with equal lengthscales it is Mallows' kernel (Jiao and Vert, "The Kendall and Mallows
kernels for permutations", 2015). Orders are given by their precedence features: for each pair +1
or -1, so that the distance is one matrix product.
"""

from typing import Final

from torch import Tensor

# Lengthscales, in pairs ordered differently, for the ten pairs of five units; the more pairs, the
# farther two orders drawn at random are from each other, and lengthscales grow alike.
SHORTEST: Final = 0.5
LONGEST: Final = 50.0
PAIRS_OF_FIVE: Final = 10


def scale_of(pairs: int) -> float:
    """Returns how many times longer lengthscales are than those of the ten pairs of five units."""
    return pairs / PAIRS_OF_FIVE


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
