"""Lets agents written for CybORG play: `get_action(observation, action_space)`, `end_episode()`."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import whole_number
from workflow_rl.envs.single import Cage2Env
from workflow_rl.scenario.actions import NUM_ACTIONS

_MAX_EPISODES = 10_000_000


class CyborgStyleAgent(Protocol):
    """What CAGE-2's own evaluation asks of a Blue agent; `end_episode()` may be there, too."""

    def get_action(self, observation: NDArray[Any], action_space: int) -> int:
        """Returns the action for an observation; `action_space` is the number of actions."""
        ...


def forget_episode(agent: CyborgStyleAgent) -> None:
    """Calls the agent's `end_episode()`, if it has one."""
    end_episode = getattr(agent, "end_episode", None)
    if end_episode is not None:
        end_episode()


def play_episodes(
    agent: CyborgStyleAgent, env: Cage2Env, episodes: int, seed: int | None = None
) -> NDArray[np.float64]:
    """Plays whole episodes and returns the return of each, (episodes,).

    Args:
        agent: any agent of that interface.
        env: the environment to play.
        episodes: how many.
        seed: of the first reset; None goes on with the environment's own stream.
    """
    returns = np.zeros(whole_number("episodes", episodes, 1, _MAX_EPISODES))
    for episode in range(len(returns)):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        ended = False
        try:
            while not ended:
                action = agent.get_action(observation, NUM_ACTIONS)
                observation, reward, _, ended, _ = env.step(action)
                returns[episode] += reward
        finally:  # also of an episode that an error ends
            forget_episode(agent)
    return returns
