"""A covariance of orders: Mallows' kernel on the Kendall distance."""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from workflow_rl.workflow.orders import PAIRS, PRECEDENCE

with warnings.catch_warnings():  # its own imports use what torch calls deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from gpytorch.constraints import Interval
    from gpytorch.kernels import Kernel

SHORTEST: Final = 0.5  # lengthscales, in pairs ordered differently
LONGEST: Final = 50.0


class MallowsKernel(Kernel):  # type: ignore[misc]
    """k(a, b) = exp(-d(a, b) / lengthscale), d the number of pairs ordered differently.

    Inputs are precedence features: for each pair of unit types +1 or -1. Positive definite on all
    orders (Jiao and Vert, "The Kendall and Mallows kernels for permutations", 2015).
    """

    has_lengthscale = True

    def __init__(self, **kwargs: Any) -> None:
        """Makes the kernel with a lengthscale to be fitted."""
        super().__init__(lengthscale_constraint=Interval(SHORTEST, LONGEST), **kwargs)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Returns the covariance (..., n, m) of two sets of orders (..., n, 10), (..., m, 10).

        Args:
            x1: precedence features.
            x2: precedence features.
            diag: whether only the covariance (..., n) of each row with its like is wanted.
            **params: of gpytorch; not used.
        """
        if diag:
            distance = (len(PAIRS) - (x1 * x2).sum(-1)) / 2
            return torch.exp(-distance / self.lengthscale.squeeze(-1))
        distance = (len(PAIRS) - x1 @ x2.transpose(-1, -2)) / 2
        return torch.exp(-distance / self.lengthscale)


def features(orders: Sequence[int]) -> Tensor:
    """Returns the precedence features (n, 10) of orders given by index."""
    return torch.from_numpy(PRECEDENCE[list(orders)]).double()
