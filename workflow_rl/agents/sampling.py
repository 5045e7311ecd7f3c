"""Drawing an output by its probability: the one sampler of training and evaluation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel, rule

_LEAST_MASS = 1e-30  # so that nothing is divided by zero where allowed outputs are impossible


@rule
def pick(weights: NDArray[Any], threshold: float) -> int:
    """Returns the first output at which the running sum of weights exceeds a threshold."""
    running = threshold - threshold  # 0, in the threshold's precision
    chosen = 0
    for output in range(len(weights)):
        if weights[output] > 0:
            running += weights[output]
            chosen = output
            if running > threshold:
                break
    return chosen


@kernel()
def _sample(
    ids: NDArray[Any],
    weights: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    outputs: NDArray[Any],
    mass: NDArray[Any],
) -> None:
    allowed = np.empty(weights.shape[1], weights.dtype)
    for k in range(len(ids)):
        row = weights[ids[k]]
        total = mass.dtype.type(0)
        for output in range(len(row)):
            allowed[output] = row[output] if masks[k, output] else 0
            total += allowed[output]
        if total > 0:
            outputs[k] = pick(allowed, uniforms[k] * total)
        else:  # what is allowed is too improbable to tell apart
            outputs[k] = np.argmax(masks[k])
        mass[k] = max(total, _LEAST_MASS)


@kernel()
def _sample_all(
    ids: NDArray[Any], weights: NDArray[Any], uniforms: NDArray[Any], outputs: NDArray[Any]
) -> None:
    for k in range(len(ids)):
        row = weights[ids[k]]
        total = weights.dtype.type(0)
        for output in range(len(row)):
            total += row[output]
        outputs[k] = pick(row, uniforms[k] * total)


def sample(
    ids: NDArray[np.integer[Any]],
    weights: NDArray[np.floating[Any]],
    uniforms: NDArray[np.floating[Any]],
    masks: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Draws an output for each of n rows, by its share of the row's weights.

    Args:
        ids: (n,) which row of the weights is meant.
        weights: (u, outputs) probabilities, or numbers proportional to them.
        uniforms: (n,) numbers in [0, 1).
        masks: (n, outputs) what is allowed, one output at least; None: everything. Where all that
            is allowed weighs 0, the first of it is taken.

    Returns:
        (n,) the outputs, and (n,) the sum of the allowed weights if there are masks.
    """
    outputs = np.empty(len(ids), np.int64)
    if masks is None:
        _sample_all(ids, weights, uniforms, outputs)
        return outputs, None
    mass = np.empty(len(ids), np.float64)
    _sample(ids, weights, masks, uniforms, outputs, mass)
    return outputs, mass
