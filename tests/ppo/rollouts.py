"""Networks, players and rollouts to test with: made up, or played at toy size."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from workflow_rl.config import ActivationName, GameConfig, TrainConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.acting import PolicyTable
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.scenario.scenario2 import NUM_ACTIONS


def new_network(
    inputs: int,
    actions: int = NUM_ACTIONS,
    hidden: Sequence[int] = (16, 16),
    *,
    activation: ActivationName = "relu",
    seed: int = 0,
    scale: float = 1.0,
) -> ActorCritic:
    """An untrained network; the larger its scale, the stronger its opinions."""
    torch.manual_seed(seed)
    network = ActorCritic(inputs, actions, hidden, activation=activation)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(scale)
    return network


def new_player(
    envs: int = 6, order: int | None = 0, seed: int = 0, *, conditioned: bool = True, **game: Any
) -> Player:
    defaults: dict[str, Any] = {"red_agent": "meander", "episode_length": 20}
    config = GameConfig(**(defaults | game))
    train = TrainConfig(conditioned=conditioned)
    return Player(SimulatorWorld(make_batch(envs, config)), order, seed, train)


def played(steps: int = 30, envs: int = 6, *, masked: bool = False, **player: Any) -> Rollout:
    """A rollout of an untrained policy."""
    someone = new_player(envs, **player)
    return someone.collect(new_network(someone.width), steps, masked=masked)


def outputs_of(network: ActorCritic, inputs: Any) -> tuple[Any, Any]:
    """The network's probabilities (U, actions) and values (U,) for inputs (U, width), by torch."""
    with torch.no_grad():
        logits, values = network(torch.from_numpy(inputs).float())
        return torch.softmax(logits.double(), -1).numpy(), values.numpy()


def made_up(
    network: ActorCritic, inputs: Any, shape: tuple[int, int], seed: int = 0, **fields: Any
) -> Rollout:
    """A rollout (T, B) of one-step episodes over distinct inputs (U, width), by the network."""
    rng = np.random.default_rng(seed)
    table = PolicyTable(network, inputs.shape[1])
    table.number(inputs)  # the rollout's, in this order
    met = inputs[rng.integers(0, len(inputs), shape).ravel()]
    choice = table.choose(met, None, rng.random(len(met), np.float32))
    rows, actions, probability, values = (array.reshape(shape) for array in choice)
    filled = {
        "inputs": table.rows,
        "rows": rows,
        "actions": actions,
        "log_probability": np.log(probability),
        "values": values,
        "last_values": values[-1],
        "env_reward": np.zeros(shape, np.float32),
        "ends": np.ones(shape, np.bool_),
        "orders": np.zeros(shape, np.int64),
        "any_open": np.zeros((*shape, 2), np.bool_),
        "verdict": np.zeros((*shape, 2), np.int8),
        "removed": np.zeros(shape, np.bool_),
    }
    return Rollout(**(filled | fields))
