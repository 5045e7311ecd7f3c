from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.ppo.reference import reference_loss, reference_update
from tests.ppo.rollouts import made_up, new_network, new_player, played, probabilities_of
from workflow_rl.config import PPO_FORMS, ActivationName, PPOConfig
from workflow_rl.ppo.loss import ppo_loss
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.rollout import Rollout
from workflow_rl.ppo.update import Learner, Samples, samples_of

DOCUMENTED = PPO_FORMS["documented"]
MODERN = replace(PPO_FORMS["modern"], minibatch_size=64)
ONE_STEP = PPOConfig(epochs=1)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def weights(network: ActorCritic) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in network.parameters()]


def assert_same_weights(a: ActorCritic, b: ActorCritic) -> None:
    for one, other in zip(weights(a), weights(b), strict=True):
        assert torch.equal(one, other)


def reward_of(rollout: Rollout, seed: int = 0) -> Any:
    noise = np.random.default_rng(seed).normal(size=rollout.actions.shape)
    return rollout.env_reward + noise.astype(np.float32)


def with_an_input_for_every_sample(rollout: Rollout) -> Rollout:
    """The same rollout with nothing shared."""
    rows = np.arange(rollout.transitions, dtype=np.int32).reshape(rollout.rows.shape)
    return replace(rollout, inputs=rollout.inputs[rollout.rows.ravel()], rows=rows)


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


# --- the gradient written out by hand


def new_case(*, masked: bool, samples: int = 700) -> Samples:
    """Samples over fewer inputs, more than go through the networks at once."""
    rng = np.random.default_rng(0)
    masks = rng.random((samples, 9)) < 0.6
    masks[:, 4] = True
    actions = np.array([rng.choice(np.flatnonzero(row)) for row in masks])
    numbers = rng.normal(size=(3, samples)).astype(np.float32)
    inputs = rng.integers(-1, 3, (300, 20)) * (rng.random((300, 20)) < 0.3)
    return Samples(
        inputs=torch.from_numpy(inputs.astype(np.int8)),
        rows=torch.from_numpy(rng.integers(0, 300, samples)),
        actions=torch.from_numpy(actions),
        old_log_probability=torch.from_numpy(numbers[0] / 2 - 2),
        returns=torch.from_numpy(numbers[1]),
        advantages=torch.from_numpy(numbers[2] * 3),
        masks=torch.from_numpy(masks) if masked else None,
    )


def networks_of_20(activation: ActivationName) -> tuple[ActorCritic, ActorCritic]:
    """Twice the same network, the second one with more digits."""
    torch.manual_seed(0)
    network = ActorCritic(20, 9, (16, 12), activation=activation)
    exact = ActorCritic(20, 9, (16, 12), activation=activation)
    exact.load_state_dict(network.state_dict())
    return network, exact.double()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_gradient_by_hand_is_autograds_of_the_textbook_loss(
    activation: ActivationName, masked: bool, whole: bool
) -> None:
    samples = new_case(masked=masked)
    network, exact = networks_of_20(activation)
    chosen = np.arange(700) if whole else rng().permutation(700)[:600]
    config = replace(MODERN, entropy_weight=0.1)
    terms = Learner(network, config).differentiate(samples, None if whole else chosen)
    assert samples.advantages is not None
    index = torch.from_numpy(chosen)
    loss, told = reference_loss(
        exact,
        samples.inputs[samples.rows[index]].double(),
        samples.actions[index],
        samples.old_log_probability[index].double(),
        samples.returns[index].double(),
        samples.advantages[index].double(),
        None if samples.masks is None else samples.masks[index],
        config,
        0.1,
    )
    loss.backward()  # type: ignore[no-untyped-call]
    for ours, theirs in zip(network.parameters(), exact.parameters(), strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=2e-6, rtol=1e-4)
    np.testing.assert_allclose([float(t) for t in terms], list(told.values()), atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("masked", [False, True])
def test_a_whole_update_is_the_textbooks_with_the_same_minibatches(
    activation: ActivationName, masked: bool
) -> None:
    config = replace(PPO_FORMS["modern"], minibatches=3, value_scale=2.0)
    player = new_player(8, order=None)
    torch.manual_seed(0)
    network, exact = (ActorCritic(77, 145, (16, 12), activation=activation) for _ in range(2))
    exact.load_state_dict(network.state_dict())
    rollout = player.collect(network, 25, masked=masked)
    reward = reward_of(rollout)
    values, last = rollout.values * 2, rollout.last_values * 2
    advantages = generalised_advantages(reward, values, last, rollout.ends, 0.99, 0.95)
    arrays: dict[str, Any] = {
        "inputs": rollout.inputs[rollout.rows],
        "actions": rollout.actions,
        "old_log_probability": rollout.log_probability,
        "returns": (advantages + values) / 2,
        "advantages": advantages,
    }
    if rollout.masks is not None:
        arrays["masks"] = rollout.masks
    # One environment's steps after another's.
    arrays = {k: a.swapaxes(0, 1).reshape(200, *a.shape[2:]) for k, a in arrays.items()}
    generator = np.random.default_rng(7)
    minibatches = [
        part
        for _ in range(config.epochs)
        for part in np.split(generator.permutation(200), [67, 134])
    ]
    before = weights(network)
    learner = Learner(network, config)
    stats = learner.update([(rollout, reward)], np.random.default_rng(7), progress=0.25)
    reference_update(exact.double(), arrays, config, minibatches, progress=0.25)
    assert stats.gradient_steps == len(minibatches) == 12
    for was, ours, theirs in zip(before, weights(network), weights(exact), strict=True):
        assert (ours - was).abs().max() > 1e-3
        torch.testing.assert_close(ours.double(), theirs, atol=2e-5, rtol=0)


def test_a_step_does_not_depend_on_the_order_of_its_samples() -> None:
    samples = new_case(masked=True)
    chosen = rng().permutation(700)[:300]
    found = []
    for some in (chosen, np.sort(chosen)):
        network, _ = networks_of_20("tanh")
        Learner(network, MODERN).differentiate(samples, some)
        found.append([p.grad for p in network.parameters()])
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        assert torch.equal(one, other)


@pytest.mark.parametrize(("progress", "weight"), [(0.0, 0.1), (0.5, 0.05), (1.0, 0.0)])
def test_the_entropy_bonus_falls_linearly_to_0(progress: float, weight: float) -> None:
    rollout = played(10, 2, masked=True)
    reward = rollout.env_reward * 0
    config = replace(
        MODERN, epochs=1, minibatch_size=None, minibatches=1, anneal=False, entropy_weight=0.1
    )
    moved = []
    for some in (config, replace(config, anneal_entropy=False, entropy_weight=weight)):
        network = new_network(77)
        Learner(network, some).update([(rollout, reward)], rng(), progress)
        moved.append(network)
    assert_same_weights(*moved)


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
