"""Both engines against the textbook, in every form of the loss, and so against each other."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.learning import by_env, reward_of, weights, with_an_input_for_every_sample
from tests.ppo.reference import Batch, ReferenceLearner, reference_loss, reference_terms
from tests.ppo.rollouts import new_network, new_player
from tests.refused import refusal
from workflow_rl.config import PPO_FORMS, ActivationName, PPOConfig
from workflow_rl.config.ppo import EngineName
from workflow_rl.ppo.fused.engine import FusedEngine
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.rollout import Rollout
from workflow_rl.ppo.samples import Samples
from workflow_rl.ppo.update import Learner

FORM = replace(PPO_FORMS["modern"], entropy_weight=0.1, value_scale=2.0)
ENGINES = pytest.mark.parametrize("engine", ["autograd", "fused"])
LAMBDAS = pytest.mark.parametrize("gae_lambda", [0.95, None], ids=["gae", "monte-carlo"])
MASKS = pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
ACTIVATIONS = pytest.mark.parametrize("activation", ["relu", "tanh"])
REPEATS = pytest.mark.parametrize("repeated", [True, False], ids=["repeated", "distinct"])


def made_up_samples(gae_lambda: float | None, *, masked: bool, repeated: bool) -> Samples:
    """More inputs than go through the fused engine at once, and samples that share them or not."""
    n, rng = 700, np.random.default_rng(0)
    masks = rng.random((n, 9)) < 0.6
    masks[:, 4] = True
    old, returns, advantages = torch.from_numpy(rng.normal(size=(3, n)).astype(np.float32))
    inputs = rng.integers(-1, 3, (300, 20)) * (rng.random((300, 20)) < 0.3)
    samples = Samples(
        inputs=torch.from_numpy(inputs.astype(np.int8)),
        rows=torch.from_numpy(rng.integers(0, 300, n)),
        actions=torch.from_numpy(np.array([rng.choice(np.flatnonzero(row)) for row in masks])),
        old_log_probability=old / 2 - 2,
        returns=returns,
        advantages=None if gae_lambda is None else advantages * 3,
        masks=torch.from_numpy(masks) if masked else None,
    )
    return samples if repeated else samples.plain()


@ENGINES
@LAMBDAS
@MASKS
@ACTIVATIONS
@REPEATS
@pytest.mark.parametrize(("hidden", "scale"), [((), 1.0), ((16, 12), 5.0), ((9, 20, 5), 1.0)])
def test_loss_terms_and_gradients_are_the_textbooks(
    engine: EngineName,
    gae_lambda: float | None,
    masked: bool,
    activation: ActivationName,
    repeated: bool,
    hidden: tuple[int, ...],
    scale: float,
) -> None:
    samples = made_up_samples(gae_lambda, masked=masked, repeated=repeated)
    network = new_network(20, 9, hidden, activation=activation, scale=scale)
    exact = deepcopy(network).double()
    config = replace(FORM, engine=engine, gae_lambda=gae_lambda, activation=activation)
    learner = Learner(network, config)
    for chosen in (None, np.random.default_rng(1).permutation(700)[:600]):
        terms = learner.differentiate(samples, chosen)
        batch = Batch.of(samples).part(np.arange(700) if chosen is None else chosen)
        expected = reference_terms(exact, batch, config.clip)
        assert expected.clipfrac > 0.05
        exact.zero_grad()
        reference_loss(expected, config, 0.1).backward()  # type: ignore[no-untyped-call]
        told = [term.item() for term in terms]
        np.testing.assert_allclose(told, [term.item() for term in expected], atol=2e-5, rtol=1e-5)
        for ours, theirs in zip(network.parameters(), exact.parameters(), strict=True):
            assert ours.grad is not None
            assert theirs.grad is not None
            torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=3e-6, rtol=1e-4)


def textbook_batch(rollout: Rollout, reward: Any, config: PPOConfig) -> Batch:
    """A rollout's samples, one environment's after another's where the engine has them so."""
    scale, ends = config.value_scale, rollout.ends
    advantages: Any
    returns: Any
    if config.gae_lambda is None:
        advantages, returns = None, standardised(discounted_returns(reward, ends, config.gamma))
    else:
        values, last = rollout.values * scale, rollout.last_values * scale
        advantages = generalised_advantages(
            reward, values, last, ends, config.gamma, config.gae_lambda
        )
        returns = (advantages + values) / scale

    def tensor(array: Any) -> Any:
        if array is None:
            return None
        flat = by_env(array) if config.engine == "fused" else array.reshape(-1, *array.shape[2:])
        made = torch.from_numpy(flat)
        return made.double() if made.is_floating_point() else made

    return Batch(
        inputs=tensor(rollout.inputs[rollout.rows]).double(),
        actions=tensor(rollout.actions),
        old_log_probability=tensor(rollout.log_probability),
        returns=tensor(returns),
        advantages=tensor(advantages),
        masks=tensor(rollout.masks),
    )


@ENGINES
@LAMBDAS
@MASKS
@ACTIVATIONS
@REPEATS
def test_whole_updates_are_the_textbooks_with_the_same_minibatches(
    engine: EngineName,
    gae_lambda: float | None,
    masked: bool,
    activation: ActivationName,
    repeated: bool,
) -> None:
    config = replace(
        FORM, engine=engine, gae_lambda=gae_lambda, activation=activation, minibatches=3, epochs=2
    )
    player = new_player(8, red_agent="bline")
    network = new_network(77, 145, (16, 12), activation=activation)
    before, exact = weights(network), ReferenceLearner(deepcopy(network).double(), config)
    rollouts = [player.collect(network, 25, masked=masked) for _ in range(2)]
    learner = Learner(network, config)
    for seed, rollout in enumerate(rollouts):
        assert len(rollout.inputs) < 0.6 * rollout.transitions
        used = rollout if repeated else with_an_input_for_every_sample(rollout)
        reward, progress = reward_of(rollout), seed / 2
        stats = learner.update([(used, reward)], np.random.default_rng(seed), progress)
        shuffling = np.random.default_rng(seed)
        minibatches = [
            part for _ in range(2) for part in np.split(shuffling.permutation(200), [67, 134])
        ]
        exact.update(textbook_batch(rollout, reward, config), minibatches, progress)
        assert stats.gradient_steps == len(minibatches)
    for was, ours, theirs in zip(before, weights(network), weights(exact.network), strict=True):
        assert (ours - was).abs().max() > 1e-3
        torch.testing.assert_close(ours.double(), theirs, atol=2e-5, rtol=0)


@ENGINES
@LAMBDAS
@MASKS
def test_the_engine_is_the_one_that_is_asked_for_whatever_the_form_of_ppo(
    engine: EngineName, gae_lambda: float | None, masked: bool
) -> None:
    config = PPOConfig(engine=engine, gae_lambda=gae_lambda, mask_actions=masked)
    learner = Learner(new_network(20, 9), config)
    fused = engine == "fused"
    assert isinstance(learner.fused, FusedEngine) == fused
    assert (len(learner.optimiser.param_groups[0]["params"]) == 1) == fused


def test_the_fused_engine_says_which_activations_it_has() -> None:
    said = refusal(PPOConfig, engine="fused", activation="gelu")
    assert said.startswith("the engine fused has the activations relu and tanh, not gelu")
