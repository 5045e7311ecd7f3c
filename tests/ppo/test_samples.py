"""The samples of an update."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.ppo.learning import (
    BOTH_FORMS,
    DOCUMENTED,
    MODERN,
    by_env,
    reward_of,
    rng,
    with_an_input_for_every_sample,
)
from tests.ppo.rollouts import played
from workflow_rl.config import PPOConfig
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.samples import Samples, samples_of


def shown(samples: Samples) -> Any:
    return samples.inputs[samples.rows].numpy()


def test_without_a_lambda_samples_hold_normalised_returns_and_no_advantages() -> None:
    rollout = played(40, 6)
    reward = reward_of(rollout)
    samples = samples_of([(rollout, reward)], DOCUMENTED)
    returns = standardised(discounted_returns(reward, rollout.ends, 0.99))
    np.testing.assert_array_equal(samples.returns.numpy(), returns.ravel())
    assert (samples.advantages, samples.masks, len(samples)) == (None, None, 240)
    np.testing.assert_array_equal(samples.actions.numpy(), rollout.actions.ravel())
    np.testing.assert_array_equal(samples.old_log_probability, rollout.log_probability.ravel())
    np.testing.assert_array_equal(shown(samples), rollout.inputs[rollout.rows.ravel()])


def test_with_a_lambda_they_hold_advantages_and_targets_in_the_critics_unit() -> None:
    rollout = played(40, 6, masked=True)
    reward = reward_of(rollout)
    config = replace(MODERN, gae_lambda=0.9, value_scale=5.0)
    samples: Any = samples_of([(rollout, reward)], config)
    values, last = rollout.values * 5, rollout.last_values * 5
    advantages = generalised_advantages(reward, values, last, rollout.ends, config.gamma, 0.9)
    expected: dict[str, Any] = {
        "advantages": advantages,
        "returns": (advantages + values) / 5,
        "actions": rollout.actions,
        "old_log_probability": rollout.log_probability,
        "masks": rollout.masks,
    }
    for name, array in expected.items():  # the fused engine takes them env by env
        np.testing.assert_allclose(getattr(samples, name), by_env(array), atol=1e-5)
    np.testing.assert_array_equal(shown(samples), rollout.inputs[by_env(rollout.rows)])


def test_several_rollouts_are_put_behind_one_another() -> None:
    first, second = played(20, 6, seed=1), played(30, 6, seed=2)
    both = samples_of([(first, first.env_reward), (second, second.env_reward)], DOCUMENTED)
    expected = [r.inputs[r.rows.ravel()] for r in (first, second)]
    np.testing.assert_array_equal(shown(both), np.concatenate(expected))
    returns = [discounted_returns(r.env_reward, r.ends, 0.99).ravel() for r in (first, second)]
    normalised = standardised(np.concatenate(returns))
    np.testing.assert_allclose(both.returns.numpy(), normalised, atol=1e-6)


def test_inputs_that_hardly_repeat_are_taken_plainly() -> None:
    rollout = played(40, 6)
    samples = samples_of([(rollout, rollout.env_reward)], DOCUMENTED)
    assert len(samples.inputs) == len(rollout.inputs) < 0.7 * len(samples)
    plain = samples_of([(with_an_input_for_every_sample(rollout), rollout.env_reward)], DOCUMENTED)
    assert plain.rows.tolist() == list(range(240))
    assert len(plain.inputs) == 240


@BOTH_FORMS
def test_a_part_holds_the_chosen_samples_over_the_inputs_they_use(config: PPOConfig) -> None:
    def all_of(some: Samples) -> list[Tensor | None]:
        """What each sample is, whatever way its input is stored."""
        rest = [v for name, v in vars(some).items() if name not in ("inputs", "rows", "words")]
        return [some.inputs[some.rows], *rest]

    rollout = played(40, 6, masked=config.mask_actions)
    samples = samples_of([(rollout, reward_of(rollout))], config)
    chosen = rng().permutation(len(samples))[:50]
    part = samples.part(chosen)
    assert len(part) == 50
    assert len(part.inputs) == len(np.unique(samples.rows.numpy()[chosen]))
    for whole, some, plain in zip(
        all_of(samples), all_of(part), all_of(samples.plain()), strict=True
    ):
        if whole is None:
            assert (some, plain) == (None, None)
        else:
            assert some is not None
            assert torch.equal(whole[torch.from_numpy(chosen)], some)
            assert plain is not None
            assert torch.equal(whole, plain)
