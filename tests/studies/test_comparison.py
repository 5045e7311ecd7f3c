import math
from typing import Any

import numpy as np
import pytest

from workflow_rl.config import ComparisonConfig
from workflow_rl.studies.comparison import Comparison, summarise
from workflow_rl.studies.gradient_noise import GradientNoise
from workflow_rl.studies.measured_training import LearningCurve, Measured


def measured(
    preset: str, seed: int, rewards: list[float], *, rate: float, n_envs: int = 10, **changes: Any
) -> Measured:
    """A training with a point of 100 episodes for each reward, of 10 steps each."""
    number = len(rewards)
    transitions = np.array([1_000.0 * k for k in range(1, number + 1)])
    course = LearningCurve(
        transitions=transitions,
        seconds=transitions / rate,
        episodes=np.full(number, 100.0),
        reward=np.array(rewards),
        compliance=np.linspace(0, 1, number),
    )
    fields: dict[str, Any] = {
        "n_envs": n_envs,
        "episode_length": 10,
        "transitions_per_update": 500,
        "updates": 2 * number,
        "gradient_steps": 8 * number,
        "transitions": 1_000 * number,
        "seconds": float(course.seconds[-1]),
        "wall_seconds": 2 * float(course.seconds[-1]),
        "peak_mb": 400.0 + seed,
        "added_mb": 4.0 + seed,
        "curve": course,
    }
    return Measured(preset=preset, seed=seed, **(fields | changes))


RISING = [-300.0, -200.0, -100.0, -50.0, -20.0, -20.0, -20.0, -20.0, -20.0, -20.0]


PLAN = ComparisonConfig(seeds=(0, 1, 2))


def two_presets() -> Comparison:
    trainings = []
    for seed in range(3):
        trainings.append(measured("quick", seed, [r - seed for r in RISING], rate=1_000.0))
        trainings.append(measured("slow", seed, [-40.0] * 10, rate=100.0))
    noise = {"quick": GradientNoise(500, 20, 2.0, 1.5, 2.6)}
    return summarise(PLAN, trainings, noise, [-100.0, -10.0])


def test_means_over_seeds_come_with_their_spread() -> None:
    quick, slow = two_presets().summaries
    assert (quick.preset, quick.seeds, slow.preset) == ("quick", 3, "slow")
    assert quick.reward.mean == pytest.approx(-21.0)
    assert quick.reward.deviation == pytest.approx(1.0)
    assert slow.reward.deviation == 0
    assert (quick.peak_mb, quick.added_mb) == (401.0, 5.0)
    assert quick.rate == pytest.approx(1_000)


def test_presets_are_compared_at_the_time_the_quickest_takes() -> None:
    found = two_presets()
    quick, slow = found.summaries
    assert found.seconds == pytest.approx(10.0)
    assert quick.reward_at_time.mean == pytest.approx(-21.0)
    assert slow.reward_at_time.mean == -40  # after a tenth of its transitions
    assert slow.compliance_at_time.mean == 0


def test_a_threshold_is_told_for_the_seeds_that_reached_it() -> None:
    quick, slow = two_presets().summaries
    hundred, ten = quick.reach
    assert (hundred.threshold, hundred.seeds, ten.seeds) == (-100.0, 3, 0)
    assert hundred.transitions.mean == pytest.approx((3_000 + 4_000 + 4_000) / 3)
    assert hundred.seconds.mean == pytest.approx((3 + 4 + 4) / 3)
    assert math.isnan(ten.transitions.mean)
    assert slow.reach[0].transitions.mean == 1_000


def test_fifty_episodes_are_those_of_every_environment_or_all_there_are() -> None:
    (few,) = summarise(PLAN, [measured("one", 0, RISING, rate=1.0, n_envs=10)], {}, []).summaries
    assert few.episodes_per_env == 50
    assert few.reward_at_episodes.mean == -20  # 500 episodes: the fifth point
    (many,) = summarise(PLAN, [measured("many", 0, RISING, rate=1.0, n_envs=100)], {}, []).summaries
    assert many.episodes_per_env == 10
    assert many.reward_at_episodes.mean == -20
    assert math.isnan(many.reward.deviation)
