"""A policy for inputs that hardly ever repeat: each goes through the networks as it comes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.ppo.elementary import exp32
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.nonzeros import NonZeros
from workflow_rl.ppo.passes import CHUNK, Passes
from workflow_rl.ppo.policy_table import Choice

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

    def __init__(self, network: ActorCritic, width: int, capacity: int) -> None:
        """Copies the weights.

        Args:
            network: actor and critic.
            width: of an input.
            capacity: inputs to come at most.
        """
        self._passes = Passes(network)
        self._inputs = np.empty((capacity, width), np.int8)
        self._size = 0

    @property
    def rows(self) -> NDArray[np.int8]:
        """(u, width) the inputs that choices point to."""
        return self._inputs[: self._size]

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Draws an action for each input (n, width), among those allowed (n, actions)."""
        n = len(inputs)
        begin, self._size = self._size, self._size + n
        self._inputs[begin : self._size] = inputs
        choice = Choice(
            rows=np.arange(begin, self._size, dtype=np.int32),
            actions=np.empty(n, np.int64),
            probability=np.empty(n, np.float32),
            values=np.empty(n, np.float32),
        )
        nonzeros = NonZeros.of(inputs)
        for first in range(0, n, CHUNK):
            part = slice(first, min(first + CHUNK, n))
            logits, values = self._passes.forward(nonzeros, np.arange(part.start, part.stop))
            choice.values[part] = values
            allowed = np.empty((0, 0), np.bool_) if masks is None else masks[part]
            _draw(logits, allowed, uniforms[part], choice.actions[part], choice.probability[part])
        return choice

    def values_of(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns (n,) the critic's values."""
        values = np.empty(len(inputs), np.float32)
        nonzeros = NonZeros.of(inputs)
        for first in range(0, len(inputs), CHUNK):
            chosen = np.arange(first, min(first + CHUNK, len(inputs)))
            values[chosen] = self._passes.forward(nonzeros, chosen)[1]
        return values
