"""Actor and critic forward and backward, written out by hand.

Autograd reads and writes each layer's numbers a dozen times and allocates them anew at every step.
Here the parameters of both networks lie in one buffer, a chunk of rows at a time goes through
all layers while it is in the processor's cache, and products go to the library's matrix product.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workflow_rl.ppo.elementary import ACTIVATIONS, LINEAR, activate, deactivate
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.nonzeros import NonZeros

CHUNK: Final = 512  # rows that go through the layers together
_ALIGNED: Final = 16  # float32 of a cache line: every matrix begins with one


@dataclass(frozen=True)
class _Layer:
    """One layer: its parameters, their gradient, and room for a chunk's numbers."""

    weight: Tensor  # (inputs, outputs)
    bias: NDArray[np.float32]  # (outputs,)
    weight_gradient: Tensor
    bias_gradient: NDArray[np.float32]
    kind: int  # LINEAR, RELU or TANH
    outputs: Tensor  # (CHUNK, outputs)
    output_gradient: Tensor  # (CHUNK, outputs)

    def part(self, columns: slice) -> "_Layer":
        """Returns the layer of some of the outputs, over the same memory."""
        return _Layer(
            self.weight[:, columns],
            self.bias[columns],
            self.weight_gradient[:, columns],
            self.bias_gradient[columns],
            self.kind,
            self.outputs[:, columns],
            self.output_gradient[:, columns],
        )


class Passes:
    """An actor and a critic of equal depth, their parameters in one buffer.

    The first layers of both stand side by side: they read the same inputs.
    """

    def __init__(self, network: ActorCritic) -> None:
        """Copies the network's parameters."""
        stacks = [
            [layer for layer in stack if isinstance(layer, nn.Linear)]
            for stack in (network.actor, network.critic)
        ]
        widths = [linear[0].out_features for linear in stacks]
        shapes = [(stacks[0][0].in_features, sum(widths))]
        shapes += [(x.in_features, x.out_features) for linear in stacks for x in linear[1:]]
        room = [-(-size // _ALIGNED) * _ALIGNED for i, o in shapes for size in (i * o, o)]
        self.parameters = torch.zeros(sum(room))
        self.gradient = torch.zeros(sum(room))
        self._hidden = ACTIVATIONS[network.activation]
        depth = len(stacks[0])
        heads = (depth - 1, 2 * depth - 2)  # of the actor, of the critic
        layers = []
        begin = 0
        for number, (inputs, outputs) in enumerate(shapes):
            views = []
            for size, taken in (
                (inputs * outputs, room[2 * number]),
                (outputs, room[2 * number + 1]),
            ):
                views += [
                    self.parameters[begin : begin + size],
                    self.gradient[begin : begin + size],
                ]
                begin += taken
            layers.append(
                _Layer(
                    weight=views[0].view(inputs, outputs),
                    weight_gradient=views[1].view(inputs, outputs),
                    bias=views[2].numpy(),
                    bias_gradient=views[3].numpy(),
                    kind=LINEAR if number in heads else self._hidden,
                    outputs=torch.empty(CHUNK, outputs),
                    output_gradient=torch.empty(CHUNK, outputs),
                )
            )
        self._first = layers[0]
        sides = (slice(0, widths[0]), slice(widths[0], sum(widths)))
        self._actor = [self._first.part(sides[0]), *layers[1:depth]]
        self._critic = [self._first.part(sides[1]), *layers[depth:]]
        self._linear = [
            pair
            for ours, theirs in zip((self._actor, self._critic), stacks, strict=True)
            for pair in zip(ours, theirs, strict=True)
        ]
        with torch.no_grad():
            for ours, theirs in self._linear:
                ours.weight.copy_(theirs.weight.T)
                torch.from_numpy(ours.bias).copy_(theirs.bias)

    def bind(self) -> None:
        """Makes the network's parameters and their gradients views of the buffers."""
        for ours, theirs in self._linear:
            theirs.weight.data = ours.weight.T
            theirs.weight.grad = ours.weight_gradient.T
            theirs.bias.data = torch.from_numpy(ours.bias)
            theirs.bias.grad = torch.from_numpy(ours.bias_gradient)

    def forward(
        self, inputs: NonZeros, chosen: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (n, actions) and values (n,) of at most CHUNK inputs.

        They are views of what `backward` and the next call use.
        """
        n = len(chosen)
        first = self._first
        sums = first.outputs.numpy()[:n]
        sums[:] = first.bias
        inputs.add_product(chosen, first.weight.numpy(), sums)
        activate(sums, np.zeros_like(first.bias), first.kind)
        for stack in (self._actor, self._critic):
            below = stack[0].outputs[:n]
            for layer in stack[1:]:
                outputs = layer.outputs[:n]
                torch.mm(below, layer.weight, out=outputs)
                activate(outputs.numpy(), layer.bias, layer.kind)
                below = outputs
        return self._actor[-1].outputs.numpy()[:n], self._critic[-1].outputs.numpy()[:n, 0]

    def output_gradients(self, n: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns where the gradients of logits (n, actions) and values (n,) are to be written."""
        actor, critic = self._actor[-1], self._critic[-1]
        return actor.output_gradient.numpy()[:n], critic.output_gradient.numpy()[:n, 0]

    def backward(self, inputs: NonZeros, chosen: NDArray[np.int64]) -> None:
        """Adds to the gradient, given those of the outputs of the last `forward`."""
        n = len(chosen)
        for stack in (self._actor, self._critic):
            for below, layer in zip(stack[-2::-1], stack[:0:-1], strict=True):
                gradient = layer.output_gradient[:n]
                outputs = layer.outputs[:n].numpy()
                deactivate(gradient.numpy(), outputs, layer.kind, layer.bias_gradient)
                layer.weight_gradient.addmm_(below.outputs[:n].T, gradient)
                torch.mm(gradient, layer.weight.T, out=below.output_gradient[:n])
        first = self._first
        gradient = first.output_gradient[:n]
        deactivate(gradient.numpy(), first.outputs[:n].numpy(), first.kind, first.bias_gradient)
        inputs.add_transposed_product(chosen, gradient.numpy(), first.weight_gradient.numpy())
