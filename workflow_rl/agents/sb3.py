"""A PPO or MaskablePPO model that Stable-Baselines3 saved; nothing in the file is run.

Such a file is a zip archive. Its `data` is JSON whose entries also hold pickled objects, which can
run code when they are loaded: they are not loaded. The architecture stands there in plain text,
too, and torch reads the weights as tensors only.
"""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.agents.policy import Policy
from workflow_rl.config import (
    OBSERVATIONS,
    ActivationName,
    GameConfig,
    ObservationName,
    PolicyConfig,
    PPOConfig,
    TrainConfig,
    one_of,
)
from workflow_rl.envs.observations import observation_of
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.files import check_file
from workflow_rl.nets.mlp import ACTIVATIONS
from workflow_rl.nets.policy_file import Weights
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import NUM_ACTIONS

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
_OURS: Final = {theirs: ours for ours, theirs in ACTIVATIONS.items()}


def sb3_policy(path: Path, observation: str = "challenge") -> Policy:
    """Returns the policy of a model file that `save` of SB3's PPO wrote, with its `MlpPolicy`.

    A model of sb3-contrib's MaskablePPO plays with the action mask, as in its training.

    Args:
        path: the file.
        observation: what it was trained on; the file does not say so.

    Raises:
        MissingDependencyError: torch is not installed.
        InvalidInputError: the file is none, its network is of another kind, or its spaces are not
            this game's with that observation.
    """
    seen = one_of("observation", observation, OBSERVATIONS)
    with explain_missing(str(path)):
        import torch  # noqa: F401
    check_file(path)
    data, tensors = _read(path)
    policy = data.get("policy_class")
    made_by = str(policy.get("__init__")) if isinstance(policy, dict) else ""
    if _POLICY not in made_by:
        raise InvalidInputError(f"{path} is no model with SB3's MlpPolicy, the only one read here")
    _check_spaces(path, data, seen)
    config = PolicyConfig(
        game=GameConfig(observation=seen),
        train=TrainConfig(conditioned=False),
        ppo=PPOConfig(
            activation=_activation(path, data.get("policy_kwargs")),
            mask_actions=_MASKABLE in made_by,
        ),
    )
    try:
        return Policy(_actor(path, tensors), config)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is damaged: {error}") from error


def _check_spaces(path: Path, data: dict[str, Any], name: ObservationName) -> None:
    """Checks that a model sees the observation of a name and chooses from Blue's 145 actions."""
    spaces: list[Any] = [data.get(space) for space in ("observation_space", "action_space")]
    if not all(isinstance(space, dict) and ":type:" in space for space in spaces):
        raise InvalidInputError(f"{path} is damaged or not a PPO model of SB3: it has no spaces")
    observation, action = spaces
    shape = observation.get("_shape")
    sizes = shape if isinstance(shape, list) else []
    is_ours = observation[":type:"] in (_BOX, _BITS) and len(sizes) == 1
    if not is_ours or (action[":type:"], str(action.get("n"))) != (_DISCRETE, str(NUM_ACTIONS)):
        raise InvalidInputError(
            f"{path} plays another game: it sees {observation[':type:']} of shape {shape} and "
            f"chooses from {action[':type:']} of {action.get('n')}"
        )
    size = observation_of(name, SCENARIO2).size
    if sizes != [size]:
        raise InvalidInputError(
            f"{path} sees {sizes[0]} values, the observation {name} has {size}: "
            "say which observation it was trained on (--observation, observation=)"
        )


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


def _actor(path: Path, tensors: "dict[str, Tensor]") -> Weights:
    """Returns the weights of the actor, by the names that a policy gives them."""
    import torch

    numbers = sorted(int(found[1]) for key in tensors if (found := _HIDDEN.fullmatch(str(key))))
    names = [*(f"mlp_extractor.policy_net.{number}" for number in numbers), "action_net"]
    known = {
        f"{name}.{part}": f"actor.{layer}.{part}"
        for layer, name in enumerate(names)
        for part in ("weight", "bias")
    }
    others = [key for key in tensors if key not in known and not _UNUSED.fullmatch(str(key))]
    if others:
        raise InvalidInputError(f"{path} has a network of another kind: it has {others[0]}")
    actor = {ours: tensors.get(theirs) for theirs, ours in known.items()}
    return {
        name: tensor.numpy()
        for name, tensor in actor.items()
        if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32
    }


def _activation(path: Path, settings: Any) -> ActivationName:
    """Returns the network's activation."""
    chosen = settings.get("activation_fn") if isinstance(settings, dict) else None
    found = _ACTIVATION.fullmatch(str(chosen))
    name = "Tanh" if chosen is None else found[1] if found else str(chosen)  # Tanh is its default
    if name not in _OURS:
        raise InvalidInputError(
            f"{path} has the activation {name}; those that are read are {', '.join(_OURS)}"
        )
    return _OURS[name]
