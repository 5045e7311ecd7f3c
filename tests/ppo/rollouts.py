"""Rollouts to test with: made up, or played at toy size."""

from typing import Any

import numpy as np
import torch

from workflow_rl.config import GameConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.policy_table import PolicyTable
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.batch import Batch


def new_network(inputs: int, actions: int = NUM_ACTIONS, *, seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    return ActorCritic(inputs, actions, (16, 16))


def new_player(
    envs: int = 6,
    order: int | None = 0,
    seed: int = 0,
    *,
    conditioned: bool = True,
    **game: Any,
) -> Player:
    defaults: dict[str, Any] = {"red_agent": "meander", "episode_length": 20}
    config = GameConfig(**(defaults | game))
    return Player(SimulatorWorld(Batch(envs, config)), order, seed, conditioned=conditioned)


def played(steps: int = 30, envs: int = 6, *, masked: bool = False, **player: Any) -> Rollout:
    """A rollout of an untrained policy."""
    someone = new_player(envs, **player)
    return someone.collect(new_network(someone.width), steps, masked=masked)


def probabilities_of(network: ActorCritic, inputs: Any) -> Any:
    """The network's probabilities (U, actions) for inputs (U, width), by torch."""
    with torch.no_grad():
        return torch.softmax(network(torch.from_numpy(inputs).float())[0], -1).numpy()


def made_up(
    network: ActorCritic, inputs: Any, shape: tuple[int, int], seed: int = 0, **fields: Any
) -> Rollout:
    """A rollout of one-step episodes over some inputs, acted by the network.

    Args:
        network: whose actions, probabilities and values it holds.
        inputs: (U, width) the distinct inputs.
        shape: (T, B).
        seed: draws which input is met where, and the actions.
        fields: of the rollout, to replace.
    """
    rng = np.random.default_rng(seed)
    table = PolicyTable(network, inputs.shape[1])
    ids = table.number(inputs)
    rows = rng.choice(ids, shape).astype(np.int32)
    uniforms = rng.random(shape, np.float32)
    actions = table.sample(rows.ravel(), uniforms.ravel()).reshape(shape)
    values = table.values[rows]
    filled = {
        "inputs": table.inputs.rows,
        "rows": rows,
        "actions": actions,
        "log_probability": np.log(table.probabilities[rows, actions]),
        "values": values,
        "last_values": values[-1],
        "masks": None,
        "env_reward": np.zeros(shape, np.float32),
        "ends": np.ones(shape, np.bool_),
        "orders": np.zeros(shape, np.int64),
        "any_open": np.zeros((*shape, 2), np.bool_),
        "verdict": np.zeros((*shape, 2), np.int8),
        "removed": np.zeros(shape, np.bool_),
    }
    return Rollout(**(filled | fields))
