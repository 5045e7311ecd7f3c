"""Actor and critic forward and backward, written out by hand.

Autograd reads and writes each layer's numbers a dozen times and allocates them anew at every step.
Here the parameters of both networks lie in one buffer, a chunk of rows at a time goes through
all layers while it is in the processor's cache, and products go to the library's matrix product.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.jit import kernel
from workflow_rl.nets.elementary import tanh32
from workflow_rl.nets.mlp import RELU, TANH, Floats, kind_of
from workflow_rl.ppo.fused.sparse_rows import SparseRows
from workflow_rl.ppo.network import ActorCritic, linear_layers

CHUNK: Final = 256  # rows that go through the layers together, at most
_ALIGNED: Final = 16  # float32 of a cache line: every matrix begins with one
LINEAR: Final = -1  # no activation
_ZERO, _ONE = np.float32(0), np.float32(1)


@kernel(reorder=True)
def activate(sums: NDArray[Any], bias: NDArray[Any], kind: int) -> None:
    """Adds the bias to the products of a layer (n, units) and applies its activation, in place."""
    for k in range(len(sums)):
        if kind == TANH:
            for j in range(sums.shape[1]):
                sums[k, j] = tanh32(sums[k, j] + bias[j])
        elif kind == RELU:
            for j in range(sums.shape[1]):
                sums[k, j] = max(sums[k, j] + bias[j], _ZERO)
        else:
            for j in range(sums.shape[1]):
                sums[k, j] += bias[j]


@kernel(reorder=True)
def deactivate(
    gradient: NDArray[Any], outputs: NDArray[Any], kind: int, bias_gradient: NDArray[Any]
) -> None:
    """Turns the gradient of a layer's outputs (n, units), as `activate` gave them, in place.

    It becomes that of the sums; the bias's is added to `bias_gradient` (units,).
    """
    for k in range(gradient.shape[0]):
        if kind == TANH:
            for j in range(gradient.shape[1]):
                gradient[k, j] *= _ONE - outputs[k, j] * outputs[k, j]
                bias_gradient[j] += gradient[k, j]
        elif kind == RELU:
            for j in range(gradient.shape[1]):
                gradient[k, j] = gradient[k, j] if outputs[k, j] > 0 else _ZERO
                bias_gradient[j] += gradient[k, j]
        else:
            for j in range(gradient.shape[1]):
                bias_gradient[j] += gradient[k, j]


@dataclass(frozen=True)
class _Layer:
    """One layer: its parameters, their gradient, and room for n rows; all of it views."""

    weight: Tensor  # (inputs, units)
    weight_gradient: Tensor
    bias: Floats  # (units,)
    bias_gradient: Floats
    kind: int  # RELU, TANH or LINEAR
    outputs: Tensor  # (n, units)
    gradient: Tensor  # (n, units) of the outputs, then of the sums they were made of

    def columns(self, which: slice) -> "_Layer":
        """Returns the layer of some of the units."""
        return _Layer(
            self.weight[:, which],
            self.weight_gradient[:, which],
            self.bias[which],
            self.bias_gradient[which],
            self.kind,
            self.outputs[:, which],
            self.gradient[:, which],
        )

    def rows(self, n: int) -> "_Layer":
        """Returns the layer for fewer rows."""
        return replace(self, outputs=self.outputs[:n], gradient=self.gradient[:n])

    # The same memory in other forms, made once: making a view takes as long as a small product.

    @cached_property
    def weight_across(self) -> Tensor:
        return self.weight.T

    @cached_property
    def outputs_across(self) -> Tensor:
        return self.outputs.T

    @cached_property
    def outputs_array(self) -> Floats:
        array: Floats = self.outputs.numpy()
        return array

    @cached_property
    def gradient_array(self) -> Floats:
        array: Floats = self.gradient.numpy()
        return array


class _Stacks(NamedTuple):
    """The layers for n rows."""

    first: _Layer  # of both networks, side by side: they read the same inputs
    actor: list[_Layer]  # with its part of the first
    critic: list[_Layer]

    def rows(self, n: int) -> "_Stacks":
        """Returns the layers for fewer rows."""
        return _Stacks(
            self.first.rows(n),
            [layer.rows(n) for layer in self.actor],
            [layer.rows(n) for layer in self.critic],
        )


class Passes:
    """An actor and a critic of equal depth, their parameters in one buffer."""

    def __init__(self, network: ActorCritic) -> None:
        """Takes over the network's parameters: they and their gradients become views."""
        linear = [linear_layers(stack) for stack in (network.actor, network.critic)]
        width = linear[0][0].in_features
        self.actions = linear[0][-1].out_features
        units = [[layer.out_features for layer in stack] for stack in linear]
        shapes = [(width, units[0][0] + units[1][0])]
        for stack in units:
            shapes += itertools.pairwise(stack)
        self.parameters = torch.zeros(sum(_room(i * o) + _room(o) for i, o in shapes))
        self.gradient = torch.zeros_like(self.parameters)
        values, gradients = _views(self.parameters, shapes), _views(self.gradient, shapes)
        depth = len(units[0])
        heads = (depth - 1, 2 * depth - 2)  # of the actor, of the critic
        layers = []
        for number, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
            kind = LINEAR if number in heads else kind_of(network.activation)
            room = torch.empty(2, CHUNK, len(value[1]))
            bias, bias_gradient = value[1].numpy(), gradient[1].numpy()
            layers.append(
                _Layer(value[0], gradient[0], bias, bias_gradient, kind, room[0], room[1])
            )
        left, right = slice(0, units[0][0]), slice(units[0][0], None)
        self._whole = _Stacks(
            layers[0],
            [layers[0].columns(left), *layers[1:depth]],
            [layers[0].columns(right), *layers[depth:]],
        )
        self._by_rows = {CHUNK: self._whole}
        whole = [*self._whole.actor, *self._whole.critic]
        for ours, theirs in zip(whole, [*linear[0], *linear[1]], strict=True):
            ours.weight.copy_(theirs.weight.detach().T)
            ours.bias[:] = theirs.bias.detach().numpy()
            theirs.weight.data, theirs.weight.grad = ours.weight.T, ours.weight_gradient.T
            theirs.bias.data = torch.from_numpy(ours.bias)
            theirs.bias.grad = torch.from_numpy(ours.bias_gradient)

    def forward(self, inputs: SparseRows) -> tuple[Floats, Floats]:
        """Returns logits (n, actions) and values (n,) of at most CHUNK inputs.

        They are overwritten by the next call.
        """
        first, actor, critic = self._for(len(inputs))
        inputs.product(first.weight.numpy(), first.outputs_array)
        activate(first.outputs_array, first.bias, first.kind)
        for stack in (actor, critic):
            for below, layer in itertools.pairwise(stack):
                torch.mm(below.outputs, layer.weight, out=layer.outputs)
                activate(layer.outputs_array, layer.bias, layer.kind)
        return actor[-1].outputs_array, critic[-1].outputs_array[:, 0]

    def output_gradients(self, n: int) -> tuple[Floats, Floats]:
        """Returns where `backward` finds the gradients of logits (n, actions) and values (n,)."""
        _, actor, critic = self._for(n)
        return actor[-1].gradient_array, critic[-1].gradient_array[:, 0]

    def backward(self, inputs: SparseRows) -> None:
        """Adds to the gradient, given the last `forward`'s inputs and its outputs' gradients."""
        first, actor, critic = self._for(len(inputs))
        for stack in (actor, critic):
            for below, layer in zip(stack[-2::-1], stack[:0:-1], strict=True):
                _deactivate(layer)
                layer.weight_gradient.addmm_(below.outputs_across, layer.gradient)
                torch.mm(layer.gradient, layer.weight_across, out=below.gradient)
        _deactivate(first)
        inputs.add_transposed_product(first.gradient_array, first.weight_gradient.numpy())

    def _for(self, n: int) -> _Stacks:
        if n not in self._by_rows:
            self._by_rows[n] = self._whole.rows(n)
        return self._by_rows[n]


def _deactivate(layer: _Layer) -> None:
    deactivate(layer.gradient_array, layer.outputs_array, layer.kind, layer.bias_gradient)


def _room(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _views(buffer: Tensor, shapes: list[tuple[int, int]]) -> list[tuple[Tensor, Tensor]]:
    """Returns the weight (inputs, units) and the bias (units,) of each layer."""
    found = []
    begin = 0
    for inputs, units in shapes:
        weight = buffer[begin : begin + inputs * units].view(inputs, units)
        begin += _room(inputs * units)
        found.append((weight, buffer[begin : begin + units]))
        begin += _room(units)
    return found
