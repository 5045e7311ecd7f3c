"""Scores and reliability of forecasts, worked out by hand."""

import numpy as np
import pytest

from workflow_rl.bench.calibration import Forecasts, brier_of_groups


def forecasts(*games: list[tuple[float, bool]]) -> Forecasts:
    """Forecasts of some games, as many in each."""
    found = Forecasts(len(games))
    for step in zip(*games, strict=True):
        probability, outcome = zip(*step, strict=True)
        found.add(np.array(probability), np.array(outcome))
    return found


def test_the_brier_score_is_the_mean_squared_error() -> None:
    found = forecasts([(0.25, True), (1.0, True)], [(0.5, False), (0.0, True)])
    assert found.count == 4
    assert found.brier == pytest.approx((0.5625 + 0.0 + 0.25 + 1.0) / 4)
    assert found.base_rate == 0.75


def test_forecasts_are_sorted_by_size_and_counted_with_what_came_true() -> None:
    steps = [(0.0, False), (0.05, False), (0.2, True), (0.2, False), (0.95, True), (1.0, True)]
    bins = {b.label: b for b in forecasts(steps, steps).bins()}
    assert list(bins) == [
        *("0", "to 0.1", "0.1 to 0.3", "0.3 to 0.5", "0.5 to 0.7", "0.7 to 0.9", "above 0.9", "1"),
    ]
    assert [b.count for b in bins.values()] == [2, 2, 4, 0, 0, 0, 2, 2]
    assert bins["0.1 to 0.3"].forecast == pytest.approx(0.2)
    assert bins["0.1 to 0.3"].observed.mean == pytest.approx(0.5)
    assert bins["0.1 to 0.3"].observed.half_width == 0.0  # both games say the same
    assert np.isnan(bins["0.3 to 0.5"].forecast)


def test_the_interval_takes_a_game_as_one_observation() -> None:
    one = forecasts(*[[(0.5, k % 2 == 0)] for k in range(100)])
    many = forecasts(*[[(0.5, k % 2 == 0)] * 30 for k in range(100)])
    width = [b.observed.half_width for f in (one, many) for b in f.bins() if b.count]
    assert width == pytest.approx([1.96 * 0.05] * 2, rel=1e-3)


def test_games_are_put_together() -> None:
    first, second = forecasts([(0.5, True)]), forecasts([(0.5, False)], [(0.5, True)])
    whole = Forecasts.together([first, second])
    assert whole.count == 3
    assert whole.base_rate == pytest.approx(2 / 3)
    assert whole.brier == pytest.approx(0.25)
    assert [b.count for b in whole.bins() if b.count] == [3]


def test_the_best_forecast_of_a_group_is_its_own_frequency() -> None:
    groups = np.array([0, 0, 0, 0, 2, 2])
    outcome = np.array([True, False, False, False, True, True])
    assert brier_of_groups(groups, outcome) == pytest.approx(4 * 0.25 * 0.75 / 6)
