"""An update: its steps, what it tells, how it goes on later, and that it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.ppo.learning import (
    DOCUMENTED,
    MODERN,
    ONE_STEP,
    assert_same_weights,
    reward_of,
    rng,
    weights,
)
from tests.ppo.rollouts import made_up, new_network, new_player, played, probabilities_of
from workflow_rl.config import PPOConfig
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.returns import standardised
from workflow_rl.ppo.update import Learner

# --- the update


def test_the_documented_form_takes_4_steps_over_the_whole_batch_without_masks() -> None:
    rollout = played(30, 6)
    stats = Learner(new_network(77), DOCUMENTED).update([(rollout, rollout.env_reward)], rng())
    assert stats.gradient_steps == 4
    assert stats.distinct_inputs == len(rollout.inputs)
    assert 0 < stats.entropy <= np.log(145)
    assert stats.approx_kl >= 0
    assert 0 <= stats.clipfrac <= 1


@pytest.mark.parametrize(("size", "steps"), [(None, 1), (180, 1), (500, 1), (90, 2), (50, 4)])
def test_minibatches_make_as_many_steps_as_they_need(size: int | None, steps: int) -> None:
    rollout = played(30, 6)
    learner = Learner(new_network(77), PPOConfig(epochs=3, minibatch_size=size))
    assert learner.update([(rollout, rollout.env_reward)], rng()).gradient_steps == 3 * steps


@pytest.mark.parametrize(("number", "steps"), [(1, 1), (4, 4), (7, 7), (10**6, 180)])
def test_an_epoch_makes_as_many_steps_as_minibatches_say(number: int, steps: int) -> None:
    rollout = played(30, 6)
    learner = Learner(new_network(77), PPOConfig(epochs=2, minibatches=number))
    assert learner.update([(rollout, rollout.env_reward)], rng()).gradient_steps == 2 * steps


@pytest.mark.parametrize("form", [DOCUMENTED, MODERN], ids=["documented", "modern"])
@pytest.mark.parametrize("size", [None, 1, 7, 40])
def test_every_sample_is_learned_from(size: int | None, form: PPOConfig) -> None:
    network = new_network(40)
    rollout = made_up(
        network,
        np.eye(40, dtype=np.int8),
        (8, 5),
        rows=np.arange(40, dtype=np.int32).reshape(8, 5),
    )
    first = network.critic[0]
    assert isinstance(first, nn.Linear)
    before = first.weight.detach().clone()
    learner = Learner(network, replace(form, epochs=1, minibatch_size=size))
    learner.update([(rollout, reward_of(rollout))], rng())
    moved = (first.weight.detach() != before).any(dim=0)
    assert moved.all()  # input bit k is on in sample k only


def test_every_epoch_shuffles_anew_by_the_given_generator() -> None:
    rollout = played(30, 6)
    config = PPOConfig(epochs=2, minibatch_size=32)

    def updated(seed: int) -> ActorCritic:
        network = new_network(77)
        generator = np.random.default_rng(seed)
        Learner(network, config).update([(rollout, rollout.env_reward)], generator)
        return network

    assert_same_weights(updated(1), updated(1))
    pairs = zip(weights(updated(1)), weights(updated(2)), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("config", [DOCUMENTED, MODERN], ids=["documented", "modern"])
def test_the_same_update_twice_gives_the_same_bytes(config: PPOConfig) -> None:
    networks = [new_network(77), new_network(77)]
    for network in networks:
        learner = Learner(network, config)
        for seed in range(2):
            rollout = played(30, 6, seed=seed, masked=config.mask_actions)
            learner.update([(rollout, reward_of(rollout))], np.random.default_rng(seed))
    assert_same_weights(*networks)


def test_a_long_gradient_is_cut() -> None:
    rollout = played(30, 6)
    reward = rollout.env_reward * 1e4
    moved = []
    for longest in (None, 1e-12):
        network = new_network(77)
        config = PPOConfig(epochs=1, gae_lambda=1.0, max_gradient_norm=longest)
        before = weights(network)
        Learner(network, config).update([(rollout, reward)], rng())
        moved.append(
            max(float((a - b).abs().max()) for a, b in zip(weights(network), before, strict=True))
        )
    assert moved[0] == pytest.approx(0.002, rel=1e-3)  # Adam's first step is its learning rate
    assert moved[1] < 0.0002  # unless the gradient is as small as Adam's epsilon


@pytest.mark.parametrize(
    ("progress", "share"), [(0.0, 1.0), (0.25, 0.75), (0.5, 0.5), (0.95, 0.05), (1.0, 0.0)]
)
def test_the_learning_rate_falls_linearly_to_0(progress: float, share: float) -> None:
    rollout = played(10, 2)
    learner = Learner(new_network(77), PPOConfig(anneal=True))
    learner.update([(rollout, rollout.env_reward)], rng(), progress)
    assert learner.optimiser.param_groups[0]["lr"] == pytest.approx(0.002 * share)


def test_without_annealing_the_learning_rate_stays() -> None:
    rollout = played(10, 2)
    learner = Learner(new_network(77), DOCUMENTED)
    learner.update([(rollout, rollout.env_reward)], rng(), progress=0.9)
    assert learner.optimiser.param_groups[0]["lr"] == 0.002
    assert learner.optimiser.param_groups[0]["betas"] == (0.9, 0.99)


def test_explained_variance_is_1_for_a_perfect_critic_and_0_for_a_constant_one() -> None:
    network = new_network(3)
    inputs = np.eye(3, dtype=np.int8)
    rollout = made_up(network, inputs, (20, 4))
    reward = rollout.env_reward + rollout.rows
    returns = standardised(reward)
    for values, expected in ((returns, 1.0), (np.full((20, 4), 7.0, np.float32), 0.0)):
        known = replace(rollout, values=values)
        stats = Learner(new_network(3), ONE_STEP).update([(known, reward)], rng())
        assert stats.explained_variance == pytest.approx(expected, abs=1e-5)


def test_a_reward_that_never_changes_explains_nothing_and_breaks_nothing() -> None:
    network = new_network(3)
    rollout = made_up(network, np.eye(3, dtype=np.int8), (20, 4))
    stats = Learner(network, DOCUMENTED).update([(rollout, rollout.env_reward)], rng())
    assert stats.explained_variance == 0.0
    assert all(torch.isfinite(weight).all() for weight in weights(network))


# --- going on later


@pytest.mark.parametrize("config", [DOCUMENTED, MODERN], ids=["documented", "modern"])
def test_the_optimisers_memory_goes_on_exactly(config: PPOConfig) -> None:
    rollouts = [played(30, 6, seed=seed, masked=config.mask_actions) for seed in range(2)]
    learner = Learner(new_network(77), config)
    learner.update([(rollouts[0], rollouts[0].env_reward)], rng())
    resumed = Learner(new_network(77, seed=1), config)
    resumed.network.load_state_dict(learner.network.state_dict())
    # A file keeps no scalars: they come back as arrays of one.
    resumed.load_state({name: np.atleast_1d(a) for name, a in learner.state().items()})
    for one in (learner, resumed):
        one.update([(rollouts[1], rollouts[1].env_reward)], rng())
    assert_same_weights(learner.network, resumed.network)
    fresh = Learner(new_network(77), config)
    assert fresh.state() == {}
    fresh.load_state({})
    assert fresh.state() == {}


def test_a_kept_memory_does_not_change_while_learning_goes_on() -> None:
    rollout = played(10, 2)
    learner = Learner(new_network(77), DOCUMENTED)
    learner.update([(rollout, rollout.env_reward)], rng())
    kept = learner.state()
    copies = {name: array.copy() for name, array in kept.items()}
    learner.update([(rollout, rollout.env_reward)], rng())
    for name, array in kept.items():
        np.testing.assert_array_equal(array, copies[name])


# --- it learns


@pytest.mark.parametrize(
    "config",
    [
        PPOConfig(learning_rate=0.01),
        replace(MODERN, learning_rate=0.01, value_scale=1.0, mask_actions=False),
    ],
    ids=["documented", "modern"],
)
def test_it_learns_to_answer_each_input_with_its_own_action(config: PPOConfig) -> None:
    network = new_network(4, actions=4)
    inputs = np.eye(4, dtype=np.int8)
    learner = Learner(network, config)
    for seed in range(30):
        rollout = made_up(network, inputs, (16, 16), seed)
        asked = rollout.inputs[rollout.rows].argmax(axis=-1)
        reward = (rollout.actions == asked).astype(np.float32)
        learner.update([(rollout, reward)], np.random.default_rng(seed))
    with torch.no_grad():
        probabilities = torch.softmax(network(torch.eye(4))[0], -1)
    assert probabilities.diagonal().min() > 0.9


def test_a_masked_policy_learns_among_what_is_allowed() -> None:
    network = new_network(1, actions=3)
    inputs = np.ones((1, 1), np.int8)
    learner = Learner(network, replace(MODERN, learning_rate=0.01))
    allowed = np.array([True, True, False])  # the best, 2, is never allowed
    for seed in range(30):
        rollout = made_up(network, inputs, (16, 16), seed)
        given = probabilities_of(network, inputs)[0] * allowed
        given /= given.sum()
        draws = np.random.default_rng(seed).choice(3, (16, 16), p=given)
        rollout = replace(
            rollout,
            actions=draws,
            masks=np.tile(allowed, (16, 16, 1)),
            log_probability=np.log(given[draws]),
        )
        reward = rollout.actions.astype(np.float32)
        learner.update([(rollout, reward)], np.random.default_rng(seed))
    with torch.no_grad():
        logits = network(torch.ones(1, 1))[0][0]
    assert torch.softmax(logits[:2], -1)[1] > 0.95


def test_a_few_updates_improve_play() -> None:
    player = new_player(40, order=0, red_agent="bline", episode_length=20)
    network = new_network(player.width)
    learner = Learner(network, PPOConfig(learning_rate=0.005))
    rewards = []
    for update in range(25):
        rollout = player.collect(network, 20)
        learner.update([(rollout, rollout.env_reward)], np.random.default_rng(update))
        rewards.append(rollout.env_reward.sum() / 40)
    assert np.mean(rewards[-3:]) > 0.6 * np.mean(rewards[:3])  # costs: nearer to 0 is better
