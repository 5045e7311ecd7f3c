import pytest

from workflow_rl.config import TrainConfig
from workflow_rl.errors import InvalidInputError


def test_a_budget_that_ends_before_the_first_update_is_refused_with_the_sums() -> None:
    config = TrainConfig(n_envs=1, max_episodes=50, update_steps=20_000)
    with pytest.raises(InvalidInputError, match="never update: 50 episodes of 100 steps are 5000"):
        config.max_updates(episode_length=100)
    assert TrainConfig(n_envs=1, max_episodes=200, update_steps=20_000).max_updates(100) == 1
