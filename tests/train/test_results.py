"""What a training found: its objective, and the best policy it met."""

import math
from typing import Any

import numpy as np
import pytest

from tests.train.toys import (
    assert_is,
    every_policy,
    job,
    logged,
)


@pytest.mark.parametrize(
    ("settings", "ended"),
    [
        ({"max_episodes": 7}, 7),
        ({"max_episodes": 2}, 2),  # as many as there are
        ({"max_episodes": 9, "update_steps": 5 * 7}, 12 * 7 // 10),  # updates cut episodes
    ],
)
def test_the_objective_is_the_mean_of_the_last_3_episodes_of_every_environment(
    settings: dict[str, Any], ended: int
) -> None:
    result, _, episodes = logged(job(n_envs=5, **settings))
    per_env = [np.concatenate([e.env_reward[e.env == env] for e in episodes]) for env in range(5)]
    assert result.episodes_per_env == min(map(len, per_env)) == ended
    last = np.array([rewards[-3:] for rewards in per_env]).astype(np.float64)
    assert result.objective.games == last.size
    assert result.objective.reward.mean == pytest.approx(last.mean())
    assert result.objective.reward.error == pytest.approx(last.std(ddof=1) / math.sqrt(last.size))


MANY: dict[str, Any] = {
    "n_envs": 12,
    "max_episodes": 12,
    "alignment": "fixed",
    "game": {"episode_length": 20},
}


def test_below_the_threshold_the_policy_of_highest_compliance_is_kept() -> None:
    training, records, players = every_policy(job(compliance_threshold=1.0, **MANY))
    result = training.outcome()
    best = max(range(12), key=lambda k: (records[k].compliance_observed, records[k].env_reward))
    assert best < 11  # so that a later policy could have replaced it
    assert max(r.env_reward for r in records) > records[best].env_reward
    assert result.best.compliance.mean == records[best].compliance_observed
    assert result.best.reward.mean == records[best].env_reward
    assert_is(training.best, players[best])


def test_a_policy_that_meets_the_threshold_beats_one_with_more_reward_below_it() -> None:
    _, records, _ = every_policy(job(**MANY))
    richest = max(records, key=lambda record: record.env_reward)
    # With a fixed weight the threshold changes nothing of the play: choose a telling one.
    threshold = richest.compliance_observed + 1e-6
    training, again, players = every_policy(job(compliance_threshold=threshold, **MANY))
    result = training.outcome()
    assert [r.env_reward for r in again] == [r.env_reward for r in records]
    meets = [k for k, r in enumerate(records) if r.compliance_observed >= threshold]
    assert len(meets) >= 2
    best = max(meets, key=lambda k: records[k].env_reward)
    assert result.best.reward.mean == records[best].env_reward < richest.env_reward
    assert result.best.compliance.mean == records[best].compliance_observed
    assert_is(training.best, players[best])


def test_of_a_policy_that_is_shown_no_order_only_the_reward_counts() -> None:
    some = job(conditioned=False, compliance_threshold=1.0, **MANY)
    training, records, players = every_policy(some)
    result = training.outcome()
    best = max(range(12), key=lambda k: records[k].env_reward)
    assert max(r.compliance_observed for r in records) > records[best].compliance_observed
    assert result.best.reward.mean == records[best].env_reward
    assert_is(training.best, players[best])
