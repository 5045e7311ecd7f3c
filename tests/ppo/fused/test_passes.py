from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.rollouts import new_network
from workflow_rl.agents.distinct import in_words
from workflow_rl.agents.mlp import RELU, TANH
from workflow_rl.config import ActivationName
from workflow_rl.ppo.fused.passes import CHUNK, LINEAR, Passes, activate, deactivate
from workflow_rl.ppo.fused.sparse_rows import SparseRows

FUNCTIONS: Any = {
    LINEAR: (lambda x: x, np.ones_like),
    RELU: (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype("f8")),
    TANH: (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
}


def inputs(n: int) -> Any:
    return np.random.default_rng(0).integers(-1, 3, (n, 23)).astype(np.int8)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (7,), (16, 12), (9, 20, 5)], ids=str)
def test_outputs_and_gradients_are_autograds(
    hidden: tuple[int, ...], activation: ActivationName
) -> None:
    network, shown = new_network(23, 11, hidden, activation=activation), inputs(CHUNK)
    exact = new_network(23, 11, hidden, activation=activation).double()
    passes = Passes(network)
    rng = np.random.default_rng(1)
    # What comes second is added; a whole chunk is the most that goes through at once.
    for chosen in (np.arange(30), np.array([31, 3, 3]), np.arange(CHUNK)[::-1].copy()):
        some = SparseRows(in_words(shown), chosen)
        found = passes.forward(some)
        expected = exact(torch.from_numpy(shown[chosen]).double())
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=5e-6)
        pull = rng.normal(size=(len(chosen), 12)).astype(np.float32)
        of_logits, of_values = passes.output_gradients(len(chosen))
        of_logits[:], of_values[:] = pull[:, :-1], pull[:, -1]
        passes.backward(some)
        both = torch.cat([expected[0], expected[1][:, None]], dim=1)
        torch.autograd.backward(both, torch.from_numpy(pull).double())
    for parameter, same in zip(network.parameters(), exact.parameters(), strict=True):
        assert parameter.grad is not None
        assert same.grad is not None
        torch.testing.assert_close(parameter.grad.double(), same.grad, atol=2e-4, rtol=1e-4)


def test_the_network_shares_its_parameters() -> None:
    network = new_network(23, 11, (16, 12))
    before = {name: t.clone() for name, t in network.state_dict().items()}
    passes, some = Passes(network), SparseRows(in_words(inputs(3)), np.arange(3))
    first = passes.forward(some)[0].copy()
    passes.parameters.mul_(0.5)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name] / 2)
    network.load_state_dict(before)  # and the other way round
    np.testing.assert_array_equal(passes.forward(some)[0], first)


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
