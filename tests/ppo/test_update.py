"""An update: its steps, what it tells, how it goes on later, and that it learns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.learning import DOCUMENTED, MODERN, assert_same_weights, rng, weights
from tests.ppo.rollouts import made_up, new_network, played
from workflow_rl.config import PPOConfig
from workflow_rl.ppo.returns import standardised
from workflow_rl.ppo.update import Learner, UpdateStats


def updated(config: PPOConfig, progress: float = 0.0, seed: int = 0) -> tuple[Learner, UpdateStats]:
    """A learner after one update on a small rollout."""
    rollout = played(30, 6, masked=config.mask_actions)
    learner = Learner(new_network(77), config)
    rewarded = [(rollout, rollout.env_reward)]
    return learner, learner.update(rewarded, np.random.default_rng(seed), progress)


# --- the update


@pytest.mark.parametrize(
    ("sizes", "steps"),
    [
        *(({"minibatch_size": n}, k) for n, k in ((None, 1), (180, 1), (500, 1), (90, 2), (50, 4))),
        *(({"minibatches": n}, k) for n, k in ((1, 1), (4, 4), (7, 7), (10**6, 180))),
    ],
)
def test_an_epoch_makes_as_many_steps_as_its_minibatches(sizes: Any, steps: int) -> None:
    _, stats = updated(PPOConfig(epochs=2, **sizes))
    assert stats.gradient_steps == 2 * steps
    assert 0 < stats.entropy <= np.log(145)
    assert stats.approx_kl >= 0
    assert 0 <= stats.clipfrac <= 1


@pytest.mark.parametrize("progress", [0.0, 0.25, 1.0])
def test_learning_rate_and_entropy_bonus_fall_linearly_to_0_if_annealed(progress: float) -> None:
    for config, rate in ((PPOConfig(anneal=True), 0.002 * (1 - progress)), (DOCUMENTED, 0.002)):
        group = updated(config, progress)[0].optimiser.param_groups[0]
        assert group["lr"] == pytest.approx(rate)
        assert group["betas"] == (0.9, 0.99)
    config = replace(MODERN, anneal=False, entropy_weight=0.1)
    fixed = replace(config, anneal_entropy=False, entropy_weight=0.1 * (1 - progress))
    assert_same_weights(updated(config, progress)[0].network, updated(fixed, progress)[0].network)


def test_explained_variance_is_1_for_a_perfect_critic_and_0_for_a_constant_one() -> None:
    rollout = made_up(new_network(3), np.eye(3, dtype=np.int8), (20, 4))
    reward = rollout.env_reward + rollout.rows
    constant = np.full((20, 4), 7, np.float32)
    for values, gained, expected in (
        (standardised(reward), reward, 1),
        (constant, reward, 0),
        (constant, rollout.env_reward, 0),  # which never changes: there is nothing to explain
    ):
        learner, known = Learner(new_network(3), DOCUMENTED), replace(rollout, values=values)
        stats = learner.update([(known, gained)], rng())
        assert stats.explained_variance == pytest.approx(expected, abs=1e-5)
        assert all(torch.isfinite(weight).all() for weight in weights(learner.network))
