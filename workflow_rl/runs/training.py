"""The trainings of a run as tasks of a pool, and the job of each training of a search."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.shipped import UNIVERSAL
from workflow_rl.config import (
    AGAINST_ALL,
    FROM_UNIVERSAL,
    MIXED,
    PPO_FORMS,
    ExperimentConfig,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import load_arrays
from workflow_rl.processes import UsageMeter, one_thread
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Returned, Row
from workflow_rl.runs.store import BASE, POLISH, RunDirectory
from workflow_rl.runs.trials import Trial
from workflow_rl.train.job import TrainJob, TrainOutcome
from workflow_rl.train.loop import CHECKPOINT_KIND, Training
from workflow_rl.train.valuation import valued

_BASE_SEED: Final = 1  # the purpose of a training, of which its seed is made
_TRIAL_SEED: Final = 2
_POLISH_SEED: Final = 3


@dataclass(frozen=True, eq=False)
class TrainTask:
    """A training as a task; its result depends on the job alone, not on where it is done."""

    name: str  # in the logs
    job: TrainJob
    folder: Path

    def stored(self) -> TrainOutcome | None:
        """Returns the result, if the folder already holds it.

        Raises:
            InvalidInputError: the folder holds the result of another job, or a damaged one.
        """
        folder = TrainingFolder(self.folder)
        return folder.load_result(self.job)[0] if folder.result.exists() else None

    def run(self) -> Generator[Row | Returned]:
        """Trains to the end, from an earlier attempt's checkpoint if any; yields a row per update.

        After every update its rows are written, then the checkpoint: at most one update is lost
        when the process is killed, and rows that the checkpoint does not know of are dropped on the
        way in. At the end the folder holds the result.
        """
        folder, job = TrainingFolder(self.folder), self.job
        if (stored := self.stored()) is not None:
            yield Returned(stored)
            return
        with one_thread():
            begun = folder.checkpoint.exists()
            training = Training.load(folder.checkpoint, job) if begun else Training(job)
            with closing(training):
                if begun:
                    folder.check_rows(training.updates_made, int(training.episodes_played.sum()))
                folder.drop_rows_after(training.updates_made)
                meter, every = UsageMeter(), job.train.snapshot_every
                workflow = str(job.workflow or "all")
                for record, episodes in training.updates():
                    row = {"training": self.name, "workflow": workflow} | asdict(record)
                    row |= row.pop("stats") | meter.look()
                    folder.episodes.append(record.update, episodes)
                    folder.updates.append(row)
                    if every and record.update % every == 0:
                        weights = training.learner.network.weights()
                        path = folder.snapshot(record.update)
                        job.save_policy(path, weights, update=record.update)
                    training.save(folder.checkpoint)
                    yield row
                result = valued(training.outcome(), job, training.best)
                folder.save_result(job, result, training.best)
        folder.checkpoint.unlink(missing_ok=True)
        yield Returned(result)


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
        folder.check_rows(updates, episodes)


# --- the trainings of a search: the seed, the budget and the start of each


def job_of(
    config: ExperimentConfig,
    order: int | None,
    *,
    train: TrainConfig | None = None,
    seed: int | None = None,
) -> TrainJob:
    """Returns the training of one order that a configuration asks for; None: of all at once."""
    seed = config.seed if seed is None else seed
    return TrainJob(
        config.game, config.ppo, train or config.train, seed, order, backend=config.backend
    )


def base_task(directory: RunDirectory) -> TrainTask:
    """Returns the training of the base policy, on all orders at once.

    Where it is what is handed over in the end, it is trained against all attackers.
    """
    config = directory.config
    train = _for_updates(config, config.search.base_updates)
    job = job_of(config, None, train=train, seed=seed_of(config, _BASE_SEED))
    if config.handed_over == "common":
        job = _against_all(job)
    return TrainTask(BASE, job, directory.training(BASE).path)


def trial_task(directory: RunDirectory, trial: Trial) -> TrainTask:
    """Returns the training of a trial, from the policy that it was decided to start from."""
    config = directory.config
    seed = seed_of(config, _TRIAL_SEED, trial.order, trial.repeat)
    job = job_of(config, trial.order, seed=seed)
    if trial.start is not None:
        job = _starting_from(directory, trial.start, job)
    return TrainTask(trial.name, job, directory.training(trial.name).path)


def polish_task(directory: RunDirectory, order: int, trial: Trial | None) -> TrainTask:
    """Returns the further training for an order: of its trial's policy, or of one for any."""
    config = directory.config
    train = _for_updates(config, config.polish_updates)
    seed = seed_of(config, _POLISH_SEED, order)
    job = job_of(config, order, train=train, seed=seed)
    if config.polish == "documented":
        assert trial is not None
        job = _starting_from(directory, trial.name, job)
    elif config.polish == "common":
        job = _tuning_base(directory, job)
    else:
        job = _tuning_universal(job)
    return TrainTask(POLISH, job, directory.training(POLISH).path)


def _tuning_universal(job: TrainJob) -> TrainJob:
    """Returns the training of a job's order from the policy `universal`, against all attackers.

    Where orders are valued by attackers, these are the attackers. Its last policy is kept: the
    learning rate is annealed to 0.
    """
    game = dict(FROM_UNIVERSAL.game)
    if job.train.objective == "episodes":
        game = {**AGAINST_ALL, **game}
    changes = dict(FROM_UNIVERSAL.train) | {
        "n_envs": job.train.n_envs,
        "min_updates": job.train.min_updates,
        "snapshot_every": job.train.max_updates(job.game.episode_length),
    }
    form = PPO_FORMS["modern"]
    return replace(
        job,
        game=replace(job.game, **game),
        ppo=replace(form, **{**FROM_UNIVERSAL.ppo, "epochs": form.epochs}),
        train=replace(job.train, **changes),
        base=load_policy(UNIVERSAL, rules=job.game.rules).weights,
    )


def _tuning_base(directory: RunDirectory, job: TrainJob) -> TrainJob:
    """Returns the training of a job's order from the base policy; as `_tuning_universal`."""
    _, weights = directory.training(BASE).load_result()
    kept = job.train.max_updates(job.game.episode_length)
    train = replace(job.train, min_updates=1, snapshot_every=kept)
    return replace(_against_all(job), train=train, base=weights)


def _against_all(job: TrainJob) -> TrainJob:
    """Returns a training against CybORG's attackers.

    Where orders are valued by attackers, these are the attackers.
    """
    if job.train.objective != "episodes":
        return job
    weights = AGAINST_ALL["red_probabilities"]
    return replace(job, game=job.game.changed(red_agent=MIXED, red_probabilities=weights))


def seed_of(config: ExperimentConfig, *purpose: int) -> int:
    """Returns the seed of one training, by the run's seed and the purpose of the training."""
    return int(np.random.SeedSequence([config.seed, *purpose]).generate_state(1, np.uint32)[0])


def _for_updates(config: ExperimentConfig, updates: int) -> TrainConfig:
    """Returns the settings of a training of so many updates, and of one episode at least."""
    length = config.game.episode_length
    steps = config.train.rollout_steps(length)
    updates = max(updates, -(-length // steps))
    episodes = -(-updates * steps // length)
    return replace(config.train, max_episodes=episodes, min_updates=1, stop_at="budget")


def _starting_from(directory: RunDirectory, name: str, job: TrainJob) -> TrainJob:
    """Returns the job with a warm start: a training's best policy and weight, or `universal`."""
    assert job.order is not None
    if name == UNIVERSAL:
        return replace(job, base=load_policy(UNIVERSAL, rules=job.game.rules).weights)
    start, weights = directory.training(name).load_result()
    train = job.train
    if train.alignment == "adaptive":
        train = replace(train, alignment_lambda=start.alignment_weight(job.order))
    return replace(job, train=train, base=weights)
