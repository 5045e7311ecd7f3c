"""The samples of an update, and that what they share is run once."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.ppo.learning import (
    DOCUMENTED,
    MODERN,
    reward_of,
    rng,
    with_an_input_for_every_sample,
)
from tests.ppo.rollouts import new_network, played, probabilities_of
from workflow_rl.config import PPOConfig
from workflow_rl.ppo.loss import ppo_loss
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.update import Learner, Samples, samples_of

# --- samples


def test_documented_samples_hold_normalised_returns_and_leave_the_advantage_to_the_loss() -> None:
    rollout = played(40, 6)
    reward = reward_of(rollout)
    samples = samples_of([(rollout, reward)], DOCUMENTED)
    returns = standardised(discounted_returns(reward, rollout.ends, 0.99))
    np.testing.assert_array_equal(samples.returns.numpy(), returns.ravel())
    assert samples.advantages is None
    assert samples.masks is None
    assert len(samples) == 240
    np.testing.assert_array_equal(samples.actions.numpy(), rollout.actions.ravel())
    shown = samples.inputs[samples.rows].numpy()
    np.testing.assert_array_equal(shown, rollout.inputs[rollout.rows.ravel()])
    probabilities = probabilities_of(new_network(77), rollout.inputs)
    chosen = probabilities[rollout.rows, rollout.actions].ravel()
    np.testing.assert_allclose(samples.old_log_probability.numpy(), np.log(chosen), rtol=1e-5)


def test_modern_samples_hold_advantages_and_targets_in_the_critics_unit() -> None:
    rollout = played(40, 6, masked=True)
    reward = reward_of(rollout)
    config = replace(MODERN, gae_lambda=0.9, value_scale=5.0)
    samples = samples_of([(rollout, reward)], config)
    values, last = rollout.values * 5, rollout.last_values * 5
    advantages = generalised_advantages(reward, values, last, rollout.ends, config.gamma, 0.9)
    assert samples.advantages is not None
    by_env: dict[str, Any] = {"advantages": advantages, "returns": (advantages + values) / 5}
    for name, array in by_env.items():
        np.testing.assert_allclose(getattr(samples, name).numpy(), array.T.ravel(), atol=1e-5)
    shown = samples.inputs[samples.rows].numpy()
    np.testing.assert_array_equal(shown, rollout.inputs[rollout.rows.T.ravel()])


def test_the_old_probability_of_a_masked_action_is_among_what_was_allowed() -> None:
    rollout = played(40, 6, masked=True)
    samples = samples_of([(rollout, reward_of(rollout))], MODERN)
    assert samples.masks is not None
    with torch.no_grad():
        logits, _ = new_network(77)(samples.inputs[samples.rows].float())
        logits[~samples.masks] = -torch.inf
        expected = torch.log_softmax(logits, -1).gather(1, samples.actions[:, None])[:, 0]
    torch.testing.assert_close(samples.old_log_probability, expected, atol=1e-5, rtol=1e-5)


def test_several_rollouts_are_put_behind_one_another() -> None:
    first, second = played(20, 6, seed=1), played(30, 6, seed=2)
    both = samples_of([(first, first.env_reward), (second, second.env_reward)], DOCUMENTED)
    assert len(both) == 120 + 180
    shown = both.inputs[both.rows].numpy()
    np.testing.assert_array_equal(shown[:120], first.inputs[first.rows.ravel()])
    np.testing.assert_array_equal(shown[120:], second.inputs[second.rows.ravel()])
    returns = np.concatenate(
        [discounted_returns(r.env_reward, r.ends, 0.99).ravel() for r in (first, second)]
    )
    np.testing.assert_allclose(both.returns.numpy(), standardised(returns), atol=1e-6)


def test_inputs_that_hardly_repeat_are_taken_plainly() -> None:
    rollout = played(40, 6)
    samples = samples_of([(rollout, rollout.env_reward)], DOCUMENTED)
    assert len(samples.inputs) == len(rollout.inputs) < 0.7 * len(samples)
    plain = samples_of([(with_an_input_for_every_sample(rollout), rollout.env_reward)], DOCUMENTED)
    assert plain.rows.tolist() == list(range(240))
    assert len(plain.inputs) == 240


def all_of(samples: Samples) -> list[Tensor | None]:
    """What each sample is, whatever way its input is stored."""
    return [
        samples.inputs[samples.rows],
        samples.actions,
        samples.old_log_probability,
        samples.returns,
        samples.advantages,
        samples.masks,
    ]


@pytest.mark.parametrize("config", [DOCUMENTED, MODERN], ids=["documented", "modern"])
def test_a_part_holds_the_chosen_samples_over_the_inputs_they_use(config: PPOConfig) -> None:
    rollout = played(40, 6, masked=config.mask_actions)
    samples = samples_of([(rollout, reward_of(rollout))], config)
    chosen = rng().permutation(len(samples))[:50]
    part = samples.part(chosen)
    assert len(part) == 50
    assert len(part.inputs) == len(np.unique(samples.rows.numpy()[chosen]))
    for whole, some in zip(all_of(samples), all_of(part), strict=True):
        assert (whole is None) == (some is None)
        if whole is not None and some is not None:
            assert torch.equal(whole[torch.from_numpy(chosen)], some)
    for whole, plain in zip(all_of(samples), all_of(samples.plain()), strict=True):
        assert (whole is None and plain is None) or torch.equal(whole, plain)  # type: ignore[arg-type]


# --- distinct inputs


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_on_distinct_inputs_equal_those_of_the_plain_samples(masked: bool) -> None:
    rollout = played(60, 10, masked=masked)
    config = replace(DOCUMENTED, mask_actions=masked)
    samples = samples_of([(rollout, reward_of(rollout))], config)
    assert len(samples.inputs) < len(samples)
    network = new_network(77, seed=5)

    def gradients(some: Samples) -> list[Tensor]:
        logits, values = network(some.inputs.float())
        terms = ppo_loss(
            logits,
            values,
            some.rows,
            some.actions,
            some.old_log_probability,
            some.returns,
            0.2,
            some.masks,
        )
        loss = terms.policy + 0.5 * terms.value - 0.01 * terms.entropy
        return list(torch.autograd.grad(loss, list(network.parameters())))

    for got, expected in zip(gradients(samples), gradients(samples.plain()), strict=True):
        torch.testing.assert_close(got, expected, atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize("config", [DOCUMENTED, MODERN], ids=["documented", "modern"])
def test_a_whole_update_on_distinct_inputs_equals_the_plain_one_to_rounding(
    config: PPOConfig,
) -> None:
    rollout = played(60, 10, masked=config.mask_actions)
    reward = reward_of(rollout)
    networks, stats = [], []
    for one in (rollout, with_an_input_for_every_sample(rollout)):
        network = new_network(77)
        stats.append(Learner(network, config).update([(one, reward)], rng()))
        networks.append(network)
    with torch.no_grad():
        inputs = torch.from_numpy(rollout.inputs).float()
        (logits, values), (plain_logits, plain_values) = (net(inputs) for net in networks)
        start = new_network(77)(inputs)[0]
    assert (logits - start).abs().max() > 0.02  # something was learned
    torch.testing.assert_close(logits, plain_logits, atol=1e-3, rtol=0)
    torch.testing.assert_close(values, plain_values, atol=1e-3, rtol=0)
    assert stats[0].policy_loss == pytest.approx(stats[1].policy_loss, abs=1e-4)
    assert stats[0].value_loss == pytest.approx(stats[1].value_loss, rel=1e-3)
    assert stats[0].entropy == pytest.approx(stats[1].entropy, rel=1e-4)
    assert stats[0].gradient_steps == stats[1].gradient_steps
    assert stats[0].distinct_inputs < stats[1].distinct_inputs
