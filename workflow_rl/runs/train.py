"""One training by itself: in a directory of its own, or in memory."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.config.checks import instance_or_default
from workflow_rl.config.units import ANY
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import Candidate, Games, Ranking, select, snapshots_of
from workflow_rl.files import read_json, write_json
from workflow_rl.processes import one_thread
from workflow_rl.runs.pool import Done, Event, Failed, Pool, Rows
from workflow_rl.runs.store import (
    EPISODES_FILE,
    RECOMMENDED,
    SCORES_FILE,
    SUMMARY_FILE,
    TRAINING,
    TRAINING_LOG,
    RunDirectory,
    describe_run,
    open_run,
)
from workflow_rl.runs.tables import RunTables
from workflow_rl.runs.training import TrainTask, job_of
from workflow_rl.train.job import TrainOutcome
from workflow_rl.train.loop import Training
from workflow_rl.train.red_world import defender_of
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import orders_of
from workflow_rl.workflow.units import TYPE_UNITS, units_of

PURPOSE: Final = "train"


def workflow_named(config: ExperimentConfig, order: int | None) -> str:
    """Returns what is trained, in words."""
    if config.train.side == "red":
        return f"Red against {config.train.against}"
    if not config.train.conditioned:
        return "no workflow"
    if order is not None:
        return orders_of(config.train, config.game.network).format(order)
    units = config.train.units
    if units == TYPE_UNITS.kind:
        return "all orders"
    if units == ANY:
        return "all orders of any units"
    named = units
    if not isinstance(units, str):
        named = ", ".join(units_of(units, config.game.network).names)
    return f"all orders of {named}"


def order_to_train(config: ExperimentConfig, workflow: str | Sequence[str] | None) -> int | None:
    """Returns the order that a training is to follow; None: all of them.

    A workflow that is required from first to last need not be named.

    Raises:
        InvalidInputError: it is none, or the units or what is required of them are not.
    """
    if workflow is None:
        orders = episode_orders_of(config.train, config.game.network)
        return int(orders.nth(np.zeros(1, np.int64))[0]) if orders.count == 1 else None
    return orders_of(config.train, config.game.network).index(workflow)


class TrainingRun:
    """One training in its directory; its `events` train, or go on with it."""

    def __init__(self, directory: RunDirectory, pool: Pool) -> None:
        """Reads which order is trained; raises InvalidInputError if the directory does not say."""
        self.directory = directory
        self.order = stored_order(directory.path, directory.config)
        self.outcome: TrainOutcome | None = None  # after the last event
        self.selected: Candidate | None = None  # the best of the snapshots
        self._pool = pool
        self._sealed = directory.check_sealed()

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self._sealed

    def events(self) -> Iterator[Event | Candidate | Games | Ranking]:
        """Trains one workflow, or all orders at once; yields each event after it is recorded.

        Where snapshots were kept, the best of them on validation games is handed over. A finished
        training is left as it is.

        Raises:
            TrainingFailedError: its losses or weights stopped being finite.
        """
        directory = self.directory
        job, folder = job_of(directory.config, self.order), directory.training(TRAINING)
        task = TrainTask(TRAINING, job, folder.path)
        if self.is_finished:
            self.outcome, self.selected = task.stored(), self._stored_selected()
            return
        directory.unseal()
        tables = RunTables(directory)
        with closing(self._pool.events([task])) as events:
            tables.rebuild([TRAINING])
            for event in events:
                if isinstance(event, Rows):
                    tables.add(event.rows)
                elif isinstance(event, Done):
                    tables.rebuild([TRAINING])
                    yield from self._hand_over(task, event.result)
                yield event
                if isinstance(event, Failed):
                    raise TrainingFailedError(event.reason)

    def _hand_over(
        self, task: TrainTask, outcome: TrainOutcome
    ) -> Iterator[Candidate | Games | Ranking]:
        """Saves the best policy of the training, or its best snapshot, and writes the summary."""
        directory, config = self.directory, self.directory.config
        _, best = directory.training(TRAINING).load_result()
        recommended = directory.policy(RECOMMENDED)
        task.job.save_policy(recommended, best)
        self.outcome = outcome
        summary = {"rules": config.game.rules} | outcome.as_json()
        if 0 < config.train.snapshot_every <= outcome.updates:
            kept = [recommended, *snapshots_of(directory.path)]
            for event in select(kept):
                yield event
            assert isinstance(event, Ranking)  # the last one
            self.selected = event.candidates[0]
            load_policy(self.selected.path).save(recommended)
            path = self.selected.path.relative_to(directory.path).as_posix()
            summary["selected"] = self.selected.result.as_json() | {"path": path}
            write_json(directory.path / SCORES_FILE, summary["selected"])
        write_json(directory.path / SUMMARY_FILE, summary)
        directory.seal(TRAINING_LOG, EPISODES_FILE, SCORES_FILE, SUMMARY_FILE)
        self._sealed = True

    def _stored_selected(self) -> Candidate | None:
        path = self.directory.path / SCORES_FILE
        if not path.exists():
            return None
        found = read_json(path)
        try:
            return Candidate(self.directory.path / found["path"], Result.from_json(found))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{path} is not of this version") from error


def stored_order(path: Path, config: ExperimentConfig) -> int | None:
    """Returns the order that the training in a directory follows; None: all of them.

    Raises:
        InvalidInputError: the directory does not say so.
    """
    plan = describe_run(path).get("plan")
    if not isinstance(plan, dict) or "workflow" not in plan:
        raise InvalidInputError(f"{path} does not say which workflow it trains")
    return order_to_train(config, plan["workflow"])


@contextmanager
def open_training(
    config: ExperimentConfig | None = None,
    workflow: str | Sequence[str] | None = None,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
) -> Iterator[TrainingRun]:
    """Gives a training, new or resumed; loop over its `events`. For the arguments see `open_run`.

    A new one follows the given workflow; None trains all orders.

    Raises:
        InvalidInputError: the workflow is none, or the training cannot be opened.
    """
    plan: dict[str, Any] = {}
    if resume is None:
        config = instance_or_default("config", config, ExperimentConfig)
        order = order_to_train(config, workflow)
        if config.train.side == "red":
            defender_of(job_of(config, None))
        plan["workflow"] = (
            None if order is None else orders_of(config.train, config.game.network).format(order)
        )
    with open_run(
        config,
        purpose=PURPOSE,
        plan=plan,
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        parallel=1,
    ) as (directory, pool):
        yield TrainingRun(directory, pool)


def train_workflow(
    workflow: str | Sequence[str] | None, config: ExperimentConfig | None = None
) -> tuple[Policy, TrainOutcome]:
    """Trains the policy of one workflow; nothing is written.

    Args:
        workflow: the order to follow, as text or as names of units; None learns all orders.
        config: everything the training depends on, the units among it (`config.train.units`); its
            search part is not used.

    Returns:
        The best policy met, and how the training went.

    Raises:
        TrainingFailedError: its losses or weights stopped being finite.
    """
    config = instance_or_default("config", config, ExperimentConfig)
    job = job_of(config, order_to_train(config, workflow))
    with one_thread(), closing(Training(job)) as training:
        for _ in training.updates():
            pass
        outcome = training.outcome()
    return job.policy(training.best), outcome
