"""A multilayer perceptron in inference: the one forward pass outside of training.

Inputs are mostly 0, so zeros are skipped. A row's outputs do not depend on the other rows of its
batch, and everything runs on one thread.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array, is_plain
from workflow_rl.config import ActivationName
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import formula, kernel
from workflow_rl.nets.elementary import tanh32

Floats = NDArray[np.float32]

# What torch calls each activation.
ACTIVATIONS: Final[dict[ActivationName, str]] = {
    "relu": "ReLU",
    "tanh": "Tanh",
    "elu": "ELU",
    "gelu": "GELU",
    "silu": "SiLU",
    "sigmoid": "Sigmoid",
    "leaky_relu": "LeakyReLU",
}
RELU, TANH, ELU, GELU, SILU, SIGMOID, LEAKY_RELU = range(len(ACTIVATIONS))
_SLOPE: Final = np.float32(0.01)  # of the leaky ReLU below 0
_ROOT_HALF: Final = np.float32(math.sqrt(0.5))
_BOUNDED: Final = ("tanh", "sigmoid")  # by 1
_HALF, _ONE = np.float32(0.5), np.float32(1)
LARGEST_INPUT: Final = 128  # of either sign: all that an observation, a row of int8, can hold
_LARGEST_OUTPUT: Final = float(np.finfo(np.float32).max) / 4  # so that differences are finite, too


def kind_of(activation: ActivationName) -> int:
    """Returns the number by which compiled code knows an activation."""
    return list(ACTIVATIONS).index(activation)


@formula
def _other(x: Any, kind: int) -> Any:
    """Returns an activation other than ReLU and tanh."""
    if kind == ELU:
        return x if x > 0 else np.float32(math.expm1(x))
    if kind == GELU:
        return x * _HALF * (_ONE + np.float32(math.erf(x * _ROOT_HALF)))
    if kind == LEAKY_RELU:
        return x if x > 0 else x * _SLOPE
    gate = _ONE / (_ONE + np.float32(math.exp(-x)))
    return gate if kind == SIGMOID else x * gate


@kernel(reorder=True)
def _forward(
    weights: tuple[Floats, ...],
    biases: tuple[Floats, ...],
    kind: int,
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
            for i in range(count, count + 3):  # padding: four products at a time
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
            if layer == len(weights) - 1:
                break
            if kind == RELU:
                for j in range(outputs):
                    x[count] = y[j]
                    places[count] = j
                    count += y[j] > 0
            else:
                for j in range(outputs):
                    x[j] = tanh32(y[j]) if kind == TANH else _other(y[j], kind)
                    places[j] = j
                count = outputs
        for j in range(out.shape[1]):
            out[k, j] = y[j]


def input_rows(what: str, rows: object, width: int) -> NDArray[Any]:
    """Returns rows (n, width) of int8 or float32; InvalidInputError if they are none."""
    if is_plain(rows, (None, width), np.int8):
        return rows
    if getattr(rows, "dtype", None) == np.int8:
        return checked_array(what, rows, (None, width), np.int8)
    return checked_array(what, rows, (None, width), np.float32, (-LARGEST_INPUT, LARGEST_INPUT))


@dataclass(frozen=True)
class Mlp:
    """Linear layers with an activation between them."""

    weights: tuple[Floats, ...]  # (inputs, outputs) each
    biases: tuple[Floats, ...]  # (1, outputs) each
    activation: ActivationName

    @property
    def inputs(self) -> int:
        """How many values it takes."""
        return int(self.weights[0].shape[0])

    @property
    def outputs(self) -> int:
        """How many values it gives."""
        return int(self.weights[-1].shape[1])

    @property
    def hidden(self) -> tuple[int, ...]:
        """The units of its hidden layers."""
        return tuple(weight.shape[1] for weight in self.weights[:-1])

    def forward(self, rows: NDArray[Any]) -> Floats:
        """Returns (n, outputs) for rows (n, inputs) of int8 or float32.

        Raises:
            InvalidInputError: they are no such rows, or a value is beyond `LARGEST_INPUT`.
        """
        rows = input_rows("inputs", rows, self.inputs)
        out = np.empty((len(rows), self.outputs), np.float32)
        _forward(self.weights, self.biases, kind_of(self.activation), rows, out)
        return out


def read_mlp(arrays: Any, name: str, activation: ActivationName) -> Mlp:
    """Returns the network of a name among arrays such as `actor.0.weight`, (outputs, inputs) each.

    Raises:
        InvalidInputError: there is none, its layers do not fit, or there are inputs for which it
            would give numbers that are not finite.
    """
    if not isinstance(arrays, Mapping):
        raise InvalidInputError("a policy needs its weights by their names")
    pattern = re.compile(rf"{re.escape(name)}\.(\d{{1,4}})\.(weight|bias)")
    numbers = {int(found[1]) for key in arrays if (found := pattern.fullmatch(str(key)))}
    if not numbers:
        raise InvalidInputError(f"a policy needs the weights of its {name}")
    weights: list[Floats] = []
    biases: list[Floats] = []
    reach: Any = LARGEST_INPUT  # bound of the absolute inputs of a layer
    for number in sorted(numbers):
        layer = f"{name}.{number}"
        weight: Any = arrays.get(f"{layer}.weight")
        bias: Any = arrays.get(f"{layer}.bias")
        if not _is_array(weight, 2) or not _is_array(bias, 1) or len(bias) != len(weight):
            raise InvalidInputError(f"{layer} is not a layer: {_kind(weight)}, {_kind(bias)}")
        if 0 in weight.shape or (weights and weight.shape[1] != weights[-1].shape[1]):
            raise InvalidInputError(f"{layer} does not fit the layer before it")
        with np.errstate(all="ignore"):
            reach = abs(bias) + (abs(weight.astype(np.float64)) * reach).sum(axis=1)
        if not (reach < _LARGEST_OUTPUT).all():
            raise InvalidInputError(f"{layer} gives no finite numbers: its training diverged")
        if activation in _BOUNDED:
            reach = 1.0
        weights.append(np.ascontiguousarray(weight.T, np.float32))
        biases.append(np.ascontiguousarray(bias[None], np.float32))
    return Mlp(tuple(weights), tuple(biases), activation)


def _is_array(value: Any, rank: int) -> TypeGuard[NDArray[Any]]:
    return isinstance(value, np.ndarray) and value.ndim == rank and value.dtype.kind == "f"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return "nothing" if value is None else type(value).__name__
