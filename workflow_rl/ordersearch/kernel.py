"""A covariance of orders: Mallows' kernel on the Kendall distance."""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from workflow_rl.workflow.orders import PAIRS, PRECEDENCE

with warnings.catch_warnings():  # their own imports use what torch calls deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from botorch.models.kernels import CategoricalKernel
    from gpytorch.constraints import Interval
    from gpytorch.priors import GammaPrior

SHORTEST: Final = 0.5  # lengthscales, in pairs ordered differently
LONGEST: Final = 50.0


def mallows_kernel() -> Any:
    """Returns a covariance that falls exponentially with the pairs ordered differently.

    Each pair of unit types has a lengthscale of its own, so that one that matters stands out from
    those that do not: a weighted Kendall distance. Inputs are precedence features: for each pair +1
    or -1. Positive definite on all orders, as a product of positive definite kernels of one pair;
    with equal lengthscales it is Mallows' kernel (Jiao and Vert, "The Kendall and Mallows kernels
    for permutations", 2015).
    """
    bounds = Interval(SHORTEST / len(PAIRS), LONGEST / len(PAIRS)).double()
    bounds.lower_bound.fill_(SHORTEST / len(PAIRS))  # it was rounded to single precision
    kernel = CategoricalKernel(ard_num_dims=len(PAIRS), lengthscale_constraint=bounds)
    kernel.register_prior("lengthscale_prior", GammaPrior(3.0, 0.5), lengthscales_in_pairs)
    return kernel


def lengthscales_in_pairs(kernel: Any) -> Tensor:
    """Returns (1, 10) the lengthscales in pairs ordered differently, not as their share."""
    lengthscales: Tensor = kernel.lengthscale
    return len(PAIRS) * lengthscales


def features(orders: Sequence[int]) -> Tensor:
    """Returns the precedence features (n, 10) of orders given by index."""
    return torch.from_numpy(PRECEDENCE[list(orders)]).double()
