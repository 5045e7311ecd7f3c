"""A policy for inputs that hardly ever repeat: each goes through the networks as it comes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.ppo.elementary import exp32
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.passes import CHUNK, Passes
from workflow_rl.ppo.policy_table import Choice
from workflow_rl.ppo.sparse_rows import SparseRows, in_words

_LEAST = np.float32(-1e30)
_ZERO = np.float32(0)


@kernel(reorder=True)
def _draw(
    logits: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    actions: NDArray[Any],
    probability: NDArray[Any],
) -> None:
    outputs = logits.shape[1]
    is_masked = len(masks) > 0
    for k in range(len(logits)):
        row = logits[k]
        if is_masked:
            allowed = masks[k]
            for j in range(outputs):
                row[j] = row[j] if allowed[j] else _LEAST
        highest = row[0]
        for j in range(outputs):
            highest = max(highest, row[j])
        for j in range(outputs):
            row[j] = exp32(row[j] - highest)
        if is_masked:
            allowed = masks[k]
            for j in range(outputs):
                row[j] = row[j] if allowed[j] else _ZERO
        total = _ZERO
        for j in range(outputs):
            total += row[j]
        threshold = uniforms[k] * total
        running = _ZERO
        action = 0
        for j in range(outputs):
            if row[j] > 0:
                running += row[j]
                action = j
                if running > threshold:
                    break
        actions[k] = action
        probability[k] = row[action] / total


class PlainPolicy:
    """A network's present weights, and the inputs it has chosen for."""

    def __init__(self, network: ActorCritic, width: int, envs: int, steps: int) -> None:
        """Copies the weights.

        Args:
            network: actor and critic.
            width: of an input.
            envs: inputs of a step.
            steps: to come.
        """
        self._passes = Passes(network)
        self._inputs = np.empty((envs, steps, width), np.int8)
        self._step = 0

    @property
    def rows(self) -> NDArray[np.int8]:
        """(envs * steps, width) the inputs, an environment's one after the other."""
        envs, steps, width = self._inputs.shape
        return self._inputs.reshape(envs * steps, width)

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Draws an action for each input (envs, width), among those allowed (envs, actions)."""
        n, steps, _ = self._inputs.shape
        self._inputs[:, self._step] = inputs
        choice = Choice(
            rows=np.arange(self._step, n * steps, steps, dtype=np.int32),
            actions=np.empty(n, np.int64),
            probability=np.empty(n, np.float32),
            values=np.empty(n, np.float32),
        )
        self._step += 1
        words = in_words(inputs)
        for first in range(0, n, CHUNK):
            part = slice(first, min(first + CHUNK, n))
            chosen = np.arange(part.start, part.stop)
            logits, choice.values[part] = self._passes.forward(SparseRows(words, chosen))
            allowed = np.empty((0, 0), np.bool_) if masks is None else masks[part]
            _draw(logits, allowed, uniforms[part], choice.actions[part], choice.probability[part])
        return choice

    def values_of(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns (n,) the critic's values."""
        values = np.empty(len(inputs), np.float32)
        words = in_words(inputs)
        for first in range(0, len(inputs), CHUNK):
            chosen = np.arange(first, min(first + CHUNK, len(inputs)))
            _, values[chosen] = self._passes.forward(SparseRows(words, chosen))
        return values
