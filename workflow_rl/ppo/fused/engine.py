"""Actor and critic forward, and the loss's gradient backward, chunk by chunk."""

from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.jit import kernel
from workflow_rl.nets.distinct import in_words
from workflow_rl.nets.sampling import NO_MASKS, write_powers
from workflow_rl.ppo.fused.passes import CHUNK, Passes
from workflow_rl.ppo.fused.sparse_rows import SparseRows
from workflow_rl.ppo.loss import LossTerms, LossWeights
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.samples import Samples

_NO_ADVANTAGES: Final = np.empty(0, np.float32)


class _Taken(NamedTuple):
    """The N samples of an update."""

    masks: NDArray[Any]  # (N, actions) the allowed actions, or `NO_MASKS`
    actions: NDArray[Any]  # (N,) the action
    old_log_probability: NDArray[Any]  # (N,) of it, under the policy that played
    returns: NDArray[Any]  # (N,) the critic's targets


class _LossSums(NamedTuple):
    """What the loss of some samples adds up to, and its gradient."""

    logits: NDArray[Any]  # (u, actions) gradient
    values: NDArray[Any]  # (u,) gradient
    terms: NDArray[Any]  # sums over the samples, as `LossTerms`


@kernel(reorder=True)
def _loss_gradient(
    logits: NDArray[Any],
    values: NDArray[Any],
    starts: NDArray[Any],
    samples: NDArray[Any],
    advantages: NDArray[Any],
    taken: _Taken,
    weights: LossWeights,
    sums: _LossSums,
) -> None:
    """Adds up the loss of the samples of u inputs, and writes its gradient.

    Args:
        logits: (u, actions).
        values: (u,).
        starts: (u + 1,) where the samples of an input begin, and those of the next.
        samples: (n,) which of the N samples these are; the loss is their mean.
        advantages: (n,), or (0,) for the returns minus the current values.
        taken: all samples.
        weights: the coefficients of the loss.
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


class FusedEngine:
    """The networks' parameters in one buffer, which the network shares from now on."""

    def __init__(self, network: ActorCritic) -> None:
        """Takes over the network's parameters."""
        self._passes = Passes(network)
        self.parameters: Tensor = self._passes.parameters  # what the optimiser changes
        self.parameters.grad = self._passes.gradient

    def forward(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (n, actions) and values (n,)."""
        words, n = in_words(inputs), len(inputs)
        logits = np.empty((n, self._passes.actions), np.float32)
        values = np.empty(n, np.float32)
        for first in range(0, n, CHUNK):
            part = slice(first, min(first + CHUNK, n))
            rows = SparseRows(words, np.arange(part.start, part.stop))
            logits[part], values[part] = self._passes.forward(rows)
        return logits, values

    def differentiate(
        self, samples: Samples, chosen: NDArray[np.int64] | None, weights: LossWeights
    ) -> LossTerms:
        """Puts the gradient of the loss of some samples, or all, into the parameters."""
        if chosen is None:
            chosen = np.arange(len(samples))
        # By input and in the order of memory; a step does not depend on the order of its samples.
        keys = np.sort(samples.rows.numpy()[chosen] * len(samples) + chosen)
        chosen, rows = keys % len(samples), keys // len(samples)
        starts = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        inputs = rows[starts[:-1]]
        advantages = samples.standardised_advantages(chosen)
        taken = _Taken(
            NO_MASKS if samples.masks is None else samples.masks.numpy(),
            samples.actions.numpy(),
            samples.old_log_probability.numpy(),
            samples.returns.numpy(),
        )
        terms = np.zeros(len(LossTerms._fields))
        self._passes.gradient.zero_()
        for first in range(0, len(inputs), CHUNK):
            part = SparseRows(samples.words, inputs[first : first + CHUNK])
            _loss_gradient(
                *self._passes.forward(part),
                starts[first : first + len(part) + 1],
                chosen,
                _NO_ADVANTAGES if advantages is None else advantages,
                taken,
                weights,
                _LossSums(*self._passes.output_gradients(len(part)), terms),
            )
            self._passes.backward(part)
        return LossTerms(*torch.from_numpy(terms / len(chosen)))
