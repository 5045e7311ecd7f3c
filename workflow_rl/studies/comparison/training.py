"""One training of a comparison: its course, its speed, its memory."""

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from workflow_rl.processes import one_thread
from workflow_rl.runs.logs import Row
from workflow_rl.runs.pool import Result
from workflow_rl.studies.comparison.curve import CurveRecorder, LearningCurve
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training
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


@dataclass(frozen=True)
class MeasureTask:
    """A training to be measured in a process of its own, whose memory is the training's."""

    preset: str
    job: TrainJob
    folder: None = None  # it keeps no files

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.preset}, seed {self.job.seed}"

    def stored(self) -> None:
        """Returns nothing: whoever runs a comparison keeps what it gave."""

    def run(self) -> Generator[Row | Result]:
        """Trains and measures; yields now and then how it goes, and last what was measured."""
        job = self.job
        with one_thread():
            _warm_up(job)
            before = UsageMeter().look().rss_mb
            reset_peak()
            training = Training(job)
            recorder = CurveRecorder(_POINT)
            spent, steps, told = 0.0, 0, 0.0
            began, start = time.perf_counter(), time.process_time()
            for record, episodes in training.updates():
                spent += time.process_time() - start
                steps += record.stats.gradient_steps
                compliance = episodes.compliance(job.train.compliance_view)
                recorder.add(record.transitions, spent, episodes.env_reward, compliance)
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
            curve=recorder.curve(),
        )
        yield Result(measured)


def _warm_up(job: TrainJob) -> None:
    """Loads all compiled code by a training of the same kind that is as small as can be."""
    small = replace(job.train, n_envs=2, update_steps=None, update_episodes=1, max_episodes=1)
    Training(replace(job, train=small)).update()
