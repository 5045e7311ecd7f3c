"""Untrained policies with strong opinions, in memory and as files."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from workflow_rl.agents.action_space import action_space_named
from workflow_rl.agents.policy import Policy
from workflow_rl.config import (
    ActionSpaceName,
    GameConfig,
    ObservationName,
    PolicyConfig,
    PPOConfig,
    TrainConfig,
)
from workflow_rl.config.units import ANY
from workflow_rl.envs.observations import observation_of
from workflow_rl.nets.policy_file import Weights
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import TYPES, Order
from workflow_rl.workflow.units import units_of

ORDER = 69


def weights(inputs: int, outputs: int, seed: int = 0, hidden: Sequence[int] = (16,)) -> Weights:
    """The weights of an actor."""
    rng = np.random.default_rng(seed)
    sizes = (inputs, *hidden, outputs)
    return {
        f"actor.{2 * i}.{part}": rng.normal(0, 1.5, shape).astype(np.float32)
        for i in range(len(sizes) - 1)
        for part, shape in (("weight", (sizes[i + 1], sizes[i])), ("bias", (sizes[i + 1],)))
    }


def config_of(
    observation: ObservationName = "challenge",
    action_space: ActionSpaceName = "all",
    *,
    order: Order | int | None = None,
    conditioned: bool = False,
    **settings: Any,
) -> PolicyConfig:
    """How a policy was trained; the settings are those of its game, its training and its PPO."""

    def among(kind: Any) -> dict[str, Any]:
        return {f.name: settings[f.name] for f in fields(kind) if f.name in settings}

    followed = TYPES[order] if isinstance(order, int) else order
    return PolicyConfig(
        game=GameConfig(observation=observation, **among(GameConfig)),
        train=TrainConfig(action_space=action_space, conditioned=conditioned, **among(TrainConfig)),
        ppo=PPOConfig(**among(PPOConfig)),
        order=None if followed is None else str(followed),
    )


def sizes_of(config: PolicyConfig) -> tuple[int, int]:
    """The inputs and outputs of a network that fits."""
    train, network = config.train, config.game.network
    inputs = observation_of(config.game.observation, network).size
    if train.conditioned:
        units = None if train.units == ANY else units_of(train.units, network)
        inputs += OrderEncoding(train.shown_order, units, network).size
    return inputs, action_space_named(train.action_space, network).size


def new_policy(
    observation: ObservationName = "challenge",
    action_space: ActionSpaceName = "all",
    *,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Policy:
    """A policy of `config_of` these."""
    config = config_of(observation, action_space, **settings)
    return Policy(weights(*sizes_of(config), seed), config, facts)


def policy_file(path: Path, policy: Policy) -> Path:
    policy.save(path)
    return path
