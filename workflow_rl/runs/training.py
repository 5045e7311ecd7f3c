"""One training inside a run: resumes from its folder, writes its raw logs and its result there."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_rl.agents.policy import describe_policy, save_policy
from workflow_rl.config import stored
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import load_arrays
from workflow_rl.processes import one_thread
from workflow_rl.runs.logs import Row, update_row
from workflow_rl.runs.pool import Result
from workflow_rl.runs.store import TrainingFolder
from workflow_rl.train.job import TrainJob, TrainResult, Weights
from workflow_rl.train.loop import CHECKPOINT_KIND, Training, UpdateRecord, weights_of
from workflow_rl.train.usage import UsageMeter


@dataclass(frozen=True, eq=False)
class TrainTask:
    """A training to be done; its result depends on the job alone, not on where it is done."""

    name: str  # in the logs
    job: TrainJob
    folder: Path

    def stored(self) -> TrainResult | None:
        """Returns the result, if the folder already holds it.

        Raises:
            InvalidInputError: the folder holds the result of another job, or a damaged one.
        """
        folder = TrainingFolder(self.folder)
        return folder.load_result(self.job)[0] if folder.result.exists() else None

    def run(self) -> Generator[Row | Result]:
        """Trains to the end, from wherever an earlier attempt left it.

        After every update its rows are written, then the checkpoint: at most one update is lost
        when the process is killed, and rows that the checkpoint does not know of are dropped on the
        way in. At the end the folder holds the result.

        Yields:
            Every update's row, then the result.
        """
        folder, job = TrainingFolder(self.folder), self.job
        if (stored := self.stored()) is not None:
            yield Result(stored)
            return
        with one_thread():
            begun = folder.checkpoint.exists()
            training = Training.load(folder.checkpoint, job) if begun else Training(job)
            with closing(training):
                if begun:
                    _check_rows(folder, training.updates_made, int(training.episodes_played.sum()))
                _drop_rows_after(folder, training.updates_made)
                meter = UsageMeter()
                workflow = str(job.workflow or "all")
                for record, episodes in training.updates():
                    row = update_row(self.name, workflow, record, meter.look())
                    folder.episodes.append(record.update, episodes)
                    folder.updates.append(row)
                    if job.train.snapshot_every and record.update % job.train.snapshot_every == 0:
                        _keep_snapshot(folder, training, record)
                    training.save(folder.checkpoint)
                    yield row
                result = training.result()
                folder.save_result(job, result, training.best)
        folder.checkpoint.unlink(missing_ok=True)
        yield Result(result)


def _keep_snapshot(folder: TrainingFolder, training: Training, record: UpdateRecord) -> None:
    description = _description(
        training.job, env_reward=record.env_reward, compliance=record.compliance_observed
    )
    save_policy(
        folder.snapshot(record.update),
        weights_of(training.learner.network),
        description | {"update": record.update},
    )


def check_begun(folder: TrainingFolder) -> None:
    """Checks that the raw logs of a training under way hold what its checkpoint knows of.

    Raises:
        InvalidInputError: they do not, or the checkpoint is damaged.
    """
    if folder.checkpoint.exists() and not folder.result.exists():
        arrays, description = load_arrays(folder.checkpoint, CHECKPOINT_KIND)
        try:
            updates = int(description["numbers"]["updates"])
            episodes = int(arrays["episodes_played"].sum())
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{folder.checkpoint} is not a checkpoint of this version"
            ) from error
        _check_rows(folder, updates, episodes)


def _check_rows(folder: TrainingFolder, updates: int, episodes: int) -> None:
    """Checks that a row for each of so many updates is there, and for each of their episodes."""
    numbers = [row.get("update") for row in folder.updates.rows()]
    kept = folder.episodes.read()["update"].to_numpy()
    for path, held, expected in (
        (folder.updates.path, sum(str(u) in numbers for u in range(1, updates + 1)), updates),
        (folder.episodes.path, int((kept <= updates).sum()), episodes),
    ):
        if held != expected:
            raise InvalidInputError(
                f"{path} is damaged: it holds {held} of {expected} rows; {folder.remedy(path)}"
            )


def _drop_rows_after(folder: TrainingFolder, update: int) -> None:
    if folder.updates.path.exists():
        rows = folder.updates.rows()
        folder.updates.rewrite(row for row in rows if int(row["update"]) <= update)
    folder.episodes.keep_up_to(update)


def save_trained(path: Path, job: TrainJob, weights: Weights, result: TrainResult) -> None:
    """Writes a trained policy with its description."""
    save_policy(path, weights, describe_trained(job, result))


def describe_trained(job: TrainJob, result: TrainResult | None) -> dict[str, Any]:
    """Returns the description of the best policy that a training met, or of the one it begins."""
    if result is None:
        return _description(job)
    return _description(job, env_reward=result.best_env_reward, compliance=result.best_compliance)


def _description(job: TrainJob, **measured: float) -> dict[str, Any]:
    return describe_policy(
        order=job.workflow,
        conditioned=job.train.conditioned,
        units=stored(job.train)["units"],
        order_encoding=job.train.shown_order,
        follow=job.train.follow,
        rules=job.game.rules,
        red_agent=job.game.red_agent,
        observation=job.game.observation,
        forget=list(job.train.forget),
        action_space=job.train.action_space,
        episode_length=job.game.episode_length,
        hidden=list(job.train.hidden),
        activation=job.ppo.activation,
        seed=job.seed,
        compliance_view=job.train.compliance_view,
        compliance_threshold=job.train.compliance_threshold,
        mask_actions=job.ppo.mask_actions,
        **measured,
    )
