"""PPO's loss with masked actions and its gradient, in one pass over each row of logits."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.ppo.loss import LossWeights
from workflow_rl.ppo.softmax import write_powers

TERMS: Final = 5  # policy loss, value loss, entropy, approx_kl, clipfrac: as `loss.LossTerms`


class Taken(NamedTuple):
    """The N samples of an update."""

    masks: NDArray[Any]  # (N, actions) what was allowed, or `softmax.NO_MASKS`
    actions: NDArray[Any]  # (N,) what was done
    old_log_probability: NDArray[Any]  # (N,) of it, under the policy that played
    returns: NDArray[Any]  # (N,) the critic's targets


class LossSums(NamedTuple):
    """What the loss of some samples adds up to, and its gradient."""

    logits: NDArray[Any]  # (u, actions) gradient
    values: NDArray[Any]  # (u,) gradient
    terms: NDArray[Any]  # (TERMS,) sums over the samples


@kernel(reorder=True)
def loss_gradient(
    logits: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[Any],
    samples: NDArray[Any],
    advantages: NDArray[Any],
    taken: Taken,
    weights: LossWeights,
    sums: LossSums,
) -> None:
    """Adds up the loss of the samples of u inputs, and writes its gradient.

    Args:
        logits: (u, actions).
        values: (u,).
        starts: (u + 1,) where the samples of an input begin, and those of the next.
        samples: (n,) which of the N samples these are; the loss is their mean.
        advantages: (n,), or (0,) for the returns minus the present values.
        taken: all samples.
        weights: what the loss is made of.
        sums: what is written.
    """
    # Taken apart once: inside the loop every access would count references.
    masks, actions, old_log_probability, returns = taken
    logits_gradient, values_gradient, terms = sums
    clip, size = weights.clip, len(samples)
    bonus = weights.entropy / size
    row, powers = np.empty(logits.shape[1], np.float32), np.empty(logits.shape[1], np.float32)
    for k in range(len(logits)):
        out = logits_gradient[k]
        out[:] = 0
        values_gradient[k] = 0
        for n in range(starts[k], starts[k + 1]):
            sample = samples[n]
            row[:] = logits[k]
            total, weighted = write_powers(row, powers, masks, sample)
            log_total = np.log(np.float64(total))
            entropy = log_total - weighted / total
            action = actions[sample]
            log_ratio = row[action] - log_total - old_log_probability[sample]
            ratio = np.exp(log_ratio)
            if len(advantages):
                advantage = np.float64(advantages[n])
            else:
                advantage = np.float64(returns[sample]) - np.float64(values[k])
            surrogate = ratio * advantage
            pessimistic = min(max(ratio, 1 - clip), 1 + clip) * advantage
            pull = 0.0  # the gradient of the action's log probability
            if surrogate <= pessimistic:
                pull = -surrogate / size
            scale = np.float32(bonus / total)
            shift = np.float32((bonus * (entropy - log_total) - pull) / total)
            for j in range(len(out)):
                out[j] += powers[j] * (scale * row[j] + shift)
            out[action] += np.float32(pull)
            error = np.float64(values[k]) - returns[sample]
            values_gradient[k] += 2 * weights.value * error / size
            terms[0] -= min(surrogate, pessimistic)
            terms[1] += error * error
            terms[2] += entropy
            terms[3] += ratio - 1 - log_ratio
            terms[4] += abs(ratio - 1) > clip
