"""One training by itself: in a directory of its own, or in memory."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.config.checks import instance
from workflow_rl.config.units import ANY
from workflow_rl.errors import TrainingFailedError
from workflow_rl.evaluation.selection import Candidate, Ranking, select, snapshots_of
from workflow_rl.files import write_json
from workflow_rl.processes import one_thread
from workflow_rl.runs.jobs import job_of
from workflow_rl.runs.pool import Done, Event, Failed, Rows, SerialPool
from workflow_rl.runs.store import RECOMMENDED, SUMMARY_FILE, RunDirectory
from workflow_rl.runs.tables import RunTables
from workflow_rl.runs.training import TrainTask, describe_trained, save_trained
from workflow_rl.train.job import TrainResult
from workflow_rl.train.loop import Training
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import orders_of
from workflow_rl.workflow.units import TYPE_UNITS, units_of

TRAINING = "training"  # its name in the directory


def workflow_named(config: ExperimentConfig, order: int | None) -> str:
    """Returns what is trained, in words."""
    if not config.train.conditioned:
        return "no workflow"
    if order is not None:
        return orders_of(config.train).format(order)
    units = config.train.units
    if units == TYPE_UNITS.kind:
        return "all orders"
    if units == ANY:
        return "all orders of any units"
    return f"all orders of {units if isinstance(units, str) else ', '.join(units_of(units).names)}"


def order_to_train(config: ExperimentConfig, workflow: str | Sequence[str] | None) -> int | None:
    """Returns the order that a training is to follow; None: all of them.

    A workflow that is required from first to last need not be named.

    Raises:
        InvalidInputError: it is none, or the units or what is required of them are not.
    """
    if workflow is None:
        orders = episode_orders_of(config.train)
        return int(orders.nth(np.zeros(1, np.int64))[0]) if orders.count == 1 else None
    return orders_of(config.train).index(workflow)


def train_events(
    directory: RunDirectory, order: int | None
) -> Iterator[Event | Candidate | Ranking]:
    """Trains one workflow, or all orders at once, in a directory; yields what happens.

    Where policies were kept on the way, the best of them, by games of their own, is handed over.
    """
    config = directory.config
    job = job_of(config, order)
    task = TrainTask(TRAINING, job, directory.training(TRAINING).path)
    with closing(RunTables(directory)) as tables, closing(SerialPool().events([task])) as events:
        for event in events:
            if isinstance(event, Rows):
                tables.add(event.rows)
            elif isinstance(event, Done):
                _, best = directory.training(TRAINING).load_result()
                save_trained(directory.policy(RECOMMENDED), job, best, event.result)
                if 0 < config.train.snapshot_every <= event.result.updates:
                    yield from _select(directory)
                tables.rebuild([TRAINING])
                summary = {"rules": config.game.rules} | asdict(event.result)
                write_json(directory.path / SUMMARY_FILE, summary)
            yield event
            if isinstance(event, Failed):
                raise TrainingFailedError(event.reason)


def _select(directory: RunDirectory) -> Iterator[Event | Candidate | Ranking]:
    """Hands over the best of the kept policies instead, by games that nothing else is told by."""
    game = directory.config.game
    kept = [directory.policy(RECOMMENDED), *snapshots_of(directory.path)]
    for event in select(kept, steps=game.episode_length, rules=game.rules):
        if isinstance(event, Ranking):
            load_policy(event.candidates[0].path).save(directory.policy(RECOMMENDED))
        yield event


def train_workflow(
    workflow: str | Sequence[str] | None, config: ExperimentConfig | None = None
) -> tuple[Policy, TrainResult]:
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
    config = instance("config", config or ExperimentConfig(), ExperimentConfig)
    job = job_of(config, order_to_train(config, workflow))
    with one_thread(), closing(Training(job)) as training:
        for _ in training.updates():
            pass
        result = training.result()
    return Policy(training.best, describe_trained(job, result)), result
