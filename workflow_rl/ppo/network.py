"""The actor and the critic."""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from workflow_rl.config import ActivationName
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.mlp import ACTIVATIONS, Mlp
from workflow_rl.nets.policy_file import Weights


def _stack(sizes: Sequence[int], activation: ActivationName) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(inputs, outputs), getattr(nn, ACTIVATIONS[activation])()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def linear_layers(stack: nn.Sequential) -> list[nn.Linear]:
    """Returns the linear layers of a stack, first to last."""
    return [layer for layer in stack if isinstance(layer, nn.Linear)]


class ActorCritic(nn.Module):
    """Two separate stacks of linear layers: action logits, and a value."""

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
        linear = linear_layers(stack)
        for layer in linear:
            gain = last_gain if layer is linear[-1] else math.sqrt(2)
            nn.init.orthogonal_(layer.weight, gain)
            nn.init.zeros_(layer.bias)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits (U, actions) and values (U,) for inputs (U, inputs)."""
        return self.actor(inputs), self.critic(inputs).squeeze(-1)

    def mlps(self) -> tuple[Mlp, Mlp]:
        """Returns copies of actor and critic as they are now, for inference."""
        return self._mlp(self.actor), self._mlp(self.critic)

    def _mlp(self, stack: nn.Sequential) -> Mlp:
        linear = linear_layers(stack)
        weights = tuple(layer.weight.detach().numpy().T.copy(order="C") for layer in linear)
        biases = tuple(layer.bias.detach().numpy().copy()[None, :] for layer in linear)
        return Mlp(weights, biases, self.activation)

    def weights(self) -> Weights:
        """Returns a copy of all weights by their names."""
        return {name: t.detach().numpy().copy() for name, t in self.state_dict().items()}

    def load_weights(self, weights: Weights) -> None:
        """Loads weights; InvalidInputError if they are of a network of another shape."""
        shapes = {name: tuple(t.shape) for name, t in self.state_dict().items()}
        if shapes != {name: array.shape for name, array in weights.items()}:
            raise InvalidInputError("the weights belong to a network of another shape")
        self.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in weights.items()})
