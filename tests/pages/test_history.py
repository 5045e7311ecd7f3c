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
    with_gap = thinned(
        np.append(series, [np.nan] * len(series)), 2
    )  # what is not known: passed over
    assert with_gap[0] == pytest.approx(series.mean(), abs=1e-9)
    assert np.isnan(with_gap[1])
    if len(series) % most == 0:
        assert thin.mean() == pytest.approx(series.mean(), abs=1e-9)
