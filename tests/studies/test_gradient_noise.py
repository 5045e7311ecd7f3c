import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from workflow_rl.config import PPO_FORMS, GameConfig, TrainConfig
from workflow_rl.studies.gradient_noise import GradientNoise, first_gradients, gradient_noise
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training

GAME = GameConfig(episode_length=10)


def drawn(batches: int, noise: float, seed: int = 0, size: int = 400) -> NDArray[np.float32]:
    """Gradients around a mean of length 3, with a covariance of that trace over 9."""
    rng = np.random.default_rng(seed)
    mean = np.zeros(size)
    mean[0] = 3.0
    spread = math.sqrt(noise * 9 / size)
    return (mean + spread * rng.normal(size=(batches, size))).astype(np.float32)


@pytest.mark.parametrize(("noise", "batches"), [(0.1, 20), (1.0, 40), (20.0, 400)])
def test_the_noise_is_found_within_its_interval(noise: float, batches: int) -> None:
    inside = 0
    values = []
    for seed in range(12):
        found = gradient_noise(drawn(batches, noise, seed), 100)
        assert found.low < found.noise < found.high
        inside += found.low <= noise <= found.high
        values.append(found.noise)
    assert np.median(values) == pytest.approx(noise, rel=0.12)
    assert inside >= 9


def test_a_mean_that_drowns_in_noise_is_not_made_up() -> None:
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]] * 10, np.float32)
    assert math.isnan(gradient_noise(opposite, 10).noise)


def test_it_survives_json_with_what_could_not_be_told() -> None:
    noise = GradientNoise(64, 100, 3.5, 3.0, 4.0)
    assert GradientNoise.from_json(noise.as_json()) == noise
    unknown = noise.as_json() | {"noise": None, "low": None, "high": None}
    assert math.isnan(GradientNoise.from_json(unknown).noise)


@pytest.fixture(scope="module")
def snapshot() -> Training:
    torch.set_num_threads(1)
    train = TrainConfig(n_envs=20, max_episodes=3, min_updates=1, hidden=(8,), stop_at="budget")
    training = Training(TrainJob(GAME, PPO_FORMS["tuned"], train, 1, 7))
    for _ in training.updates():
        pass
    return training


def test_gradients_are_of_the_first_step_of_one_policy_that_does_not_learn(
    snapshot: Training,
) -> None:
    network = snapshot.learner.network
    before = [p.detach().clone() for p in network.parameters()]
    found, again = (
        first_gradients(snapshot, TrainConfig(n_envs=5), PPO_FORMS["tuned"], 4, seed=3)
        for _ in range(2)
    )
    assert (again == found).all()
    assert found.shape == (4, sum(p.numel() for p in network.actor.parameters()))
    assert len(np.unique(found.round(9), axis=0)) == 4
    last = [p.grad.ravel() for p in network.actor.parameters() if p.grad is not None]
    assert np.allclose(found[-1], torch.cat(last).numpy())
    assert np.abs(found).max() > 0
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))
