from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workflow_rl.nets.distinct import DistinctRows, Lookup


def first_appearance(rows: Any) -> list[int]:
    """The number of each row by the definition."""
    numbers: dict[bytes, int] = {}
    return [numbers.setdefault(row.tobytes(), len(numbers)) for row in rows]


@settings(deadline=None)
@given(
    hnp.arrays(
        np.int8,
        st.tuples(st.integers(0, 60), st.integers(1, 6)),
        elements=st.sampled_from([-128, -1, 0, 1, 127]),
    ),
    st.integers(0, 60),
)
def test_rows_are_numbered_by_first_appearance_however_they_are_split(rows: Any, cut: int) -> None:
    distinct = DistinctRows(rows.shape[1], capacity=2)
    numbers = np.concatenate([distinct.number(rows[:cut]), distinct.number(rows[cut:])])
    assert numbers.tolist() == first_appearance(rows)
    assert len(distinct) == len(set(numbers.tolist()))
    np.testing.assert_array_equal(distinct.rows[numbers], rows)


@pytest.mark.parametrize("capacity", [1, 1024])
def test_a_function_is_asked_once_for_each_distinct_row(capacity: int) -> None:
    asked = []

    def function(rows: Any) -> Any:
        asked.append(len(rows))
        return rows.astype(np.float64) * 3, rows.sum(axis=1)

    table = Lookup(function, 52, capacity)
    many = np.random.default_rng(1).integers(0, 2, (3_000, 52)).astype(np.int8)
    for rows in (many[:20], many[:20], np.concatenate([many, many[::-1]])):
        ids = table.number(rows)
        tripled, sums = table.results
        np.testing.assert_array_equal(tripled[ids], rows * 3.0)
        np.testing.assert_array_equal(sums[ids], rows.sum(axis=1))
    assert asked == [20, 2_980]
    np.testing.assert_array_equal(table.distinct.rows, many)
