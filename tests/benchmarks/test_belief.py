"""Scores and reliability of forecasts, worked out by hand."""

import numpy as np
import pytest

from benchmarks.belief import Forecasts, brier_of_groups


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


def test_forecasts_are_sorted_by_size_and_counted_with_what_came_true() -> None:
    steps = [(0.0, False), (0.05, False), (0.2, True), (0.2, False), (0.95, True), (1.0, True)]
    rows = {row["probability"]: row for row in forecasts(steps, steps).rows()}
    counts = {label: row["forecasts"] for label, row in rows.items()}
    assert counts == {"0": 2, "to 0.1": 2, "0.1 to 0.3": 4, "above 0.9": 2, "1": 2}
    assert rows["0.1 to 0.3"]["mean"] == pytest.approx(0.2)
    assert rows["0.1 to 0.3"]["came true"] == pytest.approx(0.5)
    assert rows["0.1 to 0.3"]["half-width"] == 0.0  # both games say the same


def test_the_interval_takes_a_game_as_one_observation() -> None:
    one = forecasts(*[[(0.5, k % 2 == 0)] for k in range(100)])
    many = forecasts(*[[(0.5, k % 2 == 0)] * 30 for k in range(100)])
    width = [row["half-width"] for found in (one, many) for row in found.rows()]
    assert width == pytest.approx([1.96 * 0.05] * 2, rel=1e-3)


def test_the_best_forecast_of_a_group_is_its_own_frequency() -> None:
    groups = np.array([0, 0, 0, 0, 2, 2])
    outcome = np.array([True, False, False, False, True, True])
    assert brier_of_groups(groups, outcome) == pytest.approx(4 * 0.25 * 0.75 / 6)
