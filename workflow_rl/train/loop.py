"""Training one workflow: collect, score compliance, update, log, decide."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.envs.world import World, make_world
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import UNKNOWN, Result
from workflow_rl.files import load_arrays, save_arrays
from workflow_rl.nets.policy_file import Weights
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.ppo.update import Learner, UpdateStats
from workflow_rl.train.alignment import AlignmentWeight
from workflow_rl.train.episodes import Episodes, Scorekeeper
from workflow_rl.train.job import COMPLIANT, TrainJob, TrainOutcome, stop_reason
from workflow_rl.train.red_world import make_red_world

OBJECTIVE_EPISODES: Final = 3  # of every environment, at the end of a training
_BONUS_UNTIL: Final = 0.5  # share of a training after which there is no bonus for removals
CHECKPOINT_KIND: Final = "training checkpoint"


@dataclass(frozen=True)
class UpdateRecord:
    """One row of the training log."""

    update: int  # from 1
    transitions: int  # up to here
    episodes: int  # ended in this update
    env_reward: float  # mean over them
    compliance_observed: float
    compliance_true: float
    fixes: float
    alignment_weight: float
    simulate_seconds: float
    infer_seconds: float  # choosing actions and judging them
    update_seconds: float
    stats: UpdateStats


class Training:
    """A training in progress: one `update` at a time."""

    def __init__(self, job: TrainJob) -> None:
        """Builds environments, networks and optimiser."""
        self.job = job
        length = job.game.episode_length
        self.max_updates = job.train.max_updates(length)
        self.steps = job.train.rollout_steps(length)
        world: World
        if job.train.side == "red":
            world = make_red_world(job)
        else:
            world = make_world(job.game, job.train.n_envs, job.backend)
        self.player = Player(world, job.order, job.seed, job.train)
        network = _network(self.player, job)
        self.learner = Learner(network, job.ppo)
        self.keeper = Scorekeeper(job.train.n_envs)
        self.weight = AlignmentWeight(job.train, job.order, self.player.orders)
        self.updates_made = 0
        self.transitions = 0
        self.compliance = math.nan  # of the last update in which episodes ended
        self.compliance_true = math.nan
        self._is_fresh = False  # whether that was the last update
        # (reward, compliance, true one, fixes of both) of each environment's last episodes
        self.last = np.full((5, OBJECTIVE_EPISODES, job.train.n_envs), np.nan)
        self.episodes_played = np.zeros(job.train.n_envs, np.int64)
        self.best: Weights = network.weights()
        self.best_score = (-1.0, -math.inf)  # (meets the threshold or its compliance, reward)
        self.best_result = Result(job.game.red_agent, 0, UNKNOWN)
        self._earlier: list[tuple[Rollout, NDArray[np.float32]]] = []

    @property
    def stop_reason(self) -> str | None:
        """Why the training is over, or None."""
        if not self.updates_made:
            return None
        fresh = self.compliance if self._is_fresh else math.nan
        return stop_reason(self.job.train, self.max_updates, self.updates_made, fresh)

    def updates(self) -> Iterator[tuple[UpdateRecord, Episodes]]:
        """Trains to the end: yields each update with the episodes that ended in it."""
        while self.stop_reason is None:
            yield self.update()

    def update(self) -> tuple[UpdateRecord, Episodes]:
        """Plays a rollout, learns from it and returns what is to be logged."""
        train, network = self.job.train, self.learner.network
        start = time.perf_counter()
        progress = self.updates_made / self.max_updates
        rollout = self.player.collect(
            network,
            self.steps,
            masked=self.job.ppo.mask_actions,
            networks=self.learner.fused,
        )
        reward, episodes = self.keeper.score(
            rollout,
            self.weight.of(rollout.orders),
            train.compliance_view,
            ppo=self.job.ppo,
            removal_bonus=removal_bonus(train, progress),
        )
        weight = self.weight.mean
        self._take_in(episodes)
        middle = time.perf_counter()
        self._earlier.append((rollout, reward))
        rng = np.random.default_rng([self.job.seed, 3, self.updates_made])
        stats = self.learner.update(self._earlier, rng, progress)
        del self._earlier[: len(self._earlier) - train.replay_rollouts]
        self._check_finite(stats)
        self.updates_made += 1
        self.transitions += rollout.transitions
        record = UpdateRecord(
            update=self.updates_made,
            transitions=self.transitions,
            episodes=len(episodes),
            env_reward=_mean(episodes.env_reward),
            compliance_observed=_mean(episodes.compliance_observed),
            compliance_true=_mean(episodes.compliance_true),
            fixes=_mean(episodes.fixes),
            alignment_weight=weight,
            simulate_seconds=rollout.simulate_seconds,
            infer_seconds=middle - start - rollout.simulate_seconds,
            update_seconds=time.perf_counter() - middle,
            stats=stats,
        )
        return record, episodes

    def _check_finite(self, stats: UpdateStats) -> None:
        """Raises TrainingFailedError if losses or weights are not finite any more."""
        weights = (p.detach().numpy() for p in self.learner.network.parameters())
        losses = (stats.policy_loss, stats.value_loss)
        if not (np.isfinite(losses).all() and all(np.isfinite(w).all() for w in weights)):
            raise TrainingFailedError(
                f"the training diverged: losses or weights are not finite after update "
                f"{self.updates_made + 1}; a smaller --learning-rate may help"
            )

    def _take_in(self, episodes: Episodes) -> None:
        """Notes the ended episodes; they were played by the weights before this update."""
        if not len(episodes):
            self._is_fresh = False
            return
        self._is_fresh = True
        view = self.job.train.compliance_view
        compliance, judged = episodes.compliance(view), episodes.judged(view)
        values = (
            *(episodes.env_reward, compliance, episodes.compliance_true),
            *(judged, episodes.judged_true),
        )
        for env, *mine in zip(episodes.env, *values, strict=True):
            self.last[:, self.episodes_played[env] % OBJECTIVE_EPISODES, env] = mine
            self.episodes_played[env] += 1
        self.compliance = _mean(compliance)
        self.compliance_true = _mean(episodes.compliance_true)
        # Compliance first, then reward; without an order only the reward counts.
        meets = self._meets() or not self.job.train.conditioned
        score = (1.0 if meets else self.compliance - 1.0, _mean(episodes.env_reward))
        if score > self.best_score:
            self.best_score = score
            self.best = self.learner.network.weights()
            self.best_result = self._result(*values)
        self.weight.adapt(episodes.order, compliance)

    def _meets(self) -> bool:
        """Returns whether the last episodes comply; a mean over all orders must leave a margin."""
        needed = self.job.train.compliance_threshold
        if self.job.order is None:
            needed = self.weight.target
        return self.compliance >= needed

    def _result(self, *values: NDArray[Any]) -> Result:
        """Returns the result of episodes, one value of each for every episode, as in `last`."""
        estimates = (_estimate(some) for some in values[:3])
        seen, true = map(_mean, values[3:])
        games = len(values[0])
        return Result(self.job.game.red_agent, games, *estimates, fixes=seen, fixes_true=true)

    def outcome(self) -> TrainOutcome:
        """Returns what was found."""
        objective = self._result(*self.last[:, ~np.isnan(self.last[0])])
        # What ended by its budget is judged by the episodes of its objective, not by the last
        # update alone; what ended by complying complied in that one.
        if self.stop_reason == COMPLIANT:
            objective = replace(
                objective,
                compliance=Estimate(self.compliance),
                compliance_true=Estimate(self.compliance_true),
            )
        workflow = self.job.workflow
        return TrainOutcome(
            order=self.job.order,
            workflow=None if workflow is None else str(workflow),
            objective=objective,
            best=self.best_result,
            is_compliant=objective.compliance.mean >= self.job.train.compliance_threshold,
            stopped=self.stop_reason or "interrupted",
            updates=self.updates_made,
            transitions=self.transitions,
            episodes_per_env=int(self.episodes_played.min()),
            alignment_weights=tuple(self.weight.values.tolist()),
        )

    def close(self) -> None:
        """Ends the environments."""
        self.player.world.close()

    def save(self, path: Path) -> None:
        """Writes a checkpoint from which the training goes on exactly."""
        numbers = {
            "updates": self.updates_made,
            "transitions": self.transitions,
            "compliance": self.compliance,
            "compliance_true": self.compliance_true,
            "is_fresh": self._is_fresh,
            "best_score": list(self.best_score),
            "best": self.best_result.as_json(),
        }
        description = {"job": self.job.identity(), "numbers": numbers}
        save_arrays(path, CHECKPOINT_KIND, self._arrays(), description)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the arrays of a checkpoint."""
        groups: dict[str, dict[str, NDArray[Any]]] = {
            "network": self.learner.network.weights(),
            "best": self.best,
            "adam": self.learner.state(),
            "keeper": self.keeper.state(),
            "player": self.player.state(),
        }
        for i, (rollout, reward) in enumerate(self._earlier):
            groups[f"earlier.{i}"] = rollout.arrays() | {"reward": reward}
        return {
            "last": self.last,
            "episodes_played": self.episodes_played,
            "alignment_weights": self.weight.values,
            **{f"{name}.{k}": v for name, group in groups.items() for k, v in group.items()},
        }

    @classmethod
    def load(cls, path: Path, job: TrainJob) -> Self:
        """Returns the training as it was when the checkpoint was written.

        Raises:
            InvalidInputError: the checkpoint is damaged or belongs to another training.
        """
        arrays, description = load_arrays(path, CHECKPOINT_KIND)
        if description.get("job") != job.identity():
            raise InvalidInputError(f"{path} belongs to a training with another configuration")
        training = cls(job)
        for name, array in training._arrays().items():
            kept = arrays.get(name)
            if kept is None or (kept.shape, kept.dtype) != (array.shape, array.dtype):
                training.close()
                raise InvalidInputError(f"{path} is damaged: {name} is not of this training")
        try:
            training._take_up(arrays, description["numbers"])
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
            training.close()
            raise InvalidInputError(f"{path} is not a checkpoint of this version") from error
        return training

    def _take_up(self, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> None:
        """Restores the state that a checkpoint holds."""

        def group(name: str) -> dict[str, NDArray[Any]]:
            prefix = f"{name}."
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        self.learner.network.load_weights(group("network"))
        self.best = group("best")
        self.learner.load_state(group("adam"))
        self.player.load_state(group("player"))
        if self.player.world.is_exact:  # else new episodes have begun
            self.keeper = Scorekeeper.from_state(group("keeper"))
        for i in range(self.job.train.replay_rollouts):
            kept = group(f"earlier.{i}")
            if kept:
                reward = kept.pop("reward")
                self._earlier.append((Rollout(**dict[str, Any](kept)), reward))
        self.last = arrays["last"].copy()
        self.episodes_played = arrays["episodes_played"].copy()
        self.updates_made = numbers["updates"]
        self.transitions = numbers["transitions"]
        self.compliance = numbers["compliance"]
        self.compliance_true = numbers["compliance_true"]
        self._is_fresh = numbers["is_fresh"]
        met, reward_mean = numbers["best_score"]
        self.best_score = (float(met), float(reward_mean))
        self.best_result = Result.from_json(numbers["best"])
        self.weight.values = arrays["alignment_weights"].copy()


def _network(player: Player, job: TrainJob) -> ActorCritic:
    with torch.random.fork_rng():
        torch.manual_seed(job.seed)
        network = ActorCritic(
            player.width,
            player.action_space.size,
            job.train.hidden,
            orthogonal=job.ppo.orthogonal,
            activation=job.ppo.activation,
        )
    if job.base is not None:
        network.load_weights(job.base)
    return network


def removal_bonus(config: TrainConfig, progress: float) -> float:
    """Returns the reward of a Remove that ends a session, when so much of a training is done.

    Removing a new session pays only if it is done repeatedly, which exploration rarely finds.
    """
    return config.removal_bonus * max(0.0, 1.0 - progress / _BONUS_UNTIL)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _estimate(values: NDArray[Any]) -> Estimate:
    return Estimate.of_many(values) if len(values) else UNKNOWN
