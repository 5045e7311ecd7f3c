"""The masked softmax of a row of logits, and sampling from it."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.elementary import exp32
from workflow_rl.agents.sampling import pick
from workflow_rl.jit import formula, kernel

NO_MASKS: Final = np.empty((0, 0), np.bool_)  # everything is allowed
_LEAST: Final = np.float32(-1e30)  # a logit of what is not allowed
_ZERO: Final = np.float32(0)


@formula
def write_powers(
    row: NDArray[Any], powers: NDArray[Any], masks: NDArray[Any], sample: int
) -> tuple[Any, Any]:
    """Takes the highest logit that is allowed from a row and writes e to the power of the rest.

    Args:
        row: (actions,) the logits.
        powers: (actions,) what is written; 0 for what is not allowed.
        masks: (n, actions) what is allowed, or `NO_MASKS`.
        sample: whose logits these are.

    Returns:
        The sum of the powers, and that of the powers times what they are the powers of.
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


@kernel(reorder=True)
def draw(
    logits: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    actions: NDArray[Any],
    probability: NDArray[Any],
) -> None:
    """Draws an action for each row of logits (n, actions), which are overwritten.

    Args:
        logits: of each input.
        masks: (n, actions) what is allowed, or `NO_MASKS`.
        uniforms: (n,) numbers in [0, 1).
        actions: (n,) what was drawn.
        probability: (n,) of it, among what is allowed.
    """
    powers = np.empty(logits.shape[1], np.float32)
    for k in range(len(logits)):
        total, _ = write_powers(logits[k], powers, masks, k)
        action = pick(powers, uniforms[k] * total)
        actions[k] = action
        probability[k] = powers[action] / total
