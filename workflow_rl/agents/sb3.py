"""A PPO or MaskablePPO model that Stable-Baselines3 saved; nothing in the file is run.

Such a file is a zip archive. Its `data` is JSON whose entries also hold pickled objects, which run
whatever they were made to run when they are loaded: they are not. What a network is made of stands
beside them in plain text, and its weights are read by torch as tensors and nothing else.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.policy import Policy, describe_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.files import check_file
from workflow_rl.scenario.actions import NUM_ACTIONS

if TYPE_CHECKING:
    from torch import Tensor

SB3_SUFFIX: Final = ".zip"  # of such a file
_LARGEST: Final = 500_000_000  # bytes of a part of the archive
# Of the classes that `MlpPolicy` stands for: PPO's, and MaskablePPO's, which ends the same.
_POLICY: Final = "ActorCriticPolicy.__init__"
_MASKABLE: Final = "MaskableActorCriticPolicy.__init__"
_BOX: Final = "<class 'gymnasium.spaces.box.Box'>"
_BITS: Final = "<class 'gymnasium.spaces.multi_binary.MultiBinary'>"
_DISCRETE: Final = "<class 'gymnasium.spaces.discrete.Discrete'>"
_ACTIVATION: Final = re.compile(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>")
_HIDDEN: Final = re.compile(r"mlp_extractor\.policy_net\.(\d+)\.weight")
_UNUSED: Final = re.compile(r"(mlp_extractor\.value_net|value_net)\..*|log_std")  # by an actor
_OF_POLICIES: Final = {"ReLU": "relu", "Tanh": "tanh"}  # what a policy calls its activations


@dataclass(frozen=True)
class _Network:
    """The actor of a model."""

    size: int  # values of an observation
    layers: "list[tuple[Tensor, Tensor]]"  # weight and bias
    activation: str  # torch's name of it
    is_masked: bool  # what would be refused is left out


def sb3_agent(path: Path, name: str, *, sampled: bool = False) -> PolicyAgent:
    """Returns the agent of a model file that `save` of SB3's PPO wrote, with its `MlpPolicy`.

    A model of sb3-contrib's MaskablePPO leaves out what would be refused, as in its training.

    Raises:
        MissingDependencyError: torch is not installed.
        InvalidInputError: the file is none, its network is of another kind, or its spaces are not
            this game's.
    """
    network = _network(path)
    import torch

    activation = _activations()[network.activation]

    def probabilities(seen: NDArray[np.int8]) -> NDArray[np.float32]:
        with torch.no_grad():
            x = torch.from_numpy(np.asarray(seen, np.float32))
            for i, (weight, bias) in enumerate(network.layers):
                x = torch.nn.functional.linear(activation(x) if i else x, weight, bias)
            found: NDArray[np.float32] = torch.softmax(x, dim=-1).numpy()
        return found

    return PolicyAgent(name, probabilities, network.size, sampled=sampled, masked=network.is_masked)


def sb3_policy(path: Path) -> Policy:
    """Returns the policy of such a file, if its activation is one that policies have.

    Raises:
        MissingDependencyError: torch is not installed.
        InvalidInputError: as `sb3_agent`, or the activation is another.
    """
    network = _network(path)
    if network.activation not in _OF_POLICIES:
        raise InvalidInputError(
            f"{path} has the activation {network.activation}; policies have "
            f"{' or '.join(_OF_POLICIES)}"
        )
    weights = {
        f"actor.{i}.{name}": tensor.numpy()
        for i, layer in enumerate(network.layers)
        for name, tensor in zip(("weight", "bias"), layer, strict=True)
    }
    description = describe_policy(
        order=None,
        conditioned=False,
        activation=_OF_POLICIES[network.activation],
        mask_actions=network.is_masked,
    )
    return Policy(weights, description)


def _network(path: Path) -> _Network:
    with explain_missing(str(path)):
        import torch  # noqa: F401
    check_file(path)
    data, weights = _read(path)
    observation, action = (
        _space(path, data, f"{what}_space") for what in ("observation", "action")
    )
    shape = observation.get("_shape")
    sizes = shape if isinstance(shape, list) else []
    is_ours = observation[":type:"] in (_BOX, _BITS) and len(sizes) == 1
    if not is_ours or (action[":type:"], str(action.get("n"))) != (_DISCRETE, str(NUM_ACTIONS)):
        raise InvalidInputError(
            f"{path} plays another game: it sees {observation[':type:']} of shape {shape} and "
            f"chooses from {action[':type:']} of {action.get('n')}"
        )
    policy = data.get("policy_class")
    made_by = str(policy.get("__init__")) if isinstance(policy, dict) else ""
    if _POLICY not in made_by:
        raise InvalidInputError(f"{path} is no model with SB3's MlpPolicy, the only one read here")
    layers, size = _layers(path, weights), int(sizes[0])
    if layers[0][0].shape[1] != size or layers[-1][0].shape[0] != NUM_ACTIONS:
        raise InvalidInputError(f"{path} is damaged: its network does not fit its spaces")
    activation = _activation(path, data.get("policy_kwargs"))
    return _Network(size, layers, activation, is_masked=_MASKABLE in made_by)


def _read(path: Path) -> "tuple[dict[str, Any], dict[str, Tensor]]":
    """Returns what the archive says in plain text, and its tensors."""
    import torch

    try:
        with zipfile.ZipFile(path) as archive:
            parts = [archive.getinfo(part) for part in ("data", "policy.pth")]
            if any(part.file_size > _LARGEST for part in parts):
                raise ValueError("too large")
            text, tensors = (archive.read(part) for part in parts)
        data = json.loads(text)
        weights = torch.load(io.BytesIO(tensors), map_location="cpu", weights_only=True)
        if not isinstance(data, dict) or not isinstance(weights, dict):
            raise TypeError("no such parts")
    except Exception as error:  # whatever a damaged zip, other JSON or foreign tensors raise
        raise InvalidInputError(
            f"{path} is damaged or not a PPO model of SB3 that can be read without running it"
        ) from error
    return data, weights


def _space(path: Path, data: dict[str, Any], name: str) -> dict[str, Any]:
    space = data.get(name)
    if not isinstance(space, dict) or not isinstance(space.get(":type:"), str):
        raise InvalidInputError(f"{path} is damaged or not a PPO model of SB3: it has no {name}")
    return space


def _layers(path: Path, weights: "dict[str, Tensor]") -> "list[tuple[Tensor, Tensor]]":
    """Returns weight and bias of each layer of the actor."""
    import torch

    numbers = sorted(int(found[1]) for key in weights if (found := _HIDDEN.fullmatch(str(key))))
    names = [*(f"mlp_extractor.policy_net.{number}" for number in numbers), "action_net"]
    known = {f"{name}.{part}" for name in names for part in ("weight", "bias")}
    others = [key for key in weights if key not in known and not _UNUSED.fullmatch(str(key))]
    if others:
        raise InvalidInputError(f"{path} has a network of another kind: it has {others[0]}")
    layers = [(weights.get(f"{name}.weight"), weights.get(f"{name}.bias")) for name in names]
    checked: list[tuple[Tensor, Tensor]] = []
    for weight, bias in layers:
        if (
            not isinstance(weight, torch.Tensor)
            or not isinstance(bias, torch.Tensor)
            or weight.dtype != torch.float32
            or bias.dtype != torch.float32
            or weight.ndim != 2
            or bias.shape != weight.shape[:1]
            or (checked and weight.shape[1] != checked[-1][0].shape[0])
        ):
            raise InvalidInputError(f"{path} is damaged: its layers do not fit each other")
        if not torch.isfinite(weight).all() or not torch.isfinite(bias).all():
            raise InvalidInputError(
                f"{path} holds weights that are not finite: its training failed"
            )
        checked.append((weight, bias))
    return checked


def _activations() -> "dict[str, Callable[[Tensor], Tensor]]":
    """Returns what is computed of each activation that is read."""
    import torch

    return {
        "Tanh": torch.tanh,  # SB3's own choice
        "ReLU": torch.relu,
        "ELU": torch.nn.functional.elu,
        "GELU": torch.nn.functional.gelu,
        "SiLU": torch.nn.functional.silu,
        "Sigmoid": torch.sigmoid,
        "LeakyReLU": torch.nn.functional.leaky_relu,
    }


def _activation(path: Path, settings: Any) -> str:
    """Returns the name of the network's activation."""
    known = _activations()
    chosen = settings.get("activation_fn") if isinstance(settings, dict) else None
    found = _ACTIVATION.fullmatch(str(chosen))
    name = "Tanh" if chosen is None else found[1] if found else str(chosen)
    if name not in known:
        raise InvalidInputError(
            f"{path} has the activation {name}; those that are read are {', '.join(known)}"
        )
    return name
