"""A policy while it plays a rollout, its weights unchanged: what it does for each input.

Blue's observations are a few dozen bits and repeat heavily; then each distinct input goes through
the networks once (`PolicyTable`). With a memory they hardly repeat, and each goes through as it
comes (`PlainPolicy`).
"""

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.agents.distinct import DistinctRows
from workflow_rl.agents.sampling import sample
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.softmax import NO_MASKS, draw


class Choice(NamedTuple):
    """What a policy did for n inputs; (n,) each."""

    rows: NDArray[np.int32]  # of the input, among those kept
    actions: NDArray[np.int64]
    probability: NDArray[np.float32]  # of the action, among those allowed
    values: NDArray[np.float32]  # the critic's


class Forward(Protocol):
    """Runs actor and critic without a gradient."""

    def forward(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (n, actions), which may be overwritten, and values (n,)."""
        ...


class Networks:
    """Copies of actor and critic as they are now, in inference."""

    def __init__(self, network: ActorCritic) -> None:
        """Copies the weights."""
        self._actor, self._critic = network.mlps()
        self.outputs = self._actor.outputs

    def forward(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (n, actions) and values (n,)."""
        return self._actor.forward(inputs), self._critic.forward(inputs)[:, 0]


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
        self._networks = Networks(network)
        self.inputs = DistinctRows(width, capacity)
        self.asked = 0  # inputs so far, repeated ones too
        self.probabilities = np.empty((capacity, self._networks.outputs), np.float32)
        self.values = np.empty(capacity, np.float32)

    @property
    def rows(self) -> NDArray[np.int8]:
        """(u, width) the inputs that choices point to."""
        return self.inputs.rows

    @property
    def distinct_share(self) -> float:
        """The share of inputs that were met for the first time."""
        return len(self.inputs) / self.asked

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Draws an action for each input (n, width), among those allowed (n, actions)."""
        rows = self.number(inputs)
        actions, mass = sample(rows, self.probabilities, uniforms, masks)
        probability = self.probabilities[rows, actions]
        if mass is not None:
            probability = np.divide(probability, mass.astype(np.float32))
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
        size = len(self.inputs)
        if size > before:
            while len(self.values) < size:
                self.probabilities = np.concatenate([self.probabilities] * 2)
                self.values = np.concatenate([self.values] * 2)
            logits, values = self._networks.forward(self.inputs.rows[before:])
            new = torch.from_numpy(self.probabilities[before:size])
            torch.softmax(torch.from_numpy(logits), -1, out=new)
            self.values[before:size] = values
        return ids


class PlainPolicy:
    """A policy that runs the networks on every input as it comes, and keeps the inputs."""

    def __init__(self, networks: Forward, width: int, envs: int, steps: int) -> None:
        """Makes room for a rollout.

        Args:
            networks: actor and critic.
            width: of an input.
            envs: inputs of a step.
            steps: to come.
        """
        self._networks = networks
        self._inputs = np.empty((envs, steps, width), np.int8)
        self._step = 0

    @property
    def rows(self) -> NDArray[np.int8]:
        """(envs * steps, width) the inputs, an environment's one after the other."""
        envs, steps, width = self._inputs.shape
        return self._inputs.reshape(envs * steps, width)

    @property
    def distinct_share(self) -> float:
        """The share of inputs that were met for the first time."""
        distinct = DistinctRows(self.rows.shape[1], len(self.rows))
        distinct.number(self.rows)
        return len(distinct) / len(self.rows)

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Draws an action for each input (envs, width), among those allowed (envs, actions)."""
        n, steps, _ = self._inputs.shape
        self._inputs[:, self._step] = inputs
        rows = np.arange(self._step, n * steps, steps, dtype=np.int32)
        self._step += 1
        logits, values = self._networks.forward(inputs)
        actions, probability = np.empty(n, np.int64), np.empty(n, np.float32)
        draw(logits, NO_MASKS if masks is None else masks, uniforms, actions, probability)
        return Choice(rows, actions, probability, values)

    def values_of(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns (n,) the critic's values."""
        return self._networks.forward(inputs)[1]
