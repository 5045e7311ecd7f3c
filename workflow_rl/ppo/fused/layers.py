"""What a layer makes of its sums, forward and backward, in place."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.elementary import tanh32
from workflow_rl.config import ActivationName
from workflow_rl.jit import formula, kernel

LINEAR: Final = 0
RELU: Final = 1
TANH: Final = 2
KINDS: Final[dict[ActivationName, int]] = {"relu": RELU, "tanh": TANH}
_ZERO, _ONE = np.float32(0), np.float32(1)


@formula
def activate_row(sums: NDArray[Any], bias: NDArray[Any], kind: int) -> None:
    """Turns the products of a layer for one input (units,) into its outputs, in place."""
    if kind == TANH:
        for j in range(len(sums)):
            sums[j] = tanh32(sums[j] + bias[j])
    elif kind == RELU:
        for j in range(len(sums)):
            sums[j] = max(sums[j] + bias[j], _ZERO)
    else:
        for j in range(len(sums)):
            sums[j] += bias[j]


@kernel(reorder=True)
def activate(sums: NDArray[Any], bias: NDArray[Any], kind: int) -> None:
    """Turns the products of a layer (n, units) into its outputs, in place."""
    for k in range(len(sums)):
        activate_row(sums[k], bias, kind)


@kernel(reorder=True)
def deactivate(
    gradient: NDArray[Any], outputs: NDArray[Any], kind: int, bias_gradient: NDArray[Any]
) -> None:
    """Turns the gradient of a layer's outputs (n, units) into that of its sums, in place.

    Args:
        gradient: of the outputs.
        outputs: what `activate` gave.
        kind: of the layer.
        bias_gradient: (units,) the gradient of its bias is added to.
    """
    for k in range(gradient.shape[0]):
        if kind == TANH:
            for j in range(gradient.shape[1]):
                gradient[k, j] *= _ONE - outputs[k, j] * outputs[k, j]
                bias_gradient[j] += gradient[k, j]
        elif kind == RELU:
            for j in range(gradient.shape[1]):
                gradient[k, j] = gradient[k, j] if outputs[k, j] > 0 else _ZERO
                bias_gradient[j] += gradient[k, j]
        else:
            for j in range(gradient.shape[1]):
                bias_gradient[j] += gradient[k, j]
