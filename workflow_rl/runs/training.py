"""One training inside a run: resumes from its folder, writes its raw logs and its result there."""

import shutil
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.policy import describe_policy, save_policy
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import load_arrays, save_arrays, write_atomically
from workflow_rl.runs.logs import CsvLog, EpisodeLog, Row, update_row
from workflow_rl.train.loop import (
    Training,
    TrainJob,
    TrainResult,
    UpdateRecord,
    Weights,
    one_thread,
    weights_of,
)
from workflow_rl.train.usage import UsageMeter

_RESULT_KIND: Final = "training result"
Emit = Callable[[Row], None]


@dataclass(frozen=True)
class TrainingFolder:
    """Where a training keeps what it needs to go on, and what it found."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        """The state after the last update."""
        return self.path / "checkpoint.safetensors"

    @property
    def result(self) -> Path:
        """What was found, once it is over."""
        return self.path / "result.safetensors"

    def snapshot(self, update: int) -> Path:
        """The policy after an update, where it is kept."""
        return self.path / "snapshots" / f"update_{update:06d}.safetensors"

    @property
    def updates(self) -> CsvLog:
        """A row per update."""
        return CsvLog(self.path / "updates.csv")

    @property
    def episodes(self) -> EpisodeLog:
        """A record per episode."""
        return EpisodeLog(self.path / "episodes.bin")

    def clear(self) -> None:
        """Drops what an attempt left that nobody can go on with."""
        self.checkpoint.unlink(missing_ok=True)  # first: without the rest it must not be taken up
        if self.path.exists():
            shutil.rmtree(self.path)

    def files(self) -> dict[str, bytes]:
        """Returns everything that a finished training has left here, by name."""
        found = sorted(path for path in self.path.rglob("*") if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in found}

    def complete(self, files: dict[str, bytes]) -> None:
        """Puts here what a training done elsewhere has left; the result, which ends it, last."""
        for name in sorted(files, key=lambda name: name == self.result.name):
            write_atomically(self.path / name, files[name])


def run_training(
    name: str, job: TrainJob, path: Path, emit: Emit = lambda row: None
) -> TrainResult:
    """Runs a training to its end, from wherever an earlier attempt left it.

    Args:
        name: of the training, in the logs.
        job: what to train.
        path: its folder.
        emit: told every update's row.
    """
    with closing(training_steps(name, job, path)) as steps:
        for row in steps:
            emit(row)
    return load_result(TrainingFolder(path).result, job)


def training_steps(name: str, job: TrainJob, path: Path) -> Generator[Row]:
    """Runs a training update by update, from wherever an earlier attempt left it.

    After every update its rows are written, then the checkpoint: at most one update is lost when
    the process is killed, and rows that the checkpoint does not know of are dropped on the way in.

    Args:
        name: of the training, in the logs.
        job: what to train.
        path: its folder, which holds the result after the last update.

    Yields:
        Every update's row.
    """
    folder = TrainingFolder(path)
    if folder.result.exists():
        return
    with one_thread():
        if folder.checkpoint.exists():
            training, _ = Training.load(folder.checkpoint, job)
        else:
            training = Training(job)
        with closing(training):
            _drop_rows_after(folder, training.updates)
            meter = UsageMeter()
            while training.stop_reason is None:
                record, episodes = training.update()
                row = update_row(name, job.order, record, meter.look())
                folder.episodes.append(record.update, episodes)
                folder.updates.append(row)
                if job.train.snapshot_every and record.update % job.train.snapshot_every == 0:
                    _keep_snapshot(folder, training, record)
                training.save(folder.checkpoint, {})
                yield row
            result = training.result()
    save_result(folder.result, result, job)
    folder.checkpoint.unlink(missing_ok=True)


def _keep_snapshot(folder: TrainingFolder, training: Training, record: UpdateRecord) -> None:
    description = _description(
        training.job, env_reward=record.env_reward, compliance=record.compliance_observed
    )
    save_policy(
        folder.snapshot(record.update),
        weights_of(training.learner.network),
        description | {"update": record.update},
    )


def _drop_rows_after(folder: TrainingFolder, update: int) -> None:
    if folder.updates.path.exists():
        rows = folder.updates.rows()
        folder.updates.rewrite(row for row in rows if int(row["update"]) <= update)
    folder.episodes.keep_up_to(update)


def save_result(path: Path, result: TrainResult, job: TrainJob) -> None:
    """Writes a training's result, and what it is the result of."""
    arrays = {f"best.{k}": v for k, v in result.best.items()}
    arrays |= {f"final.{k}": v for k, v in result.final.items()}
    description = {"job": job.identity(), "numbers": result_numbers(result)}
    save_arrays(path, _RESULT_KIND, dict(arrays), description)


def load_result(path: Path, job: TrainJob | None = None) -> TrainResult:
    """Reads a training's result.

    Raises:
        InvalidInputError: it is missing or damaged, or not the result of the given job.
    """
    arrays, description = load_arrays(path, _RESULT_KIND)
    if job is not None and description.get("job") != job.identity():
        raise InvalidInputError(f"{path} belongs to a training with another configuration")

    def group(prefix: str) -> Weights:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    try:
        return TrainResult(**description["numbers"], best=group("best."), final=group("final."))
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"{path} is not a result of this version") from error


def result_numbers(result: TrainResult) -> dict[str, Any]:
    """Returns a result without its weights, as plain data."""
    names = [f.name for f in fields(result) if f.name not in ("best", "final")]
    return {name: getattr(result, name) for name in names}


def save_trained(path: Path, job: TrainJob, weights: Weights, result: TrainResult) -> None:
    """Writes a trained policy with its description."""
    save_policy(path, weights, describe_trained(job, result))


def describe_trained(job: TrainJob, result: TrainResult) -> dict[str, Any]:
    """Returns the description of the best policy that a training met."""
    return _description(job, env_reward=result.best_env_reward, compliance=result.best_compliance)


def _description(job: TrainJob, **measured: float) -> dict[str, Any]:
    return describe_policy(
        order=job.order,
        conditioned=job.train.conditioned,
        rules=job.game.rules,
        red_agent=job.game.red_agent,
        observation=job.game.observation,
        action_space=job.train.action_space,
        episode_length=job.game.episode_length,
        hidden=list(job.train.hidden),
        seed=job.seed,
        compliance_view=job.train.compliance_view,
        compliance_threshold=job.train.compliance_threshold,
        mask_actions=job.ppo.mask_actions,
        **measured,
    )
