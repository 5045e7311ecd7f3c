"""Actor and critic forward, and the loss's gradient backward, chunk by chunk."""

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.ppo.fused.loss_gradient import TERMS, LossSums, Taken, loss_gradient
from workflow_rl.ppo.fused.passes import CHUNK, Passes
from workflow_rl.ppo.fused.sparse_rows import SparseRows, in_words
from workflow_rl.ppo.loss import LossTerms, LossWeights
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.samples import Samples
from workflow_rl.ppo.softmax import NO_MASKS

_NO_ADVANTAGES: Final = np.empty(0, np.float32)


class FusedEngine:
    """The networks' parameters in one buffer, which the network shares from now on."""

    needs_distinct = False

    def __init__(self, network: ActorCritic) -> None:
        """Takes over the network's parameters."""
        self._passes = Passes(network)
        self._passes.bind()
        self._passes.parameters.grad = self._passes.gradient

    @property
    def parameters(self) -> list[Tensor]:
        """What the optimiser changes."""
        return [self._passes.parameters]

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
        taken = Taken(
            NO_MASKS if samples.masks is None else samples.masks.numpy(),
            samples.actions.numpy(),
            samples.old_log_probability.numpy(),
            samples.returns.numpy(),
        )
        terms = np.zeros(TERMS)
        self._passes.gradient.zero_()
        for first in range(0, len(inputs), CHUNK):
            part = SparseRows(samples.words, inputs[first : first + CHUNK])
            loss_gradient(
                *self._passes.forward(part),
                starts[first : first + len(part) + 1],
                chosen,
                _NO_ADVANTAGES if advantages is None else advantages,
                taken,
                weights,
                LossSums(*self._passes.output_gradients(len(part)), terms),
            )
            self._passes.backward(part)
        return LossTerms(*torch.from_numpy(terms / len(chosen)))
