"""Hand-made observations, and an agent's game played to its end."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.scenario.scenario2 import ACTION_NAMES, HOST_NAMES

BITS = {
    "scan": (1, 0, 0, 0),
    "exploit": (1, 1, 0, 1),
    "unknown": (0, 0, 1, 0),
    "user": (0, 0, 0, 1),
    "privileged": (0, 0, 1, 1),
}


def seen(*, size: int = 52, **hosts: str) -> NDArray[np.int8]:
    """One row in which some hosts show or are marked something: `seen(User1="scan")`."""
    row = np.zeros((1, size), np.int8)
    for host, shown in hosts.items():
        first = 4 * HOST_NAMES.index(host)
        row[0, first : first + 4] = BITS[shown]
    return row


def everything() -> NDArray[np.bool_]:
    """A mask that allows everything."""
    return np.ones((1, 145), np.bool_)


def play(agent: BlueAgent, n: int = 1, steps: int = 100, **game: Any) -> tuple[Any, list[Any]]:
    """Plays n episodes; returns the batch at their end and each step's actions (n,)."""
    config = GameConfig(episode_length=steps, observation=agent.observation, **game)
    batch = make_batch(n, config, autoreset=False)
    batch.reset(seed=7)
    agent.begin(n, seed=7)
    played = []
    for step in range(steps):
        played.append(agent.act(batch.observation, batch.out.action_mask, step))
        batch.step(played[-1])
    return batch, played


def named(actions: list[Any], env: int = 0) -> list[str]:
    return [ACTION_NAMES[int(action[env])] for action in actions]
