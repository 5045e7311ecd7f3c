"""Tasks in processes of this machine."""

import contextlib
import multiprocessing
import signal
import time
import traceback
from collections.abc import Iterator
from multiprocessing import connection, resource_tracker
from typing import Any, Final

from workflow_rl.errors import TrainingFailedError
from workflow_rl.processes import end_with_parent, interrupts_blocked
from workflow_rl.runs.pool import Attempt, Done, Event, Failed, ParallelPool, Returned, Rows, Task

_POLL_SECONDS: Final = 1.0  # between looks at the clock
_STARTED: Final = "started"  # what a worker says before the steps of its task, or an exception


def _work(line: "connection.Connection[Any, Any]") -> None:
    """Runs one task after the other, in a process of its own."""
    end_with_parent()
    while True:
        try:
            task: Task = line.recv()
        except EOFError:
            return
        line.send(_STARTED)
        try:
            for step in task.run():
                line.send(step)
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
        """Prepares a pool.

        Args:
            capacity: tasks at a time.
            time_limit: seconds after which an attempt is given up.
            fresh: whether every task gets a new process, so that its memory is its own.
        """
        super().__init__(capacity, time_limit)
        self._fresh = fresh
        self._idle: list[_Worker] = []
        self._busy: dict[Attempt, _Worker] = {}

    def _begin(self, attempt: Attempt) -> None:
        worker = self._idle.pop() if self._idle else _Worker()
        self._busy[attempt] = worker
        with contextlib.suppress(OSError):  # it died idle: noticed when its pipe is read
            worker.line.send(attempt.task)

    def _hear(self, running: list[Attempt]) -> Iterator[Event]:
        ready = connection.wait([self._busy[a].line for a in running], _POLL_SECONDS)
        for attempt in [a for a in running if self._busy[a].line in ready]:
            yield from self._take(attempt, self._busy[attempt])

    def _take(self, attempt: Attempt, worker: _Worker) -> Iterator[Event]:
        """Takes one message of a worker, or notices that it died."""
        try:
            message = worker.line.recv()
        except (EOFError, OSError):
            how = worker.end(patience=1.0)
            del self._busy[attempt]
            yield from self._again(attempt, attempt.after_loss(how), how)
            return
        if message == _STARTED:
            attempt.started = time.monotonic()
        elif not isinstance(message, (Returned, Exception)):
            yield Rows(attempt.task, [message])
        else:
            del self._busy[attempt]
            if self._fresh:
                worker.end()
            else:
                self._idle.append(worker)
            if isinstance(message, TrainingFailedError):
                attempt.end = Failed(attempt.task, str(message))
                return
            if isinstance(message, Exception):
                raise message
            attempt.end = Done(attempt.task, message.value)

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
