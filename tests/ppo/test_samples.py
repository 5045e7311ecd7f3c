"""The samples of an update."""

from typing import Any

import numpy as np

from tests.ppo.learning import DOCUMENTED, with_an_input_for_every_sample
from tests.ppo.rollouts import played
from workflow_rl.ppo.returns import discounted_returns, standardised
from workflow_rl.ppo.samples import Samples, samples_of


def shown(samples: Samples) -> Any:
    return samples.inputs[samples.rows].numpy()


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
