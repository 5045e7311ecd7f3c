"""A policy while it plays a rollout: inputs looked up, or run as they come."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.ppo.rollouts import new_network, outputs_of
from workflow_rl.ppo.acting import Networks, PlainPolicy, PolicyTable
from workflow_rl.ppo.fused.engine import FusedEngine
from workflow_rl.ppo.fused.passes import CHUNK
from workflow_rl.ppo.network import ActorCritic

WIDTH, ACTIONS = 12, 20
LARGEST = np.nextafter(np.float32(1), np.float32(0))
WAYS: Any = {
    "table": lambda network, n: PolicyTable(network, WIDTH),
    "plain": lambda network, n: PlainPolicy(Networks(network), WIDTH, n, 1),
    "plain, fused": lambda network, n: PlainPolicy(FusedEngine(network), WIDTH, n, 1),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)
MASKS = pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])


def bits(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (n, WIDTH)).astype(np.int8)


def uniforms(n: int) -> Any:
    return np.random.default_rng(0).random(n, np.float32)


def some_masks(n: int) -> Any:
    masks = np.random.default_rng(5).random((n, ACTIONS)) < 0.4
    masks[:, 5] = True
    return masks


def uneven_network() -> ActorCritic:
    """A network with clear preferences."""
    return new_network(WIDTH, ACTIONS, (16,), scale=3)


def with_bias(change: dict[int, float]) -> ActorCritic:
    network = uneven_network()
    last = network.actor[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        for action, bias in change.items():
            last.bias[action] = bias
    return network


@EVERY_WAY
@MASKS
def test_actions_are_drawn_by_the_networks_softmax_up_to_rounding(way: str, masked: bool) -> None:
    n = CHUNK + 300  # more than go through the fused engine at once
    network, inputs, drawn = uneven_network(), bits(n), uniforms(n)
    masks = some_masks(n) if masked else None
    probabilities, values = outputs_of(network, inputs)
    share = probabilities if masks is None else probabilities * masks
    share /= share.sum(axis=1, keepdims=True)
    choice = WAYS[way](network, n).choose(inputs, masks, drawn)
    expected = (share.cumsum(axis=1) > drawn[:, None]).argmax(axis=1)
    assert (choice.actions == expected).mean() > 0.995
    assert len(np.unique(expected)) > ACTIONS / 2
    np.testing.assert_allclose(choice.probability, share[np.arange(n), choice.actions], rtol=1e-4)
    np.testing.assert_allclose(choice.values, values, atol=1e-5)


@EVERY_WAY
@MASKS
@pytest.mark.parametrize("uniform", [np.float32(0), LARGEST])
def test_the_extreme_uniforms_give_actions_that_can_happen(
    way: str, uniform: Any, masked: bool
) -> None:
    network = with_bias({0: -80, ACTIONS - 1: -80})  # the first and the last hardly ever happen
    masks, drawn = some_masks(100) if masked else None, np.full(100, uniform, np.float32)
    choice = WAYS[way](network, 100).choose(bits(100), masks, drawn)
    assert (choice.probability > 0).all()
    assert masks is None or masks[np.arange(100), choice.actions].all()
    certain = with_bias({7: 1_000})
    assert (WAYS[way](certain, 100).choose(bits(100), None, uniforms(100)).actions == 7).all()


@pytest.mark.parametrize("way", ["plain", "plain, fused"])
def test_what_is_certain_but_not_allowed_does_not_blur_the_rest(way: str) -> None:
    inputs, masks = bits(100), some_masks(100)
    masks[:, 7] = False
    choices = [
        WAYS[way](with_bias({7: bias}), 100).choose(inputs, masks, uniforms(100))
        for bias in (0, 1_000)
    ]
    assert choices[0].actions.tolist() == choices[1].actions.tolist()
    np.testing.assert_allclose(choices[0].probability, choices[1].probability, rtol=1e-5)


@pytest.mark.parametrize("way", ["table", "plain"])
def test_the_weights_are_those_at_its_creation(way: str) -> None:
    network, inputs = uneven_network(), bits(50)
    probabilities, values = outputs_of(network, inputs)
    policy = WAYS[way](network, 50)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(-0.5)
    choice = policy.choose(inputs, None, uniforms(50))
    expected = probabilities[np.arange(50), choice.actions]
    np.testing.assert_allclose(choice.probability, expected, rtol=1e-4)
    np.testing.assert_allclose(policy.values_of(inputs), values, atol=1e-5)
