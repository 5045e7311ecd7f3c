"""Arrays from outside: what fits is taken over, everything else gets one sentence."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from tests.refused import refused
from workflow_rl.arrays import checked_array
from workflow_rl.errors import InvalidInputError

DTYPES = [np.bool_, np.int64, np.float32]


@pytest.mark.parametrize(
    ("value", "shape", "dtype", "within", "why"),
    [
        ([1, 2], (3,), np.int64, None, r"x must be whole numbers of shape \(3,\), not int64"),
        ([[1], [1, 2]], (2, 2), np.int64, None, "not list of another form"),
        ([1.0, 2.0], (2,), np.int64, None, "not float64 of shape"),
        ([1, 2], (2,), np.bool_, None, "truth values"),
        ([1.0, np.nan], (2,), np.float32, (0, 1), r"x must be numbers .* not nan at \(1\)"),
        ([0.5, np.inf], (2,), np.float64, (0, 1), r"not inf at \(1\)"),
        ([0.5, 1e300], (2,), np.float32, None, r"not 1e\+300 at \(1\)"),
        ([0.5, 1.5], (2,), np.float32, (0, 1), r"numbers from 0 to 1 .* not 1.5 at \(1\)"),
        ([1, 128], (2,), np.int8, None, r"not 128 at \(1\)"),
        ([2**64 - 1], (1,), np.int64, (-1, 5), "not 18446744073709551615 at"),
        (["a"], (1,), np.float32, None, "not <U1 of shape"),
        ([0, 145], (2,), np.int64, (0, 144), r"from 0 to 144 of shape \(2,\), not 145 at \(1\)"),
        ([10**12], (1,), np.int64, (0, 144), "not 1000000000000 at"),
        ([[0, -1]], (None, 2), np.int64, (0, 144), r"of shape \(any, 2\), not -1 at \(0, 1\)"),
        (None, (1,), np.int64, None, "not object of shape"),
    ],
)
def test_what_does_not_fit_is_refused(
    value: Any, shape: Any, dtype: Any, within: Any, why: str
) -> None:
    refused(why, checked_array, "x", value, shape, dtype, within)


@given(
    stn.arrays(
        st.sampled_from([np.bool_, np.int8, np.uint16, np.int64, np.float32, np.float64, np.str_]),
        stn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.tuples(st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, 2, 4])),
    st.sampled_from(DTYPES),
    st.sampled_from([None, (0, 5)]),
)
def test_whatever_is_taken_fits(value: Any, shape: Any, dtype: Any, within: Any) -> None:
    try:
        array = checked_array("x", value, shape, dtype, within)
    except InvalidInputError:
        return
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert all(size in (None, found) for size, found in zip(shape, array.shape, strict=True))
    assert within is None or ((array >= within[0]) & (array <= within[1])).all()
    np.testing.assert_array_equal(array, value.astype(dtype))


def test_an_array_that_fits_is_taken_itself_and_any_other_is_copied() -> None:
    array = np.arange(6).reshape(2, 3)
    assert checked_array("x", array, (2, 3), np.int64, (0, 5)) is array
    room = np.zeros(array.nbytes + 1, np.uint8)
    unaligned = room[1:].view(np.int64).reshape(2, 3)
    unaligned[:] = array
    for other in (unaligned, np.asfortranarray(array), array.astype(">i8"), array.view(np.matrix)):
        taken = checked_array("x", other, (2, 3), np.int64, (0, 5))
        assert type(taken) is np.ndarray
        assert taken.dtype == np.int64
        assert taken.flags.c_contiguous
        assert taken.flags.aligned
        np.testing.assert_array_equal(taken, array)
