from typing import Any

import numpy as np
import pytest
import torch

from workflow_rl.config import ActivationName
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.passes import CHUNK, Passes
from workflow_rl.ppo.sparse_rows import SparseRows, in_words

HIDDEN: Any = [(), (7,), (16, 12), (9, 20, 5)]


def new_network(hidden: tuple[int, ...], activation: ActivationName = "tanh") -> ActorCritic:
    torch.manual_seed(0)
    return ActorCritic(23, 11, hidden, activation=activation)


def inputs(n: int = 40) -> Any:
    return np.random.default_rng(0).integers(-1, 3, (n, 23)).astype(np.int8)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_forward_gives_the_networks_logits_and_values(
    hidden: tuple[int, ...], activation: ActivationName
) -> None:
    network, shown = new_network(hidden, activation), inputs()
    passes, words = Passes(network), in_words(shown)
    for chosen in (np.arange(40), np.array([5]), np.array([7, 0, 39])):
        logits, values = passes.forward(SparseRows(words, chosen))
        with torch.no_grad():
            expected = network(torch.from_numpy(shown[chosen]).float())
        np.testing.assert_allclose(logits, expected[0].numpy(), atol=5e-6)
        np.testing.assert_allclose(values, expected[1].numpy(), atol=5e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_backward_adds_autograds_gradient_of_every_parameter(
    hidden: tuple[int, ...], activation: ActivationName
) -> None:
    network, shown = new_network(hidden, activation), inputs()
    exact = new_network(hidden, activation).double()
    passes = Passes(network)
    passes.bind()
    rng = np.random.default_rng(1)
    for chosen in (np.arange(30), np.array([31, 3, 3])):  # what comes second is added
        pull = rng.normal(size=(len(chosen), 12)).astype(np.float32)
        some = SparseRows(in_words(shown), chosen)
        passes.forward(some)
        of_logits, of_values = passes.output_gradients(len(chosen))
        of_logits[:], of_values[:] = pull[:, :-1], pull[:, -1]
        passes.backward(some)
        logits, values = exact(torch.from_numpy(shown[chosen]).double())
        both = torch.cat([logits, values[:, None]], dim=1)
        torch.autograd.backward(both, torch.from_numpy(pull).double())
    for ours, theirs in zip(network.parameters(), exact.parameters(), strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=1e-4, rtol=1e-4)


def test_the_parameters_are_a_copy_until_they_are_bound() -> None:
    network, shown = new_network((16, 12)), inputs(3)
    before = {name: t.clone() for name, t in network.state_dict().items()}
    passes, some = Passes(network), SparseRows(in_words(shown), np.arange(3))
    first = passes.forward(some)[0].copy()
    passes.parameters.mul_(0.5)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])
    passes.bind()
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name] / 2)
    network.load_state_dict(before)  # and the other way round
    np.testing.assert_array_equal(passes.forward(some)[0], first)


def test_a_whole_chunk_goes_through() -> None:
    network, shown = new_network((7,)), inputs(CHUNK)
    backwards = SparseRows(in_words(shown), np.arange(CHUNK)[::-1].copy())
    logits, _ = Passes(network).forward(backwards)
    with torch.no_grad():
        expected, _ = network(torch.from_numpy(shown[::-1].copy()).float())
    np.testing.assert_allclose(logits, expected.numpy(), atol=5e-6)
