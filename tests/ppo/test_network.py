import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from workflow_rl.config import ActivationName
from workflow_rl.ppo.network import ActorCritic, apply_layers, layers_of


def linear_layers(stack: nn.Sequential) -> list[nn.Linear]:
    return [layer for layer in stack if isinstance(layer, nn.Linear)]


def test_the_default_policy_is_77_64_64_145_and_its_critic_ends_in_1() -> None:
    network = ActorCritic(77, 145)
    shapes = {name: tuple(t.shape) for name, t in network.state_dict().items()}
    assert shapes == {
        **{"actor.0.weight": (64, 77), "actor.0.bias": (64,)},
        **{"actor.2.weight": (64, 64), "actor.2.bias": (64,)},
        **{"actor.4.weight": (145, 64), "actor.4.bias": (145,)},
        **{"critic.0.weight": (64, 77), "critic.0.bias": (64,)},
        **{"critic.2.weight": (64, 64), "critic.2.bias": (64,)},
        **{"critic.4.weight": (1, 64), "critic.4.bias": (1,)},
    }


@pytest.mark.parametrize("hidden", [(), (8,), (64, 64), (16, 12, 9)])
def test_sizes_are_settable_and_shapes_come_out(hidden: tuple[int, ...]) -> None:
    network = ActorCritic(11, 7, hidden)
    sizes = [11, *hidden]
    for stack, outputs in ((network.actor, 7), (network.critic, 1)):
        got = [(layer.in_features, layer.out_features) for layer in linear_layers(stack)]
        assert got == list(pairwise([*sizes, outputs]))
    logits, values = network(torch.zeros(5, 11))
    assert (logits.shape, values.shape) == ((5, 7), (5,))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("hidden", [(), (8,), (64, 64), (16, 12, 9)])
def test_applying_the_layers_equals_torchs_forward(
    hidden: tuple[int, ...], activation: ActivationName
) -> None:
    torch.manual_seed(0)
    network = ActorCritic(23, 31, hidden, activation=activation)
    inputs = np.random.default_rng(0).integers(-1, 3, (50, 23)).astype(np.int8)
    inputs[0] = 0
    with torch.no_grad():
        logits, values = network(torch.from_numpy(inputs).float())
    got_logits = apply_layers(layers_of(network.actor, activation), inputs)
    got_values = apply_layers(layers_of(network.critic, activation), inputs)
    assert got_logits.dtype == np.float32
    np.testing.assert_allclose(got_logits, logits.numpy(), atol=2e-6, rtol=1e-5)
    np.testing.assert_allclose(got_values[:, 0], values.numpy(), atol=2e-6, rtol=1e-5)


def test_applying_the_layers_to_nothing_gives_nothing() -> None:
    network = ActorCritic(23, 31)
    assert apply_layers(layers_of(network.actor), np.empty((0, 23), np.int8)).shape == (0, 31)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_an_input_is_computed_alike_alone_and_among_others(activation: ActivationName) -> None:
    torch.manual_seed(0)
    layers = layers_of(ActorCritic(23, 31).actor, activation)
    inputs = np.random.default_rng(0).integers(0, 2, (20, 23)).astype(np.int8)
    together = apply_layers(layers, inputs)
    for k in range(20):
        np.testing.assert_array_equal(apply_layers(layers, inputs[k : k + 1])[0], together[k])


@pytest.mark.parametrize(
    "stack",
    [
        "actor",
        "critic",
    ],
)
def test_the_layers_are_a_copy_that_later_learning_does_not_reach(stack: str) -> None:
    network = ActorCritic(9, 5)
    weights, biases, _ = layers_of(getattr(network, stack))
    before = [array.copy() for array in (*weights, *biases)]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    for was, array in zip(before, (*weights, *biases), strict=True):
        np.testing.assert_array_equal(array, was)


def test_orthogonal_weights_keep_lengths_up_to_their_gain_and_biases_are_zero() -> None:
    torch.manual_seed(0)
    network = ActorCritic(77, 145, orthogonal=True)
    for stack, last_gain in ((network.actor, 0.01), (network.critic, 1.0)):
        layers = linear_layers(stack)
        for layer in layers:
            gain = last_gain if layer is layers[-1] else math.sqrt(2)
            weight = layer.weight.detach().double()
            small = weight if weight.shape[0] <= weight.shape[1] else weight.T
            gram = small @ small.T
            torch.testing.assert_close(
                gram, gain**2 * torch.eye(len(small), dtype=torch.float64), atol=1e-5, rtol=1e-4
            )
            assert not layer.bias.any()


def test_an_orthogonal_policy_starts_close_to_uniform() -> None:
    torch.manual_seed(0)
    network = ActorCritic(77, 145, orthogonal=True)
    logits, _ = network(torch.randint(0, 2, (100, 77)).float())
    assert (torch.softmax(logits, -1) * 145 - 1).abs().max() < 0.3
