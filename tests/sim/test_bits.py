"""How a word of bits becomes a row of bytes: what is compiled against the loop that says it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from workflow_rl.jit import rule
from workflow_rl.sim.bits import packed_rows, write_bits

WIDTHS = (1, 7, 8, 30, 48, 52, 63, 64)
WORDS = st.integers(-(2**63), 2**63 - 1)


def writer(number: int) -> Callable[..., None]:
    @rule
    def write(rows: Any, k: int, at: int, bits: int) -> None:
        write_bits(rows, k, at, bits, number)

    return write


COMPILED = {number: writer(number) for number in WIDTHS}


@given(number=st.sampled_from(WIDTHS), at=st.integers(0, 9), bits=WORDS)
def test_the_lowest_bits_are_written_and_nothing_else(number: int, at: int, bits: int) -> None:
    rows, looped = (np.full((3, 80), 7, np.int8) for _ in range(2))
    COMPILED[number](rows, 1, at, bits)
    write_bits(looped, 1, at, bits, number)
    assert rows.tobytes() == looped.tobytes()
    assert rows[1, at : at + number].tolist() == [bits >> i & 1 for i in range(number)]
    rows[1, at : at + number] = 7
    assert (rows == 7).all()


@given(words=st.lists(st.integers(0, 2**52 - 1), min_size=1, max_size=5))
def test_what_was_written_is_packed_again(words: list[int]) -> None:
    rows = np.zeros((len(words), 52), np.int8)
    for k, bits in enumerate(words):
        COMPILED[52](rows, k, 0, bits)
    for kind in (np.int8, np.float32):
        assert packed_rows(rows.astype(kind), 2).tolist() == [[bits, 0] for bits in words]


@pytest.mark.compiled
@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, 128), np.int8)[:, ::2], np.zeros((2, 64), np.int16)],
    ids=["apart", "two bytes"],
)
def test_rows_that_are_no_bytes_side_by_side_are_not_compiled_for(rows: Any) -> None:
    with pytest.raises(TypingError, match="No implementation of function"):
        COMPILED[64](rows, 1, 0, 5)
