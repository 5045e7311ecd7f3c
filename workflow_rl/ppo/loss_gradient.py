"""PPO's loss with masked actions and its gradient, in one pass over each row of logits."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.ppo.elementary import exp32

TERMS: Final = 5  # policy loss, value loss, entropy, approx_kl, clipfrac: as `loss.LossTerms`
_LEAST: Final = np.float32(-1e30)  # a logit of what is not allowed
_ZERO: Final = np.float32(0)


@kernel(reorder=True)
def loss_gradient(
    logits: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[Any],
    samples: NDArray[Any],
    masks: NDArray[Any],
    actions: NDArray[Any],
    old_log_probability: NDArray[Any],
    returns: NDArray[Any],
    advantages: NDArray[Any],
    clip: float,
    value_weight: float,
    entropy_weight: float,
    size: int,
    logits_gradient: NDArray[Any],
    values_gradient: NDArray[Any],
    terms: NDArray[Any],
) -> None:
    """Adds up the loss of the samples of u inputs, and writes its gradient.

    Args:
        logits: (u, actions).
        values: (u,).
        starts: (u + 1,) where the samples of an input begin, and those of the next.
        samples: (n,) which of the N samples these are.
        masks: (N, actions) what was allowed; (0, 0): everything.
        actions: (N,) what was done.
        old_log_probability: (N,) of it, under the policy that played.
        returns: (N,) the critic's targets.
        advantages: (n,).
        clip: how far the ratio may move.
        value_weight: of the critic's loss.
        entropy_weight: of the entropy bonus.
        size: samples that the loss is the mean of.
        logits_gradient: (u, actions).
        values_gradient: (u,).
        terms: (TERMS,) sums over the samples.
    """
    outputs = logits.shape[1]
    is_masked = len(masks) > 0
    bonus = entropy_weight / size
    row, powers = np.empty(outputs, np.float32), np.empty(outputs, np.float32)
    for k in range(len(logits)):
        out = logits_gradient[k]
        out[:] = 0
        values_gradient[k] = 0
        for n in range(starts[k], starts[k + 1]):
            sample = samples[n]
            row[:] = logits[k]
            if is_masked:
                allowed = masks[sample]
                for j in range(outputs):
                    row[j] = row[j] if allowed[j] else _LEAST
            highest = row[0]
            for j in range(outputs):
                highest = max(highest, row[j])
            for j in range(outputs):
                row[j] -= highest
                powers[j] = exp32(row[j])
            if is_masked:
                allowed = masks[sample]
                for j in range(outputs):
                    powers[j] = powers[j] if allowed[j] else _ZERO
            total, weighted = _ZERO, _ZERO
            for j in range(outputs):
                total += powers[j]
                weighted += powers[j] * row[j]
            log_total = np.log(np.float64(total))
            entropy = log_total - weighted / total
            action = actions[sample]
            log_ratio = row[action] - log_total - old_log_probability[sample]
            ratio = np.exp(log_ratio)
            advantage = np.float64(advantages[n])
            surrogate = ratio * advantage
            pessimistic = min(max(ratio, 1 - clip), 1 + clip) * advantage
            pull = 0.0  # the gradient of the action's log probability
            if surrogate <= pessimistic:
                pull = -surrogate / size
            scale = np.float32(bonus / total)
            shift = np.float32((bonus * (entropy - log_total) - pull) / total)
            for j in range(outputs):
                out[j] += powers[j] * (scale * row[j] + shift)
            out[action] += np.float32(pull)
            error = np.float64(values[k]) - returns[sample]
            values_gradient[k] += 2 * value_weight * error / size
            terms[0] -= min(surrogate, pessimistic)
            terms[1] += error * error
            terms[2] += entropy
            terms[3] += ratio - 1 - log_ratio
            terms[4] += abs(ratio - 1) > clip
