from typing import Any

import numpy as np
import pytest

from workflow_rl.ppo.fused.layers import LINEAR, RELU, TANH, activate, deactivate

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
