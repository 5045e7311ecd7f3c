"""Whole trainings as units of work: what is handed over, what comes back, how often it is tried."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from workflow_rl.ordersearch.loop import Failed, Trial
from workflow_rl.runs.logs import Row
from workflow_rl.runs.training import run_training
from workflow_rl.train.loop import TrainJob, TrainResult

MOST_LOSSES: Final = 3  # of a training's workers, after which it counts as failed
MOST_LATE: Final = 2  # attempts beyond the time limit, after which it counts as failed


@dataclass(frozen=True, eq=False)
class Task:
    """A training to be done; its result depends on the job alone, not on who does it."""

    name: str
    job: TrainJob
    folder: Path


class News(Protocol):
    """Who is told how the trainings go, while their results are waited for."""

    def rows(self, *rows: Row) -> None:
        """Updates of one training were made."""
        ...

    def again(self, task: Task, reason: str) -> None:
        """A training was lost before its end and is done once more."""
        ...


class Workers(Protocol):
    """Does trainings, perhaps several side by side, perhaps elsewhere."""

    @property
    def capacity(self) -> int:
        """Trainings under way at the same time."""
        ...

    def begin(self, task: Task) -> None:
        """Begins a training, or goes on with it from what its folder holds."""
        ...

    def wait(self, among: Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
        """Waits until one of these trainings is over; its folder is complete then."""
        ...

    def close(self) -> None:
        """Ends what is under way; what is finished is kept."""
        ...


class SerialWorkers:
    """Does each training here when its result is waited for."""

    capacity = 1

    def begin(self, task: Task) -> None:
        """Does nothing yet."""

    def wait(self, among: Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
        """Does the first of the trainings."""
        task = among[0]
        return task, run_training(task.name, task.job, task.folder, news.rows)

    def close(self) -> None:
        """Does nothing."""


class Attempts:
    """How often one training was begun in vain, and whether it is worth another attempt."""

    def __init__(self, task: Task) -> None:
        """Begins with none."""
        self.task = task
        self._losses = 0
        self._late = 0

    def after_loss(self, reason: str) -> Failed | None:
        """Notes that the worker was lost; returns the failure if that was once too often."""
        self._losses += 1
        if self._losses < MOST_LOSSES:
            return None
        return Failed(f"lost {self._losses} times, at last because {reason}")

    def after_limit(self, limit: float) -> Failed | None:
        """Notes that the time limit was passed; returns the failure if once too often."""
        self._late += 1
        if self._late < MOST_LATE:
            return None
        return Failed(f"not over after {limit:g} s, in each of {self._late} attempts")


class TrialExecutor:
    """Values the trials of a search by trainings."""

    def __init__(self, workers: Workers, task_of: Callable[[Trial], Task], news: News) -> None:
        """Notes who works.

        Args:
            workers: do the trainings.
            task_of: makes the training of a trial.
            news: told how the trainings go.
        """
        self._workers = workers
        self._task_of = task_of
        self._news = news
        self._tasks: dict[Trial, Task] = {}

    @property
    def capacity(self) -> int:
        """Trials under way at the same time."""
        return self._workers.capacity

    def submit(self, trial: Trial) -> None:
        """Begins a trial."""
        self._tasks[trial] = self._task_of(trial)
        self._workers.begin(self._tasks[trial])

    def wait(self, among: Sequence[Trial]) -> tuple[Trial, TrainResult | Failed]:
        """Waits until one of these trials is over."""
        ended, result = self._workers.wait([self._tasks[trial] for trial in among], self._news)
        trial = next(trial for trial in among if self._tasks[trial] is ended)
        del self._tasks[trial]
        return trial, result


def train_all(
    workers: Workers, tasks: Iterable[Task], news: News
) -> Iterator[tuple[Task, TrainResult | Failed]]:
    """Does trainings that do not depend on each other; yields each when it is over.

    Args:
        workers: do the trainings, as many at a time as they have room for.
        tasks: what to train, taken when there is room.
        news: told how the trainings go.
    """
    waiting = iter(tasks)
    under_way: list[Task] = []
    while True:
        for task in islice(waiting, workers.capacity - len(under_way)):
            workers.begin(task)
            under_way.append(task)
        if not under_way:
            return
        task, result = workers.wait(under_way, news)
        under_way.remove(task)
        yield task, result
