"""What tests of learning share: forms of PPO, rewards, and networks compared."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workflow_rl.config import PPO_FORMS
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Rollout

DOCUMENTED = PPO_FORMS["documented"]
MODERN = replace(PPO_FORMS["modern"], minibatch_size=64)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def weights(network: ActorCritic) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in network.parameters()]


def assert_same_weights(a: ActorCritic, b: ActorCritic) -> None:
    for one, other in zip(weights(a), weights(b), strict=True):
        assert torch.equal(one, other)


def reward_of(rollout: Rollout, seed: int = 0) -> Any:
    noise = np.random.default_rng(seed).normal(size=rollout.actions.shape)
    return rollout.env_reward + noise.astype(np.float32)


def by_env(array: Any) -> Any:
    """What a rollout holds (T, B, ...), the steps of one environment after those of another."""
    return array.swapaxes(0, 1).reshape(-1, *array.shape[2:])


def with_an_input_for_every_sample(rollout: Rollout) -> Rollout:
    """The same rollout with nothing shared."""
    rows = np.arange(rollout.transitions, dtype=np.int32).reshape(rollout.rows.shape)
    return replace(rollout, inputs=rollout.inputs[rollout.rows.ravel()], rows=rows)
