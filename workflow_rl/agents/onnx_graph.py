"""An ONNX graph, built node by node: inputs, constants, a policy's network and its choice."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl import __version__
from workflow_rl.agents.policy import Policy
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

_OPSET: Final = 17
_IR_VERSION: Final = 8  # what runtimes since 2022 read
_ACTIVATIONS: Final = {"relu": "Relu", "tanh": "Tanh"}


class Graph:
    """A graph in the making; values are known by their names."""

    def __init__(self) -> None:
        """Begins an empty one."""
        self._nodes: list[Any] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []

    def input(self, name: str, kind: type[Any], *size: int) -> str:
        """Adds an input (n, size) of a numpy type."""
        self._inputs.append(_rows(name, kind, size))
        return name

    def output(self, name: str, kind: type[Any], *size: int) -> None:
        """Makes a value an output."""
        self._outputs.append(_rows(name, kind, size))

    def constant(self, array: Any, name: str = "") -> str:
        """Adds an array: whole numbers, which are indices, or else floats."""
        name = name or f"constant_{len(self._constants)}"
        kind = np.int64 if np.asarray(array).dtype.kind == "i" else np.float32
        self._constants[name] = np.asarray(array, kind)
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Adds a node with one result, and returns that."""
        return self.add_several(kind, inputs, [name or f"value_{len(self._nodes)}"], **attributes)[
            0
        ]

    def add_several(
        self, kind: str, inputs: Sequence[str], results: Sequence[str], **attributes: Any
    ) -> Sequence[str]:
        """Adds a node with several results, and returns them."""
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, results, **attributes))
        return results

    def split(self, value: str, sizes: Sequence[int], name: str) -> list[str]:
        """Returns the columns of a value (n, sum of the sizes), part by part."""
        results = [f"{name}_{k}" for k in range(len(sizes))]
        given = [value, self.constant(np.array(sizes))]
        return list(self.add_several("Split", given, results, axis=1))

    def network(self, policy: Policy, value: str) -> str:
        """Adds a policy's network and returns its logits.

        Raises:
            InvalidInputError: it has an activation that cannot be exported.
        """
        activation = policy.config.ppo.activation
        if activation not in _ACTIVATIONS:
            raise InvalidInputError(
                f"a policy with the activation {activation} cannot be exported: those that can "
                f"have {' or '.join(_ACTIVATIONS)}"
            )
        layers = zip(policy.actor.weights, policy.actor.biases, strict=True)
        for i, (weight, bias) in enumerate(layers):
            if i > 0:
                value = self.add(_ACTIVATIONS[activation], value, name=f"hidden_{i - 1}")
            given = self.constant(weight, f"weight_{i}"), self.constant(bias[0], f"bias_{i}")
            value = self.add("Gemm", value, *given, name=f"sum_{i}")
        return value

    def choice(self, policy: Policy, logits: str, mask: str | None) -> None:
        """Adds the outputs: probabilities, the most probable output and its action."""
        space = policy.action_space
        if mask is not None:
            logits = self.add("Where", mask, logits, self.constant(-np.inf, "never"))
        self.add("Softmax", logits, name="probabilities", axis=1)
        self.add("ArgMax", logits, name="output", axis=1, keepdims=0)
        self.output("probabilities", np.float32, space.size)
        self.output("output", np.int64)
        if space.is_direct:
            self.constant(space.begin(1).meanings()[0], "actions")
            self.add("Gather", "actions", "output", name="action")
            self.output("action", np.int64)

    def model(self, metadata: Mapping[str, Any]) -> "ModelProto":
        """Returns the graph as a model, checked, with what its metadata say."""
        from onnx import checker, helper, numpy_helper

        arrays = [numpy_helper.from_array(array, name) for name, array in self._constants.items()]
        model = helper.make_model(
            helper.make_graph(self._nodes, "policy", self._inputs, self._outputs, arrays),
            producer_name="workflow-rl",
            producer_version=__version__,
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET)],
        )
        helper.set_model_props(model, {name: json.dumps(told) for name, told in metadata.items()})
        checker.check_model(model)
        return model


def _rows(name: str, kind: type[Any], size: Sequence[int]) -> "ValueInfoProto":
    from onnx import helper

    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    return helper.make_tensor_value_info(name, element, ["n", *size])
