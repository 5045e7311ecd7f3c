"""A policy in a rollout, its weights fixed: the actions it samples for each input.

Blue's observations are a few dozen bits and repeat heavily; then each distinct input goes through
the networks once (`PolicyTable`). With a memory they hardly repeat, and each goes through as it
comes (`PlainPolicy`).
"""

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.nets.distinct import DistinctRows, Lookup
from workflow_rl.nets.sampling import NO_MASKS, accumulated, draw, sample, sample_masked
from workflow_rl.ppo.network import ActorCritic


class Choice(NamedTuple):
    """The actions of a policy for n inputs; (n,) each."""

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

    def forward(self, inputs: NDArray[np.int8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (n, actions) and values (n,)."""
        inputs = np.ascontiguousarray(inputs)
        return self._actor.forward(inputs), self._critic.forward(inputs)[:, 0]


class PolicyTable:
    """Probabilities and values of each distinct input met so far.

    Sampling from a row is exactly sampling from the network's distribution for that input.
    """

    def __init__(self, network: ActorCritic, width: int) -> None:
        """Starts an empty table of the network's current weights."""
        self._networks = Networks(network)
        self._table = Lookup(self._outputs, width)
        self._asked = 0  # inputs so far, repeated ones too

    def renew(self, network: ActorCritic) -> None:
        """Empties the table and takes the network's current weights."""
        self._networks = Networks(network)
        self._table.clear()
        self._asked = 0

    def _outputs(self, inputs: NDArray[np.int8]) -> list[NDArray[np.float32]]:
        logits, values = self._networks.forward(inputs)
        probabilities = torch.softmax(torch.from_numpy(logits), -1).numpy()
        return [probabilities, accumulated(probabilities), values]

    @property
    def rows(self) -> NDArray[np.int8]:
        """(u, width) a copy of the inputs that choices point to."""
        return self._table.distinct.rows.copy()

    @property
    def distinct_share(self) -> float:
        """The share of inputs that were met for the first time."""
        return len(self._table.distinct) / self._asked

    def choose(
        self,
        inputs: NDArray[np.int8],
        masks: NDArray[np.bool_] | None,
        uniforms: NDArray[np.float32],
    ) -> Choice:
        """Samples an action for each input (n, width), among those allowed (n, actions)."""
        rows = self.number(inputs)
        probabilities, cumulative, values = self._table.results
        if masks is None:
            actions = sample(rows, cumulative, uniforms)
            probability = probabilities[rows, actions]
        else:
            actions, mass = sample_masked(rows, probabilities, uniforms, masks)
            probability = np.divide(probabilities[rows, actions], mass.astype(np.float32))
        return Choice(rows, actions, probability, values[rows])

    def values_of(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns (n,) the critic's values."""
        rows = self.number(inputs)
        values: NDArray[np.float32] = self._table.results[-1][rows]
        return values

    def number(self, inputs: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the table row of each input, running the networks on new ones only."""
        self._asked += len(inputs)
        return self._table.number(inputs)


class PlainPolicy:
    """A policy that runs the networks on every input as it comes, and keeps the inputs."""

    def __init__(self, networks: Forward, width: int, envs: int, steps: int) -> None:
        """Makes room for so many steps of inputs (envs, width)."""
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
        """Samples an action for each input (envs, width), among those allowed (envs, actions)."""
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
