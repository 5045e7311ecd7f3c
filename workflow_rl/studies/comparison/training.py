"""One training of a comparison: its course, its speed, its memory."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

from workflow_rl.studies.comparison.curve import CurveRecorder, LearningCurve
from workflow_rl.train.loop import Training, TrainJob, one_thread
from workflow_rl.train.usage import UsageMeter, peak_rss_mb, reset_peak

_POINT: Final = 10  # episodes of a point of the curve, at least
_TELL_EVERY: Final = 0.5  # seconds between news


@dataclass(frozen=True)
class Measured:
    """What a training was like."""

    preset: str
    seed: int
    n_envs: int
    episode_length: int
    transitions_per_update: int
    updates: int
    gradient_steps: int
    transitions: int
    seconds: float  # processor time of the training's one thread: time on an idle core
    wall_seconds: float  # what it took beside everything else
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


def measure_training(preset: str, job: TrainJob, emit: Callable[[str], None]) -> Measured:
    """Trains and measures; meant for a process of its own, whose memory is the training's.

    Args:
        preset: its name.
        job: what to train.
        emit: told how it goes.
    """
    with one_thread():
        _warm_up(job)
        before = UsageMeter().look().rss_mb
        reset_peak()
        training = Training(job)
        recorder = CurveRecorder(_POINT)
        spent, steps, told = 0.0, 0, 0.0
        began = time.perf_counter()
        while training.stop_reason is None:
            start = time.process_time()
            record, episodes = training.update()
            spent += time.process_time() - start
            steps += record.stats.gradient_steps
            recorder.add(
                record.transitions,
                spent,
                episodes.env_reward,
                episodes.compliance(job.train.compliance_view),
            )
            if time.perf_counter() - told > _TELL_EVERY:
                told = time.perf_counter()
                emit(f"{record.transitions:,} transitions, reward {record.env_reward:.1f}")
        wall = time.perf_counter() - began
        peak = peak_rss_mb()
    return Measured(
        preset=preset,
        seed=job.seed,
        n_envs=job.train.n_envs,
        episode_length=job.game.episode_length,
        transitions_per_update=job.train.n_envs * training.steps,
        updates=training.updates,
        gradient_steps=steps,
        transitions=training.transitions,
        seconds=spent,
        wall_seconds=wall,
        peak_mb=peak,
        added_mb=max(peak - before, 0.0),
        curve=recorder.curve(),
    )


def task(preset: str, job: TrainJob) -> Callable[[Callable[[str], None]], Measured]:
    """Returns the measuring of a training as something that can be sent to a process."""
    return partial(measure_training, preset, job)


def _warm_up(job: TrainJob) -> None:
    """Loads all compiled code by a training of the same kind that is as small as can be."""
    small = replace(job.train, n_envs=2, update_steps=None, update_episodes=1, max_episodes=1)
    Training(replace(job, train=small)).update()
