import math

import pytest

from tests.refused import refusal
from workflow_rl.config import TrainConfig
from workflow_rl.train.stopping import COMPLIANT, OUT_OF_BUDGET, StopRule

RULE = StopRule(threshold=0.95, min_updates=5, max_updates=50, at_budget_only=False)
BUDGET = StopRule(threshold=0.95, min_updates=5, max_updates=50, at_budget_only=True)


@pytest.mark.parametrize(
    ("updates", "compliance", "reason"),
    [
        (1, 1.0, None),  # too early
        (4, 1.0, None),
        (5, 1.0, COMPLIANT),
        (5, 0.95, COMPLIANT),  # the threshold itself is enough
        (5, 0.949, None),
        (49, 0.0, None),
        (50, 0.0, OUT_OF_BUDGET),
        (51, 0.0, OUT_OF_BUDGET),
        (50, 0.97, COMPLIANT),  # compliance in the last update is compliance
        (5, math.nan, None),  # no episode ended
        (50, math.nan, OUT_OF_BUDGET),
    ],
)
def test_training_ends_at_compliance_after_enough_updates_or_at_its_budget(
    updates: int, compliance: float, reason: str | None
) -> None:
    assert RULE.reason(updates, compliance) == reason


def test_at_budget_only_compliance_does_not_end_it_and_the_budget_always_does() -> None:
    for compliance in (0.0, 0.95, 1.0, math.nan):
        assert BUDGET.reason(49, compliance) is None
        assert BUDGET.reason(50, compliance) == OUT_OF_BUDGET
    short = StopRule(0.95, min_updates=5, max_updates=2, at_budget_only=False)
    assert short.reason(2, 1.0) == OUT_OF_BUDGET


def test_the_rule_of_a_configuration() -> None:
    assert StopRule.of(TrainConfig(), episode_length=100) == RULE
    assert StopRule.of(TrainConfig(stop_at="budget"), episode_length=100) == BUDGET
    config = TrainConfig(
        n_envs=8, update_steps=2048, max_episodes=50, min_updates=7, compliance_threshold=0.5
    )
    assert StopRule.of(config, 100) == StopRule(0.5, 7, 50 * 100 // 256, False)


def test_a_configuration_that_would_never_update_or_finish_an_episode_is_refused() -> None:
    config = TrainConfig(n_envs=1, update_steps=20_000, max_episodes=50)
    said = refusal(StopRule.of, config, episode_length=100)
    assert "never update" in said
    assert all(number in said for number in ("50 episodes", "100 steps", "5000", "20000"))
    assert StopRule.of(config, episode_length=400).max_updates == 1
    config = TrainConfig(n_envs=10, update_steps=600, max_episodes=1, min_updates=1)
    assert "never finish an episode" in refusal(StopRule.of, config, episode_length=100)
    assert StopRule.of(config, episode_length=60).max_updates == 1
