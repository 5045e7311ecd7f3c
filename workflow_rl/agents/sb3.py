"""A PPO model saved by Stable-Baselines3 as an agent; the library is imported when it is needed."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.scenario.actions import NUM_ACTIONS


def sb3_agent(path: Path, name: str, *, sampled: bool = False) -> PolicyAgent:
    """Returns the agent of a model file that SB3's `PPO.save` wrote.

    Such files hold pickled objects: load only those you trust.

    Raises:
        MissingDependencyError: Stable-Baselines3 is not installed.
        InvalidInputError: the file is none, or its spaces are not this game's.
    """
    with explain_missing(str(path)):
        import torch
        from stable_baselines3 import PPO

    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    try:
        model = PPO.load(path, device="cpu")
    except Exception as error:  # whatever a damaged zip or a foreign pickle makes it raise
        raise InvalidInputError(f"{path} is damaged or not a PPO model of SB3") from error
    shape = getattr(model.observation_space, "shape", None)
    actions = getattr(model.action_space, "n", None)
    if shape is None or len(shape) != 1 or actions != NUM_ACTIONS:
        raise InvalidInputError(
            f"{path} plays another game: it sees {model.observation_space} and chooses from "
            f"{model.action_space}"
        )

    def probabilities(observation: NDArray[np.int8]) -> NDArray[np.float32]:
        with torch.no_grad():
            tensor, _ = model.policy.obs_to_tensor(observation)
            chosen_from: NDArray[np.float32] = model.policy.get_distribution(
                tensor
            ).distribution.probs.numpy()
        return chosen_from

    return PolicyAgent(name, probabilities, int(shape[0]), sampled=sampled)
