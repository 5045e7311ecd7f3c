import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.pages.history import thinned


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300), st.integers(1, 50))
def test_thinning_keeps_short_series_and_bounds(values: list[float], most: int) -> None:
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
