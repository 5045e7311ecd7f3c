"""From logits to a chosen output: the masked softmax, and the one sampler."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import formula, kernel, rule
from workflow_rl.nets.elementary import exp32

NO_MASKS: Final = np.empty((0, 0), np.bool_)  # everything is allowed
_LEAST: Final = np.float32(-1e30)  # a logit of what is not allowed
_LEAST_MASS: Final = 1e-30  # not 0, which nothing can be divided by
_ZERO: Final = np.float32(0)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the probabilities of rows of logits; none of them is quite 0."""
    p = np.exp((logits - logits.max(axis=1, keepdims=True)).astype(np.float64))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


@formula
def write_powers(
    row: NDArray[Any], powers: NDArray[Any], masks: NDArray[Any], sample: int
) -> tuple[Any, Any]:
    """Writes the exponentials of a row's logits less the highest one that is allowed.

    Args:
        row: (outputs,) the logits.
        powers: (outputs,) the exponentials; 0 for what is not allowed.
        masks: (n, outputs) what is allowed, or `NO_MASKS`.
        sample: the row of the masks.

    Returns:
        The sum of the exponentials, and their sum weighted by the shifted logits.
    """
    is_masked = len(masks) > 0
    if is_masked:
        allowed = masks[sample]
        for j in range(len(row)):
            row[j] = row[j] if allowed[j] else _LEAST
    highest = row[0]
    for j in range(len(row)):
        highest = max(highest, row[j])
    for j in range(len(row)):
        row[j] -= highest
        powers[j] = exp32(row[j])
    if is_masked:
        allowed = masks[sample]
        for j in range(len(row)):
            powers[j] = powers[j] if allowed[j] else _ZERO
    total, weighted = _ZERO, _ZERO
    for j in range(len(row)):
        total += powers[j]
        weighted += powers[j] * row[j]
    return total, weighted


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


@kernel(reorder=True)
def draw(
    logits: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    outputs: NDArray[Any],
    probability: NDArray[Any],
) -> None:
    """Samples an output for each row of logits (n, outputs), which are overwritten.

    Args:
        logits: of each input.
        masks: (n, outputs) what is allowed, or `NO_MASKS`.
        uniforms: (n,) numbers in [0, 1).
        outputs: (n,) the samples.
        probability: (n,) of each sample, among what is allowed.
    """
    powers = np.empty(logits.shape[1], np.float32)
    for k in range(len(logits)):
        total, _ = write_powers(logits[k], powers, masks, k)
        output = pick(powers, uniforms[k] * total)
        outputs[k] = output
        probability[k] = powers[output] / total


@kernel()
def _accumulate(weights: NDArray[Any], cumulative: NDArray[Any]) -> None:
    for k in range(len(weights)):
        running = weights.dtype.type(0)
        for output in range(weights.shape[1]):
            running += weights[k, output]
            cumulative[k, output] = running


def accumulated(weights: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Returns the running sums of rows of weights, from which `sample` draws."""
    cumulative = np.empty_like(weights)
    _accumulate(weights, cumulative)
    return cumulative


@kernel()
def _search(
    ids: NDArray[Any], cumulative: NDArray[Any], uniforms: NDArray[Any], outputs: NDArray[Any]
) -> None:
    last = cumulative.shape[1] - 1
    for k in range(len(ids)):
        row = cumulative[ids[k]]
        threshold = uniforms[k] * row[last]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if row[middle] > threshold:
                high = middle
            else:
                low = middle + 1
        outputs[k] = low


def sample(
    ids: NDArray[np.integer[Any]],
    cumulative: NDArray[np.floating[Any]],
    uniforms: NDArray[np.floating[Any]],
) -> NDArray[np.int64]:
    """Samples an output for each of n rows, in proportion to the row's weights.

    Args:
        ids: (n,) the row of the weights.
        cumulative: (u, outputs) the running sums of weights (`accumulated`).
        uniforms: (n,) numbers in [0, 1).

    Returns:
        (n,) the outputs: the first at which the running sum exceeds its share of the whole.
    """
    outputs = np.empty(len(ids), np.int64)
    _search(ids, cumulative, uniforms, outputs)
    return outputs


@kernel()
def _sample_masked(
    ids: NDArray[Any],
    weights: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    outputs: NDArray[Any],
    mass: NDArray[Any],
) -> None:
    allowed = np.empty(weights.shape[1], weights.dtype)  # the weights of what is allowed ...
    places = np.empty(weights.shape[1], np.int64)  # ... and where they stand
    for k in range(len(ids)):
        row = weights[ids[k]]
        count = 0
        for output in range(len(row)):
            allowed[count] = row[output]  # written always, counted if allowed: no branch
            places[count] = output
            count += masks[k, output]
        total = mass.dtype.type(0)
        for place in range(count):
            total += allowed[place]
        # Where what is allowed is too improbable to tell apart, the first of it is taken.
        outputs[k] = places[pick(allowed[:count], uniforms[k] * total)]
        mass[k] = max(total, _LEAST_MASS)


def sample_masked(
    ids: NDArray[np.integer[Any]],
    weights: NDArray[np.floating[Any]],
    uniforms: NDArray[np.floating[Any]],
    masks: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Samples an output for each of n rows, in proportion to what its weights allow.

    Args:
        ids: (n,) the row of the weights.
        weights: (u, outputs) probabilities, or numbers proportional to them.
        uniforms: (n,) numbers in [0, 1).
        masks: (n, outputs) what is allowed, one output at least. Where all that is allowed weighs
            0, the first of it is taken.

    Returns:
        (n,) the outputs, and (n,) the sum of the allowed weights.
    """
    outputs, mass = np.empty(len(ids), np.int64), np.empty(len(ids), np.float64)
    _sample_masked(ids, weights, masks, uniforms, outputs, mass)
    return outputs, mass
