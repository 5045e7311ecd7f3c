from typing import Any

import numpy as np
import pytest

from workflow_rl.ppo.fused.layers import LINEAR, TANH
from workflow_rl.ppo.fused.sparse_rows import SparseRows, in_words


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


@pytest.mark.parametrize("width", [1, 7, 8, 9, 40, 300])
@pytest.mark.parametrize("kind", [LINEAR, TANH])
@pytest.mark.parametrize("rows", ROWS)
def test_a_layer_is_the_dense_one(rows: Any, width: int, kind: int) -> None:
    inputs = rows(30, width)
    weight, bias = numbers(width, 9), numbers(9)
    for chosen in (np.arange(30), np.array([3, 0, 1, 29, 29, 3])):
        out = np.full((len(chosen), 9), np.nan, np.float32)
        some = SparseRows(in_words(inputs), chosen)
        assert len(some) == len(chosen)
        some.layer(weight, bias, kind, out)
        sums = inputs[chosen].astype("f8") @ weight + bias
        np.testing.assert_allclose(out, np.tanh(sums) if kind == TANH else sums, atol=1e-4)


@pytest.mark.parametrize("width", [1, 8, 9, 40])
@pytest.mark.parametrize("number", [1, 4, 6, 30])
@pytest.mark.parametrize("rows", ROWS)
def test_the_gradient_of_the_weights_is_added(rows: Any, width: int, number: int) -> None:
    inputs = rows(30, width)
    chosen = np.sort(np.random.default_rng(2).permutation(30)[:number])
    gradient, out = numbers(number, 7), numbers(width, 7)
    expected = out + inputs[chosen].T.astype("f8") @ gradient
    SparseRows(in_words(inputs), chosen).add_weight_gradient(gradient, out)
    np.testing.assert_allclose(out, expected, atol=1e-4)


def test_rows_of_thousands_of_numbers() -> None:
    inputs = np.ones((3, 5_000), np.int8)  # more than a byte can count
    inputs[2, ::3] = 0
    weight, out = numbers(5_000, 2), np.empty((3, 2), np.float32)
    SparseRows(in_words(inputs), np.arange(3)).layer(weight, np.zeros(2, "f4"), LINEAR, out)
    np.testing.assert_allclose(out, inputs @ weight.astype("f8"), atol=1e-4)


def test_no_rows_at_all() -> None:
    out, gradient = np.empty((0, 4), np.float32), numbers(6, 4)
    nobody = SparseRows(in_words(unrelated(3, 6)), np.arange(0))
    nobody.layer(numbers(6, 4), numbers(4), TANH, out)
    nobody.add_weight_gradient(out, gradient)
    np.testing.assert_array_equal(gradient, numbers(6, 4))
