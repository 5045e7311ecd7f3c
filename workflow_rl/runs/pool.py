"""Tasks and what does them: one iterator of events, whether here or in parallel elsewhere."""

import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from workflow_rl.errors import TrainingFailedError
from workflow_rl.runs.logs import Row

MAX_LOSSES: Final = 3  # workers lost, after which a task has failed
MAX_TIMEOUTS: Final = 2  # attempts beyond the time limit, after which a task has failed


class Task(Protocol):
    """Work for a pool, picklable; its result depends on the task alone, not on where it runs."""

    @property
    def name(self) -> str:
        """What it is called in logs and messages."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where it keeps its files, of which Ray sends back copies; None: it has none."""
        ...

    def stored(self) -> Any:
        """Returns the result of an earlier run of it, or None."""
        ...

    def run(self) -> "Generator[Row | Returned]":
        """Does the work: yields rows that tell how it goes, and last the result."""
        ...


@dataclass(frozen=True)
class Returned:
    """What a task gives: the last thing that its work yields."""

    value: Any


@dataclass(frozen=True)
class Started:
    """A task was handed to a worker."""

    task: Any


@dataclass(frozen=True)
class Rows:
    """A task tells how it goes."""

    task: Any
    rows: list[Row]


@dataclass(frozen=True)
class Retried:
    """A worker was lost or too slow; its task runs again."""

    task: Any
    reason: str


@dataclass(frozen=True)
class Done:
    """A task is over, with its result; its folder is complete."""

    task: Any
    result: Any


@dataclass(frozen=True)
class Failed:
    """A task was given up."""

    task: Any
    reason: str


Event = Started | Rows | Retried | Done | Failed


class Pool(Protocol):
    """Runs tasks, perhaps several at a time."""

    @property
    def capacity(self) -> int:
        """Tasks at the same time."""
        ...

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        """Runs tasks and yields what happens, until every one of them is done or has failed.

        Args:
            tasks: taken one by one when there is room, so that whoever makes them can depend on
                the events so far.
            ordered: whether tasks end (Done, Failed) in the order in which they were taken.
        """
        ...

    def close(self) -> None:
        """Ends what is running; what is finished is kept."""
        ...


class SerialPool:
    """Runs one task after the other in this process."""

    capacity = 1

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        """Runs tasks one by one; see `Pool`."""
        for task in tasks:
            yield Started(task)
            failure = None
            with closing(task.run()) as steps:
                while True:
                    try:
                        step = next(steps, None)
                    except TrainingFailedError as error:
                        failure = Failed(task, str(error))
                        break
                    if step is None:
                        break
                    if isinstance(step, Returned):
                        yield Done(task, step.value)
                    else:
                        yield Rows(task, [step])
            if failure is not None:
                yield failure

    def close(self) -> None:
        """Has nothing to end."""


@dataclass(eq=False)
class Attempt:
    """A task that is running, and how often it was tried in vain."""

    task: Any
    losses: int = 0
    timeouts: int = 0
    started: float | None = None  # when the present worker began
    end: Done | Failed | None = None

    def after_loss(self, reason: str) -> Failed | None:
        """Counts a lost worker; returns the failure if that was one too many."""
        self.losses += 1
        if self.losses < MAX_LOSSES:
            return None
        return Failed(self.task, f"lost {self.losses} times, at last because {reason}")

    def after_timeout(self, limit: float) -> Failed | None:
        """Counts an attempt beyond the time limit; returns the failure if one too many."""
        self.timeouts += 1
        if self.timeouts < MAX_TIMEOUTS:
            return None
        return Failed(self.task, f"not over after {limit:g} s, in each of {self.timeouts} attempts")


class ParallelPool(ABC):
    """What process and Ray pools share: taking tasks, ending them in order, trying again."""

    def __init__(self, capacity: int, time_limit: float | None = None) -> None:
        """Prepares a pool; workers are started when there is work for them.

        Args:
            capacity: tasks at a time.
            time_limit: seconds after which an attempt is given up.
        """
        self.capacity = capacity
        self._limit = time_limit

    @abstractmethod
    def _begin(self, attempt: Attempt) -> None:
        """Hands a task to a worker."""

    @abstractmethod
    def _hear(self, running: list[Attempt]) -> Iterator[Event]:
        """Waits a while for messages of workers; sets `end` of attempts that are over."""

    @abstractmethod
    def _stop(self, attempt: Attempt) -> str:
        """Ends the worker of an attempt that took too long; returns where it ran, in words."""

    @abstractmethod
    def _forget(self, attempt: Attempt) -> None:
        """Drops what a lost attempt left, where the next one cannot go on with it."""

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        """Runs tasks side by side; see `Pool`."""
        waiting = iter(tasks)
        running: list[Attempt] = []  # in the order in which they were taken
        while True:
            for task in islice(waiting, self.capacity - len(running)):
                attempt = Attempt(task)
                running.append(attempt)
                yield Started(task)
                if (stored := task.stored()) is not None:
                    attempt.end = Done(task, stored)
                else:
                    self._begin(attempt)
            if not running:
                return
            ended = next((a for a in (running[:1] if ordered else running) if a.end), None)
            if ended is not None:
                running.remove(ended)
                assert ended.end is not None
                yield ended.end
                continue
            yield from self._hear([a for a in running if a.end is None])
            yield from self._look_at_the_clock(running)

    def _look_at_the_clock(self, running: list[Attempt]) -> Iterator[Event]:
        limit, now = self._limit, time.monotonic()
        for attempt in running:
            if limit is None or attempt.end or attempt.started is None:
                continue
            if now - attempt.started > limit:
                where = self._stop(attempt)
                failure = attempt.after_timeout(limit)
                yield from self._again(attempt, failure, f"it took longer than {limit:g} s{where}")

    def _again(self, attempt: Attempt, failure: Failed | None, reason: str) -> Iterator[Event]:
        """Runs a task again, unless it has failed for good."""
        attempt.end = failure
        if failure is None:
            attempt.started = None
            self._forget(attempt)
            yield Retried(attempt.task, reason)  # before new rows, which would count twice
            self._begin(attempt)
