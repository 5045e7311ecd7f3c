from typing import Any

import numpy as np
import pytest

from workflow_rl.nets.distinct import in_words
from workflow_rl.ppo.fused.sparse_rows import SparseRows


def unrelated(n: int, width: int) -> Any:
    """Small integers, most of them 0; the first row has nothing, the second everything."""
    rng = np.random.default_rng(0)
    found = rng.integers(-128, 128, (n, width)) * (rng.random((n, width)) < 0.3)
    found[:1], found[1:2] = 0, 1
    return found.astype(np.int8)


def drifting(n: int, width: int) -> Any:
    """Rows that hardly change from one to the next, the extremes of a byte among them."""
    rng = np.random.default_rng(0)
    found = np.tile(rng.integers(-128, 128, width), (n, 1))
    for k in range(1, n):
        found[k] = found[k - 1]
        found[k, rng.integers(0, width, 2)] = rng.choice([-128, 0, 127])
    found[n // 2] = found[n // 2 - 1]  # nothing changes
    return found.astype(np.int8)


ROWS: Any = [unrelated, drifting]


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32) / 100


@pytest.mark.parametrize("width", [1, 7, 8, 9, 40, 5_000])
@pytest.mark.parametrize("rows", ROWS)
def test_a_product_is_the_dense_one(rows: Any, width: int) -> None:
    inputs, matrix = rows(30, width), numbers(width, 9)
    for chosen in (np.arange(30), np.array([3, 0, 1, 29, 29, 3]), np.arange(0)):
        out = np.full((len(chosen), 9), np.nan, np.float32)
        some = SparseRows(in_words(inputs), chosen)
        assert len(some) == len(chosen)
        some.product(matrix, out)
        np.testing.assert_allclose(
            out, inputs[chosen].astype("f8") @ matrix, atol=1e-4 + width / 1e6
        )


@pytest.mark.parametrize("width", [1, 8, 9, 40])
@pytest.mark.parametrize("number", [0, 1, 4, 6, 30])
@pytest.mark.parametrize("rows", ROWS)
def test_a_transposed_product_is_added(rows: Any, width: int, number: int) -> None:
    inputs = rows(30, width)
    chosen = np.sort(np.random.default_rng(2).permutation(30)[:number])
    matrix, out = numbers(number, 7), numbers(width, 7)
    expected = out + inputs[chosen].T.astype("f8") @ matrix
    SparseRows(in_words(inputs), chosen).add_transposed_product(matrix, out)
    np.testing.assert_allclose(out, expected, atol=1e-4)
