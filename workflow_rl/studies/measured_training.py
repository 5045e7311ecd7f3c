"""One training of a comparison: learning curve, speed, memory."""

import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from workflow_rl.config import ComparisonConfig, PresetName
from workflow_rl.estimates import Floats
from workflow_rl.processes import UsageMeter, one_thread, peak_rss_mb, reset_peak
from workflow_rl.runs.pool import Returned, Row
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training

_POINT: Final = 10  # episodes of a point of the curve, at least
_TELL_EVERY: Final = 0.5  # seconds between progress events
_COLUMNS: Final = ("transitions", "seconds", "episodes", "reward", "compliance")
_UNKNOWN: Final = (float("nan"), float("nan"))


@dataclass(frozen=True)
class LearningCurve:
    """Points along a training, each the mean of the episodes ended since the one before; (n,)."""

    transitions: Floats  # up to here
    seconds: Floats  # up to here
    episodes: Floats  # in this point
    reward: Floats
    compliance: Floats

    @classmethod
    def of_updates(cls, updates: Iterable[tuple[float, ...]], size: int = _POINT) -> Self:
        """Gathers episodes into points of at least `size` of them; a remainder is left out.

        Args:
            updates: of each the transitions and seconds up to its end, the number of episodes that
                ended in it, and the sums of their rewards and compliance.
            size: episodes of a point, at least.
        """
        points, sums = [], np.zeros(3)
        for transitions, seconds, *ended in updates:
            sums += ended
            if sums[0] >= size:
                points.append((transitions, seconds, sums[0], *(sums[1:] / sums[0])))
                sums[:] = 0
        return cls(*np.array(points, np.float64).reshape(-1, len(_COLUMNS)).T.copy())

    @property
    def total(self) -> int:
        """Episodes of all points together."""
        return int(self.episodes.sum())

    def recent(self, window: int) -> tuple[Floats, Floats]:
        """Returns reward and compliance over the last `window` episodes, or a few more.

        NaN before that many episodes have ended.
        """
        total = np.concatenate([[0.0], np.cumsum(self.episodes)])
        # The last point from which on at least `window` episodes have ended.
        start = np.searchsorted(total, total[1:] - window + 1e-9, side="right") - 1
        reached = total[1:] >= window
        number = total[1:] - total[np.maximum(start, 0)]
        means = []
        for values in (self.reward, self.compliance):
            sums = np.concatenate([[0.0], np.cumsum(values * self.episodes)])
            mean = (sums[1:] - sums[np.maximum(start, 0)]) / np.maximum(number, 1)
            means.append(np.where(reached, mean, np.nan))
        return means[0], means[1]

    def at(self, axis: str, value: float, window: int) -> tuple[float, float]:
        """Returns recent reward and compliance after a number of "transitions" or "seconds".

        NaN before `window` episodes have ended.
        """
        passed = int(np.searchsorted(getattr(self, axis), value * (1 + 1e-9), side="right"))
        if not passed:
            return _UNKNOWN
        reward, compliance = self.recent(window)
        return float(reward[passed - 1]), float(compliance[passed - 1])

    def first_reach(self, threshold: float, window: int) -> tuple[float, float]:
        """Returns transitions and seconds until the recent reward reached a threshold, or NaN."""
        reached = np.flatnonzero(self.recent(window)[0] >= threshold)
        if not len(reached):
            return _UNKNOWN
        return float(self.transitions[reached[0]]), float(self.seconds[reached[0]])

    def blocks(self, size: int) -> Floats:
        """Returns the mean rewards of consecutive blocks of about `size` episodes."""
        number = (np.cumsum(self.episodes) - self.episodes / 2) // size
        return np.array(
            [
                np.average(self.reward[number == block], weights=self.episodes[number == block])
                for block in np.unique(number)
            ]
        )

    def unrest(self, size: int, number: int) -> float:
        """Returns how much reward swings late in training: the spread of its last blocks.

        It is the standard deviation of the differences of neighbouring blocks, over the root of 2,
        so that a steady rise does not count. Of `number` blocks, of `size` episodes each.
        """
        last = self.blocks(size)[-number:]
        if len(last) < 2:
            return float("nan")
        return float(np.sqrt(np.mean(np.diff(last) ** 2) / 2))

    def as_json(self) -> dict[str, list[float]]:
        """Returns the points as plain data."""
        return {name: getattr(self, name).tolist() for name in _COLUMNS}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the curve that `as_json` gave."""
        return cls(**{name: np.array(data[name], np.float64) for name in _COLUMNS})


@dataclass(frozen=True)
class Measured:
    """What was measured of a training."""

    preset: str
    seed: int
    n_envs: int
    episode_length: int
    transitions_per_update: int
    updates: int
    gradient_steps: int
    transitions: int
    seconds: float  # processor time of the training's one thread: time on an idle core
    wall_seconds: float  # elapsed time, on a machine that may be busy
    peak_mb: float  # the most memory the process held
    added_mb: float  # that, minus what it held with everything loaded and nothing trained
    curve: LearningCurve

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return vars(self) | {"curve": self.curve.as_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Returns what `as_json` gave."""
        return cls(**(data | {"curve": LearningCurve.from_json(data["curve"])}))


@dataclass(frozen=True)
class MeasureTask:
    """A training measured in a separate process, so that the memory is that of the training."""

    preset: str
    job: TrainJob
    folder: None = None  # it keeps no files

    @property
    def name(self) -> str:
        """The name of the training."""
        return f"{self.preset}, seed {self.job.seed}"

    def stored(self) -> None:
        """Returns nothing: the comparison keeps the result."""

    def run(self) -> Generator[Row | Returned]:
        """Trains and measures; yields progress, and last the result."""
        job = self.job
        with one_thread():
            _warm_up(job)
            before = UsageMeter().look()["rss_mb"]
            reset_peak()
            training = Training(job)
            updates: list[tuple[float, ...]] = []
            spent, steps, told = 0.0, 0, 0.0
            began, start = time.perf_counter(), time.process_time()
            for record, episodes in training.updates():
                spent += time.process_time() - start
                steps += record.stats.gradient_steps
                rewards = episodes.env_reward
                rates = episodes.compliance(job.train.compliance_view)
                sums = float(rewards.sum()), float(rates.sum())
                updates.append((record.transitions, spent, len(rewards), *sums))
                if time.perf_counter() - told > _TELL_EVERY:
                    told = time.perf_counter()
                    yield {"transitions": record.transitions, "env_reward": record.env_reward}
                start = time.process_time()
            wall = time.perf_counter() - began
            peak = peak_rss_mb()
        measured = Measured(
            preset=self.preset,
            seed=job.seed,
            n_envs=job.train.n_envs,
            episode_length=job.game.episode_length,
            transitions_per_update=job.train.n_envs * training.steps,
            updates=training.updates_made,
            gradient_steps=steps,
            transitions=training.transitions,
            seconds=spent,
            wall_seconds=wall,
            peak_mb=peak,
            added_mb=max(peak - before, 0.0),
            curve=LearningCurve.of_updates(updates),
        )
        yield Returned(measured)


def _warm_up(job: TrainJob) -> None:
    """Loads all compiled code by a minimal training of the same kind."""
    small = replace(job.train, n_envs=2, update_steps=None, update_episodes=1, max_episodes=1)
    Training(replace(job, train=small)).update()


def job_of(plan: ComparisonConfig, preset: PresetName, seed: int) -> TrainJob:
    """Returns the training of a preset for a seed.

    Raises:
        InvalidInputError: so few transitions are not one update.
    """
    config = plan.experiment(preset, seed)
    return TrainJob(config.game, config.ppo, config.train, config.seed, plan.order)
