"""A covariance of orders: Mallows' kernel on the Kendall distance."""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from workflow_rl.workflow.orders import PRECEDENCE

with warnings.catch_warnings():  # their own imports use what torch calls deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from botorch.models.kernels import CategoricalKernel
    from gpytorch.constraints import Interval
    from gpytorch.priors import GammaPrior

# Lengthscales count as the library's distance does: 1 is all pairs ordered differently.
SHORTEST: Final = 0.05
LONGEST: Final = 5.0


def mallows_kernel() -> Any:
    """Returns k(a, b) = exp(-d(a, b) / lengthscale), d the share of pairs ordered differently.

    Its inputs are precedence features: for each pair of unit types +1 or -1. Positive definite on
    all orders (Jiao and Vert, "The Kendall and Mallows kernels for permutations", 2015).
    """
    return CategoricalKernel(
        lengthscale_prior=GammaPrior(3.0, 5.0),
        lengthscale_constraint=Interval(SHORTEST, LONGEST),
    )


def features(orders: Sequence[int]) -> Tensor:
    """Returns the precedence features (n, 10) of orders given by index."""
    return torch.from_numpy(PRECEDENCE[list(orders)]).double()
