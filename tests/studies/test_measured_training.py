import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.config import ComparisonConfig, GameConfig
from workflow_rl.processes import one_thread
from workflow_rl.runs.pool import Returned
from workflow_rl.studies.measured_training import LearningCurve, Measured, MeasureTask, job_of
from workflow_rl.train.loop import Training

PLAN = ComparisonConfig(
    game=GameConfig(episode_length=10),
    transitions=1_000,
    presets=("episode", "parallel25"),
    seeds=(3,),
)


def curve(
    rewards: list[float], episodes: list[int] | None = None, length: int = 100
) -> LearningCurve:
    """A training with a point after each given number of episodes, one second each."""
    numbers = np.array(episodes or [10] * len(rewards), np.float64)
    return LearningCurve(
        transitions=np.cumsum(numbers) * length,
        seconds=np.arange(1.0, len(numbers) + 1),
        episodes=numbers,
        reward=np.array(rewards),
        compliance=np.array(rewards) / -100,
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(-500, 0)), min_size=1, max_size=25),
    st.integers(1, 40),
)
def test_recent_means_equal_those_found_by_going_back(
    points: list[tuple[int, float]], window: int
) -> None:
    numbers, rewards = [n for n, _ in points], [r for _, r in points]
    found, compliance = curve(rewards, numbers).recent(window)
    np.testing.assert_allclose(compliance, found / -100, atol=1e-9)
    for i in range(len(points)):
        taken, total = 0, 0.0
        for j in range(i, -1, -1):
            if taken >= window:
                break
            taken, total = taken + numbers[j], total + numbers[j] * rewards[j]
        if taken < window:
            assert math.isnan(found[i])
        else:
            assert found[i] == pytest.approx(total / taken, abs=1e-6)


def test_a_training_can_be_asked_at_a_number_of_transitions_or_at_a_time() -> None:
    course = curve([-40.0, -30.0, -20.0, -10.0])
    assert course.at("transitions", 2_000, 10)[0] == -30
    assert course.at("transitions", 2_999, 10)[0] == -30
    assert course.at("seconds", 3.0, 10)[0] == -20
    assert course.at("transitions", math.inf, 10)[0] == -10
    assert math.isnan(course.at("transitions", 999, 10)[0])
    assert math.isnan(course.at("seconds", 1.0, 20)[0])


def test_the_first_time_a_threshold_is_reached_counts_even_if_it_is_lost_again() -> None:
    course = curve([-40.0, -9.0, -50.0, -5.0])
    assert course.first_reach(-10, 10) == (2_000.0, 2.0)
    assert course.first_reach(-28, 20) == (2_000.0, 2.0)
    assert all(math.isnan(x) for x in course.first_reach(-1, 10))


def test_swings_are_not_a_steady_rise() -> None:
    rising = curve([-100.0 + k for k in range(20)]).unrest(10, 10)
    rng = np.random.default_rng(0)
    swinging = curve((-50 + 7 * rng.normal(size=2_000)).tolist()).unrest(10, 1_900)
    assert rising == pytest.approx(math.sqrt(0.5))
    assert curve([-4.0, -2.0, -8.0, -6.0]).blocks(20).tolist() == [-3.0, -7.0]
    assert swinging == pytest.approx(7.0, rel=0.1)
    assert math.isnan(curve([-1.0]).unrest(10, 10))


def test_updates_are_gathered_into_points() -> None:
    """Of each update: transitions, seconds, episodes, and their sums of reward and compliance."""
    updates = [(200.0 * k, 0.5 * k, 2, -20.0 * k, 1.0) for k in range(1, 5)]
    found = LearningCurve.of_updates([*updates, (1_000, 2.5, 0, 0, 0), (1_200, 3, 1, 0, 1)], 4)
    assert found.as_json() == {
        "transitions": [400, 800],
        "seconds": [1.0, 2.0],
        "episodes": [4, 4],
        "reward": [-15, -35],
        "compliance": [0.5, 0.5],
    }
    assert found.total == 8


# --- a training


@pytest.fixture(scope="module", params=PLAN.presets)
def measured(request: pytest.FixtureRequest) -> Measured:
    task = MeasureTask(request.param, job_of(PLAN, request.param, 3))
    assert task.name == f"{request.param}, seed 3"
    first, *_, last = task.run()
    assert not isinstance(first, Returned)
    assert first["transitions"] == (250 if request.param == "parallel25" else 10)
    assert first["env_reward"] <= 0
    assert isinstance(last, Returned)
    found: Measured = last.value
    return found


def test_it_is_the_training_that_the_preset_asks_for(measured: Measured) -> None:
    (preset,) = (name for name in PLAN.presets if name == measured.preset)
    training = Training(job_of(PLAN, preset, 3))
    with one_thread():
        for _ in training.updates():
            pass
    result = training.outcome()
    assert (measured.updates, measured.transitions) == (result.updates, result.transitions)
    assert measured.transitions == 1_000
    assert measured.gradient_steps == 4 * measured.updates
    assert measured.transitions_per_update * measured.updates == measured.transitions
    last = max(3 * measured.n_envs, int(measured.curve.episodes[-1]))
    if last == 3 * measured.n_envs:
        reward, _ = measured.curve.at("transitions", np.inf, last)
        assert reward == pytest.approx(result.objective.reward.mean, rel=1e-5)
