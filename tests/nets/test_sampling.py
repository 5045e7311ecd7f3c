from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.nets.sampling import accumulated, pick, sample, sample_masked

N = st.sampled_from([0, 40])


def by_definition(row: Any, uniform: float, allowed: Any) -> int:
    """The first output at which the running sum exceeds the uniform's share of the whole."""
    running = np.cumsum(np.where(allowed, row, 0))
    return int(np.flatnonzero(running > uniform * running[-1])[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("masked", [False, True])
@given(data=st.data())
def test_an_output_is_drawn_as_by_definition(masked: bool, dtype: Any, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    size, rows, n = (data.draw(numbers) for numbers in (st.integers(1, 9), st.integers(1, 4), N))
    weights = rng.integers(0, 4, (rows, size))  # whole numbers: every sum is exact
    weights[:, rng.integers(size)] += 1
    ids, uniforms = rng.integers(0, rows, n), rng.integers(0, 64, n) / 64
    masks = rng.random((n, size)) < 0.5
    masks[np.arange(n), weights[ids].argmax(axis=1)] = True
    allowed = masks if masked else np.ones_like(masks)
    numbers, shares = weights.astype(dtype), uniforms.astype(dtype)
    if masked:
        drawn, mass = sample_masked(ids, numbers, shares, masks)
        assert mass.tolist() == (weights[ids] * masks).sum(axis=1).tolist()
    else:
        drawn = sample(ids, accumulated(numbers), shares)
    expected = [
        by_definition(weights[i], u, a) for i, u, a in zip(ids, uniforms, allowed, strict=True)
    ]
    assert drawn.tolist() == expected


def test_where_all_that_is_allowed_weighs_nothing_the_first_of_it_is_taken() -> None:
    weights = np.array([[1.0, 0, 0, 0]])
    masks = np.array([[False, False, True, True]])
    drawn, mass = sample_masked(np.zeros(1, np.int64), weights, np.array([0.5]), masks)
    assert drawn.tolist() == [2]
    assert 0 < mass[0] < 1e-20


def test_a_threshold_that_rounding_puts_at_the_sum_takes_the_last_that_can_happen() -> None:
    for threshold in (2.9, 3.0, 3.1):
        assert pick(np.array([0.0, 1.0, 2.0, 0.0]), threshold) == 2
    assert pick(np.array([0.0, 1.0, 2.0, 0.0]), 0.0) == 1
