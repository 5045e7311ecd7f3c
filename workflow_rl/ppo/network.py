"""The policy and value networks."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from workflow_rl.config import ActivationName
from workflow_rl.jit import kernel
from workflow_rl.ppo.elementary import tanh32

_MODULES: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Layers(NamedTuple):
    """A stack as arrays."""

    weights: tuple[NDArray[np.float32], ...]  # (inputs, outputs) each
    biases: tuple[NDArray[np.float32], ...]  # (1, outputs) each
    activation: ActivationName


def _stack(sizes: Sequence[int], activation: ActivationName) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(inputs, outputs), _MODULES[activation]()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class ActorCritic(nn.Module):
    """Two separate stacks of linear layers with ReLU or tanh: action logits, and a value."""

    def __init__(
        self,
        inputs: int,
        actions: int,
        hidden: Sequence[int] = (64, 64),
        *,
        orthogonal: bool = False,
        activation: ActivationName = "relu",
    ) -> None:
        """Makes the networks; `orthogonal` initialises as usual in modern PPO."""
        super().__init__()
        self.activation: ActivationName = activation
        self.actor = _stack([inputs, *hidden, actions], activation)
        self.critic = _stack([inputs, *hidden, 1], activation)
        if orthogonal:
            self._initialise(self.actor, last_gain=0.01)
            self._initialise(self.critic, last_gain=1.0)

    @staticmethod
    def _initialise(stack: nn.Sequential, last_gain: float) -> None:
        linear = [layer for layer in stack if isinstance(layer, nn.Linear)]
        for layer in linear:
            gain = last_gain if layer is linear[-1] else math.sqrt(2)
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)

    def ignore(self, columns: Sequence[slice]) -> None:
        """Makes inputs count nothing; trained on inputs that are 0 there, they never will."""
        for first in (self.get_parameter(f"{stack}.0.weight") for stack in ("actor", "critic")):
            for some in columns:
                first.detach()[:, some] = 0

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits (U, actions) and values (U,) for inputs (U, inputs)."""
        return self.actor(inputs), self.critic(inputs).squeeze(-1)


def layers_of(stack: nn.Sequential, activation: ActivationName = "relu") -> Layers:
    """Returns a copy of each linear layer's weights (inputs, outputs) and biases (1, outputs)."""
    linear = [layer for layer in stack if isinstance(layer, nn.Linear)]
    weights = tuple(layer.weight.detach().numpy().T.copy(order="C") for layer in linear)
    biases = tuple(layer.bias.detach().numpy().copy()[None, :] for layer in linear)
    return Layers(weights, biases, activation)


@kernel(reorder=True)
def _apply(
    weights: tuple[NDArray[np.float32], ...],
    biases: tuple[NDArray[np.float32], ...],
    is_tanh: bool,
    inputs: NDArray[Any],
    out: NDArray[Any],
) -> None:
    widest = inputs.shape[1]
    for weight in weights:
        widest = max(widest, weight.shape[1])
    x = np.empty(widest + 3, np.float32)  # the values of a layer's input that are not 0 ...
    places = np.empty(widest + 3, np.int64)  # ... and where they stand
    y = np.empty(widest, np.float32)
    for k in range(len(inputs)):
        count = 0
        for i in range(inputs.shape[1]):
            x[count] = inputs[k, i]  # written always, counted if not 0: no branch to mispredict
            places[count] = i
            count += inputs[k, i] != 0
        for layer in range(len(weights)):
            weight = weights[layer]
            outputs = weight.shape[1]
            for j in range(outputs):
                y[j] = biases[layer][0, j]
            for i in range(count, count + 3):  # four at a time: the rest counts nothing
                x[i] = 0
                places[i] = 0
            for i in range(0, count, 4):
                a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
                p, q, r, s = places[i], places[i + 1], places[i + 2], places[i + 3]
                for j in range(outputs):
                    y[j] += (a * weight[p, j] + b * weight[q, j]) + (
                        c * weight[r, j] + d * weight[s, j]
                    )
            count = 0
            if layer < len(weights) - 1 and is_tanh:
                for j in range(outputs):
                    x[j] = tanh32(y[j])
                    places[j] = j
                count = outputs
            elif layer < len(weights) - 1:
                for j in range(outputs):
                    x[count] = y[j]
                    places[count] = j
                    count += y[j] > 0
        for j in range(out.shape[1]):
            out[k, j] = y[j]


def apply_layers(layers: Layers, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
    """Applies a stack to inputs (U, inputs) on one thread, without building a graph."""
    weights, biases, activation = layers
    out = np.empty((len(inputs), weights[-1].shape[1]), np.float32)
    _apply(weights, biases, activation == "tanh", inputs, out)
    return out
