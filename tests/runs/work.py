"""Small trainings as tasks, what they give here, and pools that do them without a process."""

import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.toy import csv_rows, tiny, without_costs
from workflow_rl.errors import TrainingFailedError
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import Result
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import (
    Attempt,
    Begun,
    Done,
    Failed,
    LostWorkerError,
    ParallelPool,
    Pool,
    Returned,
    Row,
    SerialPool,
    Task,
)
from workflow_rl.runs.training import TrainTask
from workflow_rl.train.job import TrainJob, TrainOutcome
from workflow_rl.train.loop import Training
from workflow_rl.workflow.orders import TYPES

SMALL = tiny()
LONG = 100_000  # updates that nobody waits for


def job(order: int, updates: int = 3, base: bool = False) -> TrainJob:
    """A training of a hundredth of a second per update, perhaps from the weights of another."""
    train = replace(SMALL.train, max_episodes=updates, min_updates=1, stop_at="budget")
    made = TrainJob(SMALL.game, SMALL.ppo, train, 7, order)
    if not base:
        return made
    return replace(made, base=Training(replace(made, seed=8)).learner.network.weights())


def task(folder: Path, order: int, updates: int = 3, base: bool = False) -> TrainTask:
    name = f"order_{order}"
    folder.mkdir(exist_ok=True)
    return TrainTask(name, job(order, updates, base), folder / name)


def outcome(
    order: int, value: float, *, compliance: float = 1.0, good: bool = True
) -> TrainOutcome:
    """What a training may have given."""

    def got(mean: float) -> Result:
        rate = Estimate(compliance, 0.01)
        return Result("bline", 12, Estimate.from_error(mean, 0.25), rate, rate)

    return TrainOutcome(
        order=order,
        workflow=TYPES.format(order),
        objective=got(value),
        best=got(value + 1),
        is_compliant=good,
        stopped="compliant",
        updates=3,
        transitions=360,
        episodes_per_env=3,
        alignment_weights=(30.0,),
    )


def results(pool: Pool, tasks: Sequence[Task]) -> dict[str, TrainOutcome]:
    """What trainings on a pool give, none of which is lost."""
    events = list(pool.events(tasks))
    assert not any(isinstance(event, Failed) for event in events)
    return {event.task.name: event.result for event in events if isinstance(event, Done)}


def expected(folder: Path, tasks: Sequence[TrainTask]) -> dict[str, TrainOutcome]:
    """What trainings give one by one in this process."""
    folder.mkdir(exist_ok=True)
    return results(SerialPool(), [replace(t, folder=folder / t.name) for t in tasks])


def assert_same_folder(ours: Path, theirs: Path) -> None:
    """Two folders hold the same finished training, but for what it cost."""
    assert {p.name for p in ours.iterdir()} == {p.name for p in theirs.iterdir()}
    for name in ("episodes.arrow", "result.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    rows, others = csv_rows(ours / "updates.csv"), csv_rows(theirs / "updates.csv")
    assert without_costs(rows) == without_costs(others)
    assert not TrainingFolder(ours).checkpoint.exists()


class SideBySide(ParallelPool):
    """Has several tasks at a time, but does them here, one by one.

    The one with the lowest rank ends first; without ranks, the one begun first.
    """

    def __init__(
        self, capacity: int, *, ranks: Sequence[int] = (), fails: Collection[int] = ()
    ) -> None:
        super().__init__(capacity)
        self.most = 0  # at a time
        self.begun: list[int] = []  # tasks, by number
        self._ranks = ranks
        self._fails = fails
        self._steps: dict[Attempt, Iterator[Row | Returned]] = {}

    def _begin(self, attempt: Attempt) -> None:
        self.begun.append(number_of(attempt.task))
        self._steps[attempt] = self._work(attempt.task)

    def _work(self, task: Task) -> Iterator[Row | Returned]:
        return task.run()

    def _ready(self, running: list[Attempt]) -> list[Attempt]:
        self.most = max(self.most, len(running))
        return [min(running, key=lambda a: self._rank(number_of(a.task)))]

    def _rank(self, number: int) -> int:
        return self._ranks[number] if self._ranks else number

    def _receive(self, attempt: Attempt) -> Begun | list[Row] | Returned:
        if number_of(attempt.task) in self._fails:
            raise TrainingFailedError("it rained")
        step = next(self._steps[attempt])
        return step if isinstance(step, Returned) else [step]

    def _stop(self, attempt: Attempt) -> str:
        raise AssertionError("nothing is timed")

    def _forget(self, attempt: Attempt) -> None:
        pass

    def close(self) -> None:
        self._steps.clear()


class Losing(SideBySide):
    """Loses every training once, with what it had written."""

    def _receive(self, attempt: Attempt) -> Begun | list[Row] | Returned:
        message = super()._receive(attempt)
        if isinstance(message, Returned) and not attempt.losses:
            raise LostWorkerError("rain")
        return message

    def _forget(self, attempt: Attempt) -> None:
        shutil.rmtree(attempt.task.folder)


def do_without_processes(patch: pytest.MonkeyPatch) -> None:
    """Does here what worker processes would do."""
    patch.setattr(
        "workflow_rl.runs.store.ProcessPool", lambda number, limit, fresh: SideBySide(number)
    )


def number_of(task: Task) -> int:
    """The number at the end of a task's name."""
    return int(task.name.rpartition("_")[2])
