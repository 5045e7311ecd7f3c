"""A policy as an ONNX model: the network and how to feed it, in a file that needs no code of ours.

Inputs, a row for each of n situations:

- `observation`, float (n, observation's size);
- `order`, float (n, its size), of a policy conditioned on the order: the bits of its encoding
  (`workflow/encoding.py`), 25 of the five types' one-hot one;
- `mask`, bool (n, outputs), of a policy that was trained with masks: False for what would do
  nothing and, of a shielded policy, for fixes that would violate the order. Outputs that are
  masked get a probability of 0.

Outputs: `probabilities`, float (n, outputs); `output`, int64 (n,), the most probable one; and
`action`, int64 (n,), its number among Blue's 145 actions, except of the winner's 36 outputs, whose
meaning depends on the episode so far. The metadata say all of this, entry by entry, and in `acts`
whether the policy is stochastic: then sample from `probabilities`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workflow_rl import __version__
from workflow_rl.agents.cardiff import START_OUTPUTS
from workflow_rl.agents.export_memory import memory_model
from workflow_rl.agents.onnx_graph import Graph
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.sb3 import SB3_SUFFIX, sb3_policy
from workflow_rl.config import one_of, stored
from workflow_rl.config.checks import file_path
from workflow_rl.errors import explain_missing
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.units import fixable

if TYPE_CHECKING:
    from onnx import ModelProto

EXPORT_FORMATS: Final = ("onnx",)
_FORMAT: Final = 1  # of the metadata
_MASK: Final = {
    "all": "action a is masked while it is a decoy that would be refused now",
    "useful": "output k is masked while its action is a decoy that would be refused now",
    "cardiff": "a decoy list is masked while all of its decoys stand",
}
_SHIELD: Final = (
    "; a Remove or Restore is masked while a host is marked and this one is not due: marked, with "
    "no marked host before it in the order (a Remove of a host marked Unknown stays allowed)"
)
_ORDER_PARTS: Final = {
    "ranks": "one-hot: value {n} * host + place is 1, hosts as listed, those of a unit alike",
    "precedence": "for each two hosts (a, b), a before b in the list of hosts and then the other "
    "way round, by rows: 1 if a comes before b in the order",
    "due": "per host, updated every step: 1 if it is marked in the table and no marked host "
    "comes before it in the order",
}


def export_policy(
    policy: Policy | str | Path,
    output: str | Path | None = None,
    *,
    format: str = "onnx",
    with_memory: bool = False,
    rules: str = "main",
    observation: str = "challenge",
) -> bytes:
    """Returns a policy as a model that other programs run, and writes it to a file if one is given.

    Args:
        policy: a policy, a policy file, a model of SB3's PPO (`.zip`), a run directory, whose
            recommended policy is taken, or the text `best` or `universal`.
        output: the file to write.
        format: `onnx`, the only one.
        with_memory: of a policy with the observation `memory` or `recall`, whether the model takes
            the challenge's 52 bits and keeps its memory in a state, an input and an output
            (`export_memory.py`).
        rules: for which rule set one that comes with the package was trained.
        observation: what a model of SB3's PPO was trained on; its file does not say so.

    Returns:
        The file's content, the same for the same policy.

    Raises:
        InvalidInputError: there is no such policy or format, or nothing can be written there.
        MissingDependencyError: onnx, or for a model of SB3 torch, is not installed.
    """
    from workflow_rl.files import named_output, write_named

    one_of("format", format, EXPORT_FORMATS)
    target = None if output is None else named_output(file_path("an output", output))
    if not isinstance(policy, Policy):
        path = file_path("a policy", policy)
        is_sb3 = path.suffix == SB3_SUFFIX
        policy = sb3_policy(path, observation) if is_sb3 else load_policy(policy, rules=rules)
    with explain_missing("exporting a policy"):
        if with_memory:
            model = memory_model(policy, describe_interface(policy))
        else:
            model = _model_of(policy)
    content = bytes(model.SerializeToString(deterministic=True))
    if target is not None:
        write_named(target, content)
    return content


def describe_interface(policy: Policy) -> dict[str, Any]:
    """Returns what the metadata of an exported policy say, as plain data."""
    seen, space = policy.observation, policy.action_space
    told: dict[str, Any] = {
        "workflow_rl": {"format": _FORMAT, "version": __version__},
        "policy": policy.facts | {"trained": stored(policy.config)},
        "observation": {
            "name": seen.name,
            "size": seen.size,
            "layout": [
                {
                    "name": entry.name,
                    "first": seen.columns(entry.name).start,
                    "size": entry.size,
                    "meaning": entry.meaning,
                }
                for entry in seen.entries
            ],
        },
        "hosts": list(policy.network.host_names),
        "outputs": list(space.outputs),
        "action_space": space.name,
        "acts": policy.config.train.acts,
    }
    if policy.encoding is not None:
        told["order"] = _order_layout(policy, policy.encoding)
    if policy.is_masked:
        told["mask"] = {
            "input": "mask, bool (n, outputs): True for what may be chosen; all True asks for none",
            "meaning": _MASK[space.name] + (_SHIELD if policy.is_shielded else ""),
        }
    if not space.is_direct:
        told["episode"] = {
            "start": "the first steps play these outputs, whatever the policy says",
            "start_outputs": list(START_OUTPUTS),
            "lists": "output 27 + k places the next decoy of list k; restoring its host starts it "
            "over; if the best output's list is used up, the next best output counts that is "
            "neither such a list nor a Restore",
        }
    return told


def _order_layout(policy: Policy, encoding: OrderEncoding) -> dict[str, Any]:
    units, order = policy.units, policy.order
    number = 0 if units is None else len(units)
    parts = {
        "onehot": f"one-hot: value {number} * position + unit is 1, units as listed",
        **{
            name: text.format(n=len(fixable(policy.network))) for name, text in _ORDER_PARTS.items()
        },
    }
    bits = None if order is None else encoding.order_bits(order.host_ranks[None])[0].tolist()
    return {
        "size": encoding.size,
        "name": encoding.name,
        "units": None if units is None else list(units.names),
        "groups": None if units is None else units.groups,
        "hosts": list(fixable(policy.network)),
        "layout": "; then ".join(parts[part] for part in encoding.parts),
        "trained_for": None if order is None else str(order),
        "encoding": bits,
    }


def _model_of(policy: Policy) -> "ModelProto":
    graph = Graph()
    value = graph.input("observation", np.float32, policy.observation.size)
    if policy.encoding is not None:
        order = graph.input("order", np.float32, policy.encoding.size)
        value = graph.add("Concat", value, order, axis=1)
    logits = graph.network(policy, value)
    size = policy.action_space.size
    graph.choice(policy, logits, graph.input("mask", np.bool_, size) if policy.is_masked else None)
    return graph.model(describe_interface(policy))
