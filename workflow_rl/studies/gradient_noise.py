"""How noisy the policy's gradient is, by the number of transitions behind a step.

One common policy plays each preset's batches, over and over, without learning. The gradient of the
first step that the preset would take with each batch varies by chance alone; its noise is the
trace of that covariance over the squared length of the mean. Of 1 or more, a single step points in
a direction that is mostly chance.
"""

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.config import PPO_FORMS, ComparisonConfig, PPOConfig, TrainConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.estimates import Z_95
from workflow_rl.ppo.rollout import Player
from workflow_rl.ppo.samples import samples_of
from workflow_rl.ppo.update import Learner
from workflow_rl.processes import one_thread
from workflow_rl.runs.pool import Returned, Row
from workflow_rl.studies.measured_training import job_of
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training

SNAPSHOT_UPDATES: Final = 25  # of the common policy
_SAMPLES: Final = 200_000  # behind all gradients of a preset, within these bounds of batches
_FEWEST: Final = 20
_MOST: Final = 1_000
_GROUPS: Final = 10  # of the jackknife


@dataclass(frozen=True)
class GradientNoise:
    """The noise of one gradient step."""

    samples: int  # transitions that the step averages over
    batches: int  # how many were compared
    noise: float  # trace of the covariance over the squared mean; NaN if that mean is not above 0
    low: float  # 95 % interval
    high: float

    @property
    def per_transition(self) -> float:
        """Noise times samples: equal for all batch sizes if transitions were independent."""
        return self.noise * self.samples

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return vars(self) | {"per_transition": self.per_transition}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns what `as_json` gave; what could not be told was written as null."""
        noise, low, high = (
            math.nan if data[name] is None else float(data[name])
            for name in ("noise", "low", "high")
        )
        return cls(int(data["samples"]), int(data["batches"]), noise, low, high)


def gradient_noise(gradients: NDArray[np.float32], samples: int) -> GradientNoise:
    """Returns the noise of gradients of which each row is one.

    The squared length of the mean is estimated without the bias that the noise itself adds; the
    interval is the jackknife's, on the logarithm.

    Args:
        gradients: (batches, parameters).
        samples: transitions behind each.
    """
    exact = gradients.astype(np.float64)
    inner = exact @ exact.T
    noise, number = _noise(inner), len(inner)
    parts = []
    for group in np.array_split(np.arange(number), min(_GROUPS, number)):
        kept = np.setdiff1d(np.arange(number), group)
        parts.append(_noise(inner[np.ix_(kept, kept)]))
    low = high = math.nan
    if math.isfinite(noise) and np.isfinite(parts).all():
        logs = np.log(np.maximum(parts, 1e-300))
        spread = (len(logs) - 1) / len(logs) * float(np.sum((logs - logs.mean()) ** 2))
        factor = math.exp(Z_95 * math.sqrt(spread))
        low, high = noise / factor, noise * factor
    return GradientNoise(samples, number, noise, low, high)


def _noise(inner: NDArray[np.float64]) -> float:
    """Returns the noise, given all inner products of the gradients."""
    number = len(inner)
    if number < 2:
        return math.nan
    own, pairs = float(np.trace(inner)), float(inner.sum())
    squared_mean = (pairs - own) / (number * (number - 1))
    trace = own / number - squared_mean
    return trace / squared_mean if squared_mean > 0 else math.nan


def first_gradients(
    snapshot: Training, train: TrainConfig, ppo: PPOConfig, batches: int, seed: int
) -> NDArray[np.float32]:
    """Returns the gradients (batches, parameters) of the first step a preset takes.

    Args:
        snapshot: has the policy that plays, the order and the weight of its alignment reward.
        train: the preset's, of which the shape of the batch is used.
        ppo: the preset's, with its size of minibatches.
        batches: how many.
        seed: of games, actions and minibatches.
    """
    job, network = snapshot.job, snapshot.learner.network
    learner = Learner(network, ppo)
    world = SimulatorWorld(make_batch(train.n_envs, job.game))
    player = Player(world, job.order, seed, job.train)
    keeper = Scorekeeper(train.n_envs)
    rng = np.random.default_rng([seed, 125])
    steps = train.rollout_steps(job.game.episode_length)
    found = []
    for _ in range(batches):
        rollout = player.collect(network, steps, masked=ppo.mask_actions)
        weight = snapshot.weight.of(rollout.orders)
        reward, _ = keeper.score(rollout, weight, job.train.compliance_view, ppo=ppo)
        samples = samples_of([(rollout, reward)], ppo)
        size = ppo.step_samples(len(samples))
        first = rng.permutation(len(samples))[:size] if size < len(samples) else None
        learner.differentiate(samples, first)
        parts = [p.grad.ravel() for p in network.actor.parameters() if p.grad is not None]
        found.append(torch.cat(parts).numpy().copy())
    return np.stack(found)


@dataclass(frozen=True)
class NoiseTask:
    """Measuring the gradient noise of each preset's batches, all at one policy.

    The policy, its observation, its outputs and the form of PPO are common; a preset gives the
    number of environments, the length of rollouts and the size of minibatches.
    """

    plan: ComparisonConfig
    name: str = "gradients"
    folder: None = None  # it keeps no files

    def stored(self) -> None:
        """Returns nothing: the comparison keeps the result."""

    def run(self) -> Generator[Row | Returned]:
        """Yields each preset that is being measured, and last the noise of each."""
        plan = self.plan
        with one_thread():
            snapshot = _snapshot(plan)
            found: dict[str, GradientNoise] = {}
            alike: dict[tuple[int, ...], GradientNoise] = {}  # by the shape of the rollout
            for name in plan.presets:
                yield {"preset": name}
                job = job_of(plan, name, plan.seeds[0])
                steps = job.train.rollout_steps(plan.game.episode_length)
                transitions = job.train.n_envs * steps
                size = job.ppo.step_samples(transitions)
                shape = (job.train.n_envs, steps, size)
                if shape not in alike:
                    ppo = replace(snapshot.job.ppo, minibatch_size=size)
                    batches = min(max(_SAMPLES // size, _FEWEST), _MOST)
                    gradients = first_gradients(snapshot, job.train, ppo, batches, plan.seeds[0])
                    alike[shape] = gradient_noise(gradients, size)
                found[name] = alike[shape]
        yield Returned(found)


def _snapshot(plan: ComparisonConfig) -> Training:
    """Trains the common policy, by the defaults: 200 environments and whole batches."""
    train = TrainConfig(max_episodes=SNAPSHOT_UPDATES, min_updates=1, stop_at="budget")
    job = TrainJob(plan.game, PPO_FORMS[plan.ppo], train, plan.seeds[0], plan.order)
    training = Training(job)
    for _ in training.updates():
        pass
    return training
