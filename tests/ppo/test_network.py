import math

import numpy as np
import torch

from tests.refused import refusal
from workflow_rl.ppo.network import ActorCritic, linear_layers


def test_weights_are_a_copy_by_name_and_can_be_taken_over_where_they_fit() -> None:
    network, other = ActorCritic(77, 145), ActorCritic(77, 145)
    kept = network.weights()
    assert {name: array.shape for name, array in kept.items() if "actor" in name} == {
        **{"actor.0.weight": (64, 77), "actor.0.bias": (64,)},
        **{"actor.2.weight": (64, 64), "actor.2.bias": (64,)},
        **{"actor.4.weight": (145, 64), "actor.4.bias": (145,)},
    }
    other.load_weights(kept)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1)
    for name, array in other.weights().items():
        np.testing.assert_array_equal(array, kept[name])
    for wrong in (ActorCritic(77, 145, (64,)), ActorCritic(76, 145), ActorCritic(77, 144)):
        assert refusal(wrong.load_weights, kept).endswith("belong to a network of another shape")


def test_orthogonal_weights_keep_lengths_up_to_their_gain_and_start_close_to_uniform() -> None:
    torch.manual_seed(0)
    network = ActorCritic(77, 145, orthogonal=True)
    for stack, last_gain in ((network.actor, 0.01), (network.critic, 1.0)):
        layers = linear_layers(stack)
        for layer in layers:
            gain = last_gain if layer is layers[-1] else math.sqrt(2)
            weight = layer.weight.detach().double()
            small = weight if weight.shape[0] <= weight.shape[1] else weight.T
            expected = gain**2 * torch.eye(len(small), dtype=torch.float64)
            torch.testing.assert_close(small @ small.T, expected, atol=1e-5, rtol=1e-4)
            assert not layer.bias.any()
    logits, _ = network(torch.randint(0, 2, (100, 77)).float())
    assert (torch.softmax(logits, -1) * 145 - 1).abs().max() < 0.3
