from typing import Any

import numpy as np
import pytest

from workflow_rl.ppo.elementary import LINEAR, TANH
from workflow_rl.ppo.nonzeros import NonZeros


def rows(n: int, width: int, share: float = 0.3, seed: int = 0) -> Any:
    """Small integers, most of them 0; the first row has nothing, the second everything."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-128, 128, (n, width)) * (rng.random((n, width)) < share)
    found[:1], found[1:2] = 0, 1
    return found.astype(np.int8)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("width", [1, 3, 4, 5, 40, 300])
@pytest.mark.parametrize("kind", [LINEAR, TANH])
def test_a_layer_is_the_dense_one(width: int, kind: int) -> None:
    inputs = rows(12, width)
    chosen = np.array([3, 0, 1, 11, 3])
    weight, bias = numbers(width, 9) / 100, numbers(9)
    out = np.full((5, 9), np.nan, np.float32)
    NonZeros.of(inputs).layer(chosen, weight, bias, kind, out)
    sums = inputs[chosen].astype("f8") @ weight + bias
    np.testing.assert_allclose(out, np.tanh(sums) if kind == TANH else sums, atol=2e-5)


@pytest.mark.parametrize("width", [1, 4, 5, 40])
@pytest.mark.parametrize("number", [1, 4, 6, 30])
def test_the_product_with_chosen_rows_turned_is_added(width: int, number: int) -> None:
    inputs = rows(30, width)
    chosen = np.random.default_rng(2).permutation(30)[:number]
    matrix, out = numbers(number, 7), numbers(width, 7)
    expected = out + inputs[chosen].T.astype("f8") @ matrix
    transposed = NonZeros.of(inputs).transposed(chosen)
    assert transposed.width == number
    transposed.add_product(matrix, out)
    np.testing.assert_allclose(out, expected, atol=1e-3, rtol=1e-5)


def test_turned_twice_the_rows_are_the_chosen_ones() -> None:
    inputs = rows(30, 13)
    chosen = np.array([29, 1, 0, 7, 8, 8])
    again = NonZeros.of(inputs).transposed(chosen).transposed(np.arange(13))
    found = np.zeros((6, 13), np.float32)
    again.add_product(np.eye(13, dtype=np.float32), found)
    np.testing.assert_array_equal(found, inputs[chosen])


def test_no_rows_at_all() -> None:
    out = np.empty((0, 4), np.float32)
    NonZeros.of(rows(0, 6)).layer(np.arange(0), numbers(6, 4), numbers(4), TANH, out)
