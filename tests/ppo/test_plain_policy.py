from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.test_policy_table import (
    ACTIONS,
    WIDTH,
    bits,
    chi_square_is_plausible,
    last_layer,
    softmax_of,
    uneven_network,
)
from workflow_rl.ppo.passes import CHUNK
from workflow_rl.ppo.plain_policy import PlainPolicy
from workflow_rl.ppo.policy_table import PolicyTable

LARGEST = np.nextafter(np.float32(1), np.float32(0))


def uniforms(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(n, np.float32)


def some_masks(n: int, share: float = 0.4) -> Any:
    masks = np.random.default_rng(5).random((n, ACTIONS)) < share
    masks[:, 5] = True
    return masks


@pytest.mark.parametrize("masked", [False, True])
def test_it_chooses_as_the_table_does_up_to_rounding(masked: bool) -> None:
    network, n = uneven_network(), CHUNK + 300  # more than go through at once
    inputs = bits(n)
    masks = some_masks(n) if masked else None
    plain = PlainPolicy(network, WIDTH, n, 1).choose(inputs, masks, uniforms(n))
    table = PolicyTable(network, WIDTH).choose(inputs, masks, uniforms(n))
    same = plain.actions == table.actions
    assert same.mean() > 0.995
    np.testing.assert_allclose(plain.probability[same], table.probability[same], rtol=1e-4)
    np.testing.assert_allclose(plain.values, table.values, atol=1e-5)


def test_actions_come_as_often_as_the_networks_softmax_says() -> None:
    network, inputs, n = uneven_network(), bits(3), 3_000
    masks = some_masks(1)[0]
    for row, probabilities in zip(inputs, softmax_of(network, inputs), strict=True):
        policy = PlainPolicy(network, WIDTH, n, 1)
        choice = policy.choose(np.tile(row, (n, 1)), np.tile(masks, (n, 1)), uniforms(n))
        expected = np.where(masks, probabilities, 0)
        expected /= expected.sum()
        counts = np.bincount(choice.actions, minlength=ACTIONS)
        assert not counts[~masks].any()
        assert chi_square_is_plausible(counts[masks], expected[masks])
        np.testing.assert_allclose(choice.probability, expected[choice.actions], rtol=1e-4)


@pytest.mark.parametrize("uniform", [np.float32(0), LARGEST])
@pytest.mark.parametrize("masked", [False, True])
def test_the_extreme_uniforms_give_actions_that_can_happen(uniform: Any, masked: bool) -> None:
    network = uneven_network()
    with torch.no_grad():
        last_layer(network).bias[[0, -1]] = -80  # first and last hardly ever happen
    masks = some_masks(100) if masked else None
    drawn = np.full(100, uniform, np.float32)
    choice = PlainPolicy(network, WIDTH, 100, 1).choose(bits(100), masks, drawn)
    assert (choice.probability > 0).all()
    if masks is not None:
        assert masks[np.arange(100), choice.actions].all()


def test_inputs_are_kept_as_they_came_an_environments_one_after_the_other() -> None:
    policy = PlainPolicy(uneven_network(), WIDTH, envs=10, steps=3)
    inputs = bits(30).reshape(3, 10, WIDTH)
    inputs[1] = inputs[0]
    rows = np.array([policy.choose(step, None, uniforms(10)).rows for step in inputs])
    assert rows.tolist() == np.arange(30).reshape(10, 3).T.tolist()
    policy.values_of(inputs[2])
    np.testing.assert_array_equal(policy.rows[rows], inputs)


def test_the_weights_are_those_at_its_creation() -> None:
    network, inputs = uneven_network(), bits(20)
    policy = PlainPolicy(network, WIDTH, 20, 1)
    with torch.no_grad():
        expected = network(torch.from_numpy(inputs).float())[1].numpy()
        for parameter in network.parameters():
            parameter.mul_(-0.5)
    np.testing.assert_allclose(policy.values_of(inputs), expected, atol=1e-5)
