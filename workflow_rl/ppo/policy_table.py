"""The policy as a table: what it does for each distinct input, while its weights do not change."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.agents.distinct import DistinctRows
from workflow_rl.jit import kernel
from workflow_rl.ppo.network import ActorCritic, apply_layers, layers_of

_LEAST_MASS = 1e-30  # so that nothing is divided by zero where allowed actions are impossible


@kernel()
def _accumulate(probabilities: NDArray[Any], cumulative: NDArray[Any]) -> None:
    for k in range(len(probabilities)):
        running = np.float32(0)
        for a in range(probabilities.shape[1]):
            running += probabilities[k, a]
            cumulative[k, a] = running


@kernel()
def _sample(
    ids: NDArray[Any], cumulative: NDArray[Any], uniforms: NDArray[Any], actions: NDArray[Any]
) -> None:
    last = cumulative.shape[1] - 1
    for k in range(len(ids)):
        row = ids[k]
        threshold = uniforms[k] * cumulative[row, last]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if cumulative[row, middle] > threshold:
                high = middle
            else:
                low = middle + 1
        actions[k] = low


@kernel()
def _sample_masked(
    ids: NDArray[Any],
    probabilities: NDArray[Any],
    masks: NDArray[Any],
    uniforms: NDArray[Any],
    actions: NDArray[Any],
    allowed_mass: NDArray[Any],
) -> None:
    for k in range(len(ids)):
        row = ids[k]
        mass = 0.0
        for a in range(probabilities.shape[1]):
            if masks[k, a]:
                mass += probabilities[row, a]
        threshold = uniforms[k] * mass
        running = 0.0
        chosen = 0
        for a in range(probabilities.shape[1]):
            if masks[k, a] and probabilities[row, a] > 0:
                running += probabilities[row, a]
                chosen = a
                if running > threshold:
                    break
        actions[k] = chosen
        allowed_mass[k] = max(mass, _LEAST_MASS)


class Choice(NamedTuple):
    """What a policy did for n inputs; (n,) each."""

    rows: NDArray[np.int32]  # of the input, among those kept
    actions: NDArray[np.int64]
    probability: NDArray[np.float32]  # of the action, among those allowed
    values: NDArray[np.float32]  # the critic's


class PolicyTable:
    """Probabilities and values of each distinct input met so far.

    Sampling from a row is exactly sampling from the network's distribution for that input.
    """

    def __init__(self, network: ActorCritic, width: int, capacity: int = 1024) -> None:
        """Starts an empty table of the network's present weights.

        Args:
            network: actor and critic.
            width: of an input.
            capacity: distinct inputs to make room for at first.
        """
        self._actor = layers_of(network.actor, network.activation)
        self._critic = layers_of(network.critic, network.activation)
        self.inputs = DistinctRows(width, capacity)
        self.asked = 0  # inputs so far, repeated ones too
        actions = self._actor.weights[-1].shape[1]
        self.probabilities = np.empty((capacity, actions), np.float32)
        self._cumulative = np.empty((capacity, actions), np.float32)
        self.values = np.empty(capacity, np.float32)

    @property
    def rows(self) -> NDArray[np.int8]:
        """(u, width) the inputs that choices point to."""
        return self.inputs.rows

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Draws an action for each input (n, width), among those allowed (n, actions)."""
        rows = self.number(inputs)
        if masks is None:
            actions = self.sample(rows, uniforms)
            probability = self.probabilities[rows, actions]
        else:
            actions, mass = self.sample_masked(rows, masks, uniforms)
            probability = self.probabilities[rows, actions] / mass
        return Choice(rows, actions, probability, self.values[rows])

    def values_of(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns (n,) the critic's values."""
        rows = self.number(inputs)  # may make room for more values
        return self.values[rows]

    def number(self, inputs: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the table row of each input, running the networks on new ones only."""
        before = len(self.inputs)
        self.asked += len(inputs)
        ids = self.inputs.number(inputs)
        if len(self.inputs) > before:
            self._evaluate(before)
        return ids

    def sample(self, ids: NDArray[np.int32], uniforms: NDArray[np.float32]) -> NDArray[np.int64]:
        """Returns (n,) an action for each row, drawn by its probabilities."""
        actions = np.empty(len(ids), np.int64)
        _sample(ids, self._cumulative, uniforms, actions)
        return actions

    def sample_masked(
        self, ids: NDArray[np.int32], masks: NDArray[np.bool_], uniforms: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns (n,) actions among those allowed, and the probability allowed actions have."""
        actions = np.empty(len(ids), np.int64)
        mass = np.empty(len(ids), np.float32)
        _sample_masked(ids, self.probabilities, masks, uniforms, actions, mass)
        return actions, mass

    def _evaluate(self, start: int) -> None:
        stop = len(self.inputs)
        self._reserve(stop)
        new = np.ascontiguousarray(self.inputs.rows[start:])
        logits = apply_layers(self._actor, new)
        probabilities = self.probabilities[start:stop]
        torch.softmax(torch.from_numpy(logits), -1, out=torch.from_numpy(probabilities))
        _accumulate(probabilities, self._cumulative[start:stop])
        self.values[start:stop] = apply_layers(self._critic, new)[:, 0]

    def _reserve(self, size: int) -> None:
        while len(self.values) < size:
            self.probabilities = np.concatenate(
                [self.probabilities, np.empty_like(self.probabilities)]
            )
            self._cumulative = np.concatenate([self._cumulative, np.empty_like(self._cumulative)])
            self.values = np.concatenate([self.values, np.empty_like(self.values)])
