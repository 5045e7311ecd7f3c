from typing import Any

import numpy as np
import pytest

from workflow_rl import Cage2Env
from workflow_rl.envs.agents import play_episodes
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import FIRST_RESTORE


class RestoreFirstMarked:
    """Written as for the challenge's own evaluation."""

    def __init__(self) -> None:
        self.episodes = 0
        self.action_spaces: set[Any] = set()

    def get_action(self, observation: Any, action_space: Any) -> int:
        self.action_spaces.add(action_space)
        for host in range(13):
            if observation[4 * host + 2] or observation[4 * host + 3]:
                return FIRST_RESTORE + host
        return 0

    def end_episode(self) -> None:
        self.episodes += 1


def test_a_cyborg_style_agent_plays_whole_episodes() -> None:
    agent = RestoreFirstMarked()
    returns = play_episodes(agent, Cage2Env(red_agent="bline"), 60, seed=1)
    assert agent.episodes == 60
    assert agent.action_spaces == {145}
    assert returns.shape == (60,)
    # The reference's mean is -64.7 with a standard deviation of 30.4.
    assert abs(returns.mean() + 64.7) < 4 * 30.4 / np.sqrt(60)


def test_same_seed_same_returns() -> None:
    env = Cage2Env(red_agent="meander")
    first = play_episodes(RestoreFirstMarked(), env, 3, seed=1)
    assert (play_episodes(RestoreFirstMarked(), env, 3, seed=1) == first).all()


def test_a_number_of_episodes_is_positive() -> None:
    with pytest.raises(InvalidInputError, match="episodes"):
        play_episodes(RestoreFirstMarked(), Cage2Env(), 0)


def test_an_episode_that_an_error_ends_is_over_for_the_agent() -> None:
    agent = RestoreFirstMarked()
    agent.get_action = lambda *_: 145  # type: ignore[method-assign]
    with pytest.raises(InvalidInputError, match="0 to 144"):
        play_episodes(agent, Cage2Env(), 3)
    assert agent.episodes == 1
