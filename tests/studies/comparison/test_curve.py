import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.studies.comparison.measured import CurveRecorder, LearningCurve


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


def test_recent_means_cover_the_window_and_no_more_points_than_needed() -> None:
    reward, compliance = curve([-40.0, -30.0, -20.0, -10.0]).recent(20)
    assert math.isnan(reward[0])
    assert reward[1:].tolist() == [-35.0, -25.0, -15.0]
    assert compliance[3] == pytest.approx(0.15)


def test_recent_means_weigh_points_by_their_episodes() -> None:
    reward, _ = curve([-40.0, -10.0], [10, 30]).recent(35)
    assert reward[1] == pytest.approx((-40 * 10 - 10 * 30) / 40)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(-500, 0)), min_size=1, max_size=25),
    st.integers(1, 40),
)
def test_recent_means_equal_those_found_by_going_back(
    points: list[tuple[int, float]], window: int
) -> None:
    numbers, rewards = [n for n, _ in points], [r for _, r in points]
    found, _ = curve(rewards, numbers).recent(window)
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


def test_blocks_hold_about_so_many_episodes() -> None:
    assert curve([-4.0, -2.0, -8.0, -6.0]).blocks(20).tolist() == [-3.0, -7.0]
    assert curve([-4.0, -2.0], [200, 200]).blocks(20).tolist() == [-4.0, -2.0]


def test_swings_are_not_a_steady_rise() -> None:
    rising = curve([-100.0 + k for k in range(20)]).unrest(10, 10)
    rng = np.random.default_rng(0)
    swinging = curve((-50 + 7 * rng.normal(size=2_000)).tolist()).unrest(10, 1_900)
    assert rising == pytest.approx(math.sqrt(0.5))
    assert swinging == pytest.approx(7.0, rel=0.1)
    assert math.isnan(curve([-1.0]).unrest(10, 10))


def test_a_recorder_gathers_episodes_into_points() -> None:
    recorder = CurveRecorder(3)
    for update in range(1, 5):
        rewards = np.full(2, -10.0 * update, np.float32)
        recorder.add(200 * update, 0.5 * update, rewards, np.full(2, 0.5))
    recorder.add(1_000, 2.5, np.zeros(0, np.float32), np.zeros(0))
    recorder.add(1_200, 3.0, np.zeros(1, np.float32), np.ones(1))
    found = recorder.curve()
    assert found.transitions.tolist() == [400, 800]
    assert found.seconds.tolist() == [1.0, 2.0]
    assert found.episodes.tolist() == [4, 4]
    assert found.reward.tolist() == [-15, -35]
    assert found.compliance.tolist() == [0.5, 0.5]
    assert found.total == 8


def test_nothing_recorded_is_an_empty_curve() -> None:
    empty = CurveRecorder(3).curve()
    assert empty.total == 0
    assert math.isnan(empty.at("transitions", math.inf, 1)[0])
    assert math.isnan(empty.first_reach(-1, 1)[0])
    assert math.isnan(empty.unrest(10, 10))


def test_it_survives_json() -> None:
    course = curve([-4.0, -2.5])
    again = LearningCurve.from_json(json.loads(json.dumps(course.as_json())))
    assert all((getattr(again, k) == v).all() for k, v in vars(course).items())
