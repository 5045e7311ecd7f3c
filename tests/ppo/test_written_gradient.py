"""The gradient written out by hand, against autograd and the textbook."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.learning import (
    MODERN,
    assert_same_weights,
    reward_of,
    rng,
    weights,
)
from tests.ppo.reference import reference_loss, reference_update
from tests.ppo.rollouts import new_network, new_player, played
from workflow_rl.config import PPO_FORMS, ActivationName
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.returns import generalised_advantages
from workflow_rl.ppo.update import Learner, Samples


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
