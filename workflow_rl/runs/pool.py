"""Tasks and the pools that run them, in this process or in others: one iterator of events."""

import contextlib
import multiprocessing
import signal
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import Any, Final, Protocol

from workflow_rl.errors import TrainingFailedError
from workflow_rl.processes import end_with_parent, interrupts_blocked

MAX_LOSSES: Final = 3  # workers lost, after which a task has failed
MAX_TIMEOUTS: Final = 2  # attempts beyond the time limit, after which a task has failed
_POLL_SECONDS: Final = 1.0  # between checks of the time limit

Row = Mapping[str, Any]  # of a log: how a task goes


class Task(Protocol):
    """Work for a pool, picklable; its result depends on the task alone, not on where it runs."""

    @property
    def name(self) -> str:
        """Its name in logs and messages."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where it keeps its files, of which Ray sends back copies; None: it has none."""
        ...

    def stored(self) -> Any:
        """Returns the result of an earlier run of it, or None."""
        ...

    def run(self) -> "Generator[Row | Returned]":
        """Does the work: yields rows on the way, and the result last."""
        ...


@dataclass(frozen=True)
class Begun:
    """The first message of a worker, from the machine that it names."""

    host: str = ""


@dataclass(frozen=True)
class Returned:
    """The result of a task: the last thing that its work yields."""

    value: Any


@dataclass(frozen=True)
class Started:
    """A task was handed to a worker."""

    task: Any


@dataclass(frozen=True)
class Rows:
    """New rows of a task under way."""

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


class SerialPool:
    """Runs one task after the other in this process."""

    capacity = 1

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        """Runs tasks one by one; see `ParallelPool`."""
        for task in tasks:
            yield Started(task)
            with closing(task.run()) as steps:
                try:
                    for step in steps:
                        if isinstance(step, Returned):
                            yield Done(task, step.value)
                        else:
                            yield Rows(task, [step])
                except TrainingFailedError as error:
                    yield Failed(task, str(error))

    def close(self) -> None:
        """Has nothing to end."""


@dataclass(eq=False)
class Attempt:
    """A running task, and how many of its attempts were lost or too slow."""

    task: Any
    losses: int = 0
    timeouts: int = 0
    started: float | None = None  # when the present worker began
    end: Done | Failed | None = None


class LostWorkerError(Exception):
    """A worker was lost; says how."""


class ParallelPool(ABC):
    """Runs several tasks at a time: takes them, ends them in order, retries what was lost."""

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
    def _ready(self, running: list[Attempt]) -> list[Attempt]:
        """Waits a while for messages of workers; returns the attempts that have one."""

    @abstractmethod
    def _receive(self, attempt: Attempt) -> "Begun | list[Row] | Returned":
        """Returns the next message of a worker; raises LostWorkerError, or what the task raised."""

    @abstractmethod
    def _stop(self, attempt: Attempt) -> str:
        """Ends the worker of an attempt that took too long; returns where it ran, in words."""

    @abstractmethod
    def _forget(self, attempt: Attempt) -> None:
        """Drops what a lost attempt left, where the next one cannot go on with it."""

    @abstractmethod
    def close(self) -> None:
        """Ends what is running; what is finished is kept."""

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        """Runs tasks and yields what happens, until every one of them is done or has failed.

        Args:
            tasks: taken one by one when a worker is free, so that a task can depend on the events
                so far.
            ordered: whether tasks end (Done, Failed) in the order in which they were taken.
        """
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
            for attempt in self._ready([a for a in running if a.end is None]):
                yield from self._take(attempt)
            yield from self._check_time_limit(running)

    def _take(self, attempt: Attempt) -> Iterator[Event]:
        """Takes one message of a worker, or notices that it is lost."""
        try:
            message = self._receive(attempt)
        except LostWorkerError as lost:
            attempt.losses += 1
            failure = f"lost {attempt.losses} times, at last because {lost}"
            yield from self._again(attempt, str(lost), failure, attempt.losses >= MAX_LOSSES)
        except TrainingFailedError as error:
            attempt.end = Failed(attempt.task, str(error))
        else:
            if isinstance(message, Begun):
                attempt.started = time.monotonic()
            elif isinstance(message, Returned):
                attempt.end = Done(attempt.task, message.value)
            else:
                yield Rows(attempt.task, message)

    def _check_time_limit(self, running: list[Attempt]) -> Iterator[Event]:
        limit, now = self._limit, time.monotonic()
        for attempt in running:
            if limit is None or attempt.end or attempt.started is None:
                continue
            if now - attempt.started > limit:
                reason = f"it took longer than {limit:g} s{self._stop(attempt)}"
                attempt.timeouts += 1
                failure = f"not over after {limit:g} s, in each of {attempt.timeouts} attempts"
                yield from self._again(attempt, reason, failure, attempt.timeouts >= MAX_TIMEOUTS)

    def _again(
        self, attempt: Attempt, reason: str, failure: str, is_given_up: bool
    ) -> Iterator[Event]:
        """Runs a task again, unless it is given up."""
        if is_given_up:
            attempt.end = Failed(attempt.task, failure)
            return
        attempt.started = None
        self._forget(attempt)
        yield Retried(attempt.task, reason)  # before new rows, which would count twice
        self._begin(attempt)


Pool = SerialPool | ParallelPool


# --- processes of this machine


def _work(line: "connection.Connection[Any, Any]") -> None:
    """Runs one task after the other, in a process of its own."""
    end_with_parent()
    while True:
        try:
            task: Task = line.recv()
        except EOFError:
            return
        line.send(Begun())
        try:
            for step in task.run():
                line.send(step if isinstance(step, Returned) else [step])
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            line.send(error)


class _Worker:
    """A process and the pipe to it."""

    def __init__(self) -> None:
        """Starts the process."""
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,))
        resource_tracker.ensure_running()  # which lets Ctrl-C through again when it starts
        with interrupts_blocked():
            self.process.start()
        theirs.close()

    def end(self, patience: float = 0.0) -> str:
        """Ends the process, if it does not do so itself in time; returns how it ended."""
        self.process.join(patience)
        self.process.kill()
        self.process.join()
        self.line.close()
        code = self.process.exitcode or 0
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        return f"its process ended with code {code}"


class ProcessPool(ParallelPool):
    """Runs each task in one of several processes of this machine."""

    def __init__(
        self, capacity: int, time_limit: float | None = None, *, fresh: bool = False
    ) -> None:
        """Prepares a pool; `fresh` gives every task a new process, with memory of its own."""
        super().__init__(capacity, time_limit)
        self._fresh = fresh
        self._idle: list[_Worker] = []
        self._busy: dict[Attempt, _Worker] = {}

    def _begin(self, attempt: Attempt) -> None:
        worker = self._idle.pop() if self._idle else _Worker()
        self._busy[attempt] = worker
        with contextlib.suppress(OSError):  # it died idle: noticed when its pipe is read
            worker.line.send(attempt.task)

    def _ready(self, running: list[Attempt]) -> list[Attempt]:
        ready = connection.wait([self._busy[a].line for a in running], _POLL_SECONDS)
        return [a for a in running if self._busy[a].line in ready]

    def _receive(self, attempt: Attempt) -> Begun | list[Row] | Returned:
        worker = self._busy[attempt]
        try:
            message: Begun | list[Row] | Returned | Exception = worker.line.recv()
        except (EOFError, OSError) as error:
            del self._busy[attempt]
            raise LostWorkerError(worker.end(patience=1.0)) from error
        if isinstance(message, (Returned, Exception)):
            del self._busy[attempt]
            if self._fresh:
                worker.end()
            else:
                self._idle.append(worker)
        if isinstance(message, Exception):
            raise message
        return message

    def _stop(self, attempt: Attempt) -> str:
        self._busy.pop(attempt).end()
        return ""

    def _forget(self, attempt: Attempt) -> None:
        """Keeps the task's folder, whose checkpoint the next attempt goes on from."""

    def close(self) -> None:
        """Ends the processes, whatever they are doing; what they have written is kept."""
        workers = [*self._idle, *self._busy.values()]
        self._idle, self._busy = [], {}
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
