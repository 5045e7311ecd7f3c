from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.policy_table import PolicyTable

WIDTH, ACTIONS = 12, 20


def bits(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (n, WIDTH)).astype(np.int8)


def last_layer(network: ActorCritic) -> nn.Linear:
    layer = network.actor[-1]
    assert isinstance(layer, nn.Linear)
    return layer


def uneven_network(seed: int = 0) -> ActorCritic:
    """A network with clear preferences."""
    torch.manual_seed(seed)
    network = ActorCritic(WIDTH, ACTIONS, (16,))
    with torch.no_grad():
        last_layer(network).weight.mul_(8)
    return network


def softmax_of(network: ActorCritic, inputs: Any) -> Any:
    with torch.no_grad():
        logits, _ = network(torch.from_numpy(inputs).float())
    return torch.softmax(logits.double(), -1).numpy()


def chi_square_is_plausible(counts: Any, probabilities: Any) -> bool:
    """Whether counts fit: below the mean by five deviations of the statistic."""
    expected = counts.sum() * probabilities
    kept = expected > 5
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    freedom = kept.sum() - 1
    return bool(statistic < freedom + 5 * np.sqrt(2 * freedom))


def test_the_table_holds_the_networks_distribution_and_value_of_each_input() -> None:
    network, inputs = uneven_network(), bits(300)
    table = PolicyTable(network, WIDTH)
    ids = table.number(inputs)
    with torch.no_grad():
        _, values = network(torch.from_numpy(inputs).float())
    np.testing.assert_allclose(table.probabilities[ids], softmax_of(network, inputs), atol=1e-6)
    np.testing.assert_allclose(table.values[ids], values.numpy(), atol=1e-5)
    np.testing.assert_array_equal(table.inputs.rows[ids], inputs)


def test_a_table_grows_past_its_first_size() -> None:
    network = uneven_network()
    table = PolicyTable(network, WIDTH)
    codes = np.arange(3_000)
    inputs = (codes[:, None] >> np.arange(WIDTH) & 1).astype(np.int8)
    parts = [table.number(part) for part in np.array_split(inputs, 7)]
    assert np.concatenate(parts).tolist() == codes.tolist()
    assert len(table.probabilities) >= len(table.inputs) == 3_000
    np.testing.assert_allclose(table.probabilities[:3_000], softmax_of(network, inputs), atol=1e-6)
    actions = table.sample(parts[-1], np.full(len(parts[-1]), 0.5, np.float32))
    assert ((actions >= 0) & (actions < ACTIONS)).all()


def test_only_new_inputs_are_evaluated() -> None:
    table = PolicyTable(uneven_network(), WIDTH)
    inputs = bits(5)
    table.number(inputs[:3])
    table.probabilities[:3] = -1  # would be overwritten by another evaluation
    table.values[:3] = -1
    assert table.number(inputs).tolist() == [0, 1, 2, 3, 4]
    assert (table.probabilities[:3] == -1).all()
    assert (table.values[:3] == -1).all()
    np.testing.assert_allclose(table.probabilities[3:5].sum(axis=1), 1, atol=1e-5)


def test_the_table_is_of_the_weights_at_its_creation() -> None:
    network, inputs = uneven_network(), bits(50)
    with torch.no_grad():
        logits, values = network(torch.from_numpy(inputs).float())
        table = PolicyTable(network, WIDTH)
        for parameter in network.parameters():
            parameter.mul_(-0.5)
    ids = table.number(inputs)
    expected = torch.softmax(logits, -1).numpy()
    np.testing.assert_allclose(table.probabilities[ids], expected, atol=1e-6)
    np.testing.assert_allclose(table.values[ids], values.numpy(), atol=1e-5)


# --- sampling


def test_actions_are_drawn_as_often_as_the_networks_softmax_says() -> None:
    network, inputs = uneven_network(), bits(4)
    table = PolicyTable(network, WIDTH)
    ids = table.number(inputs)
    rng = np.random.default_rng(0)
    for row, probabilities in zip(ids, softmax_of(network, inputs), strict=True):
        draws = table.sample(np.full(100_000, row, np.int32), rng.random(100_000, np.float32))
        counts = np.bincount(draws, minlength=ACTIONS)
        assert chi_square_is_plausible(counts, probabilities)
        assert not chi_square_is_plausible(counts, np.roll(probabilities, 1))


def test_evenly_spread_uniforms_give_each_action_its_exact_share() -> None:
    network, inputs = uneven_network(), bits(3)
    table = PolicyTable(network, WIDTH)
    grid = ((np.arange(50_000) + 0.5) / 50_000).astype(np.float32)
    for row, probabilities in zip(table.number(inputs), softmax_of(network, inputs), strict=True):
        draws = table.sample(np.full(len(grid), row, np.int32), grid)
        assert (np.diff(draws) >= 0).all()
        shares = np.bincount(draws, minlength=ACTIONS) / len(grid)
        np.testing.assert_allclose(shares, probabilities, atol=5e-5)


def test_the_extreme_uniforms_give_actions_that_can_happen() -> None:
    network = uneven_network()
    with torch.no_grad():
        last_layer(network).bias[[0, -1]] = -500  # first and last have probability 0
    table = PolicyTable(network, WIDTH)
    ids = table.number(bits(40))
    for uniform in (0.0, np.nextafter(np.float32(1), np.float32(0))):
        draws = table.sample(ids, np.full(40, uniform, np.float32))
        assert (table.probabilities[ids, draws] > 0).all()


def test_an_action_that_is_certain_is_always_drawn() -> None:
    network = uneven_network()
    with torch.no_grad():
        last_layer(network).bias[7] = 1_000
    table = PolicyTable(network, WIDTH)
    ids = table.number(bits(200))
    assert (table.sample(ids, np.random.default_rng(0).random(200, np.float32)) == 7).all()


# --- sampling among allowed actions


def test_a_masked_action_is_never_drawn_and_the_allowed_mass_is_reported() -> None:
    network, inputs = uneven_network(), bits(2_000)
    table = PolicyTable(network, WIDTH)
    ids = table.number(inputs)
    rng = np.random.default_rng(0)
    masks = rng.random((2_000, ACTIONS)) < 0.3
    masks[:, 0] = True
    actions, mass = table.sample_masked(ids, masks, rng.random(2_000, np.float32))
    assert masks[np.arange(2_000), actions].all()
    expected = (softmax_of(network, inputs) * masks).sum(axis=1)
    np.testing.assert_allclose(mass, expected, atol=1e-5)


def test_allowed_actions_are_drawn_in_proportion() -> None:
    network, inputs = uneven_network(), bits(1)
    table = PolicyTable(network, WIDTH)
    row = table.number(inputs)[0]
    rng = np.random.default_rng(0)
    allowed = rng.random(ACTIONS) < 0.5
    probabilities = softmax_of(network, inputs)[0] * allowed
    n = 100_000
    actions, _ = table.sample_masked(
        np.full(n, row, np.int32), np.tile(allowed, (n, 1)), rng.random(n, np.float32)
    )
    counts = np.bincount(actions, minlength=ACTIONS)
    assert chi_square_is_plausible(counts[allowed], (probabilities / probabilities.sum())[allowed])


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(np.float32(1), np.float32(0))])
def test_extreme_uniforms_stay_among_the_allowed(uniform: float) -> None:
    table = PolicyTable(uneven_network(), WIDTH)
    ids = table.number(bits(100))
    masks = np.random.default_rng(0).random((len(ids), ACTIONS)) < 0.2
    masks[:, 5] = True
    actions, _ = table.sample_masked(ids, masks, np.full(len(ids), uniform, np.float32))
    assert masks[np.arange(len(ids)), actions].all()


def test_with_everything_allowed_masked_sampling_draws_as_plain_sampling_does() -> None:
    table = PolicyTable(uneven_network(), WIDTH)
    ids = table.number(bits(2_000))
    uniforms = np.random.default_rng(0).random(2_000, np.float32)
    actions, mass = table.sample_masked(ids, np.ones((2_000, ACTIONS), np.bool_), uniforms)
    assert (actions == table.sample(ids, uniforms)).mean() > 0.999  # up to rounding of the sums
    np.testing.assert_allclose(mass, 1, atol=1e-5)
