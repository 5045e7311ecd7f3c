from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.runs import log_rows, write_run
from workflow_rl.report.cost import cost_of, thinned
from workflow_rl.report.rundata import read_run


def test_a_run_costs_what_its_trainings_did(tmp_path: Path) -> None:
    rows = log_rows("base", None, 4) + log_rows("trial_000", 3, 2)
    cost = cost_of(read_run(write_run(tmp_path / "run", rows=rows)))
    assert cost is not None
    assert cost.training == ["base"] * 4 + ["trial_000"] * 2
    assert cost.transitions == 6_000  # the second training counts from 0 again
    assert cost.seconds == pytest.approx(6.0)
    assert cost.clock == pytest.approx([1, 2, 3, 4, 5, 6])
    assert cost.speed == pytest.approx([1_000] * 6)


def test_before_the_first_update_nothing_was_spent(tmp_path: Path) -> None:
    assert cost_of(read_run(write_run(tmp_path / "run"))) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300), st.integers(1, 50))
def test_thinning_keeps_short_series_and_stays_within_bounds(
    values: list[float], most: int
) -> None:
    series = np.array(values)
    thin = thinned(series, most)
    assert len(thin) == min(len(series), most)
    assert thin.min() >= series.min() - 1e-9
    assert thin.max() <= series.max() + 1e-9
    if len(series) % most == 0:
        assert thin.mean() == pytest.approx(series.mean(), abs=1e-9)


def test_thinning_passes_over_what_is_not_known() -> None:
    thin = thinned(np.array([1.0, np.nan, 3.0, 5.0, np.nan, np.nan]), 3)
    assert thin[:2] == pytest.approx([1.0, 4.0])
    assert np.isnan(thin[2])
