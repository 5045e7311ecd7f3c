from typing import Any

import numpy as np
import pytest

from workflow_rl.ppo.elementary import LINEAR, RELU, TANH, activate, deactivate, exp32, tanh32


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


FUNCTIONS: Any = {
    LINEAR: (lambda x: x, np.ones_like),
    RELU: (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype("f8")),
    TANH: (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_layers_sums_become_outputs_and_gradients_go_the_other_way(kind: int) -> None:
    function, slope = FUNCTIONS[kind]
    rng = np.random.default_rng(0)
    sums, gradient = rng.normal(size=(2, 7, 19)).astype("f4")
    bias, bias_gradient = rng.normal(size=(2, 19)).astype("f4")
    x = sums.astype("f8") + bias
    expected = gradient * slope(x)
    expected_bias = bias_gradient + expected.sum(axis=0)
    activate(sums, bias, kind)
    np.testing.assert_allclose(sums, function(x), atol=1e-6)
    deactivate(gradient, sums, kind, bias_gradient)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)
    np.testing.assert_allclose(bias_gradient, expected_bias, atol=1e-5)
