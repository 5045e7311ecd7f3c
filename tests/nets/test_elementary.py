from typing import Any

import numpy as np
import pytest

from workflow_rl.nets.elementary import exp32, tanh32


def spread(low: float, high: float, number: int = 400) -> Any:
    rng = np.random.default_rng(0)
    return np.concatenate([np.linspace(low, high, number), rng.normal(size=number)]).astype("f4")


def test_tanh_is_right_to_a_few_of_the_last_bits_and_ends_at_1() -> None:
    xs = spread(-12, 12)
    found = np.array([tanh32(x) for x in xs])
    np.testing.assert_allclose(found, np.tanh(xs.astype("f8")), atol=3e-7)
    assert (np.abs(found) <= 1).all()
    assert tanh32(np.float32(0)) == 0
    assert [tanh32(np.float32(x)) for x in (-1e30, 1e30)] == pytest.approx([-1, 1], abs=3e-7)


def test_exp_is_right_to_a_few_of_the_last_bits_and_never_below_the_normal_numbers() -> None:
    xs = spread(-86.9, 20)
    found = np.array([exp32(x) for x in xs], np.float32)
    np.testing.assert_allclose(found, np.exp(xs.astype("f8")), rtol=3e-7)
    assert exp32(np.float32(0)) == 1
    for x in (-88.0, -1e4, -1e30):
        assert exp32(np.float32(x)) == pytest.approx(np.exp(-87.0), rel=1e-6)
