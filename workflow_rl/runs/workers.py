"""Trainings in worker processes, several side by side."""

import contextlib
import multiprocessing
import signal
import time
import traceback
from collections.abc import Sequence
from multiprocessing import connection
from typing import Any, Final

from workflow_rl.ordersearch.loop import Failed
from workflow_rl.processes import end_with_parent, interrupts_blocked
from workflow_rl.runs.tasks import Attempts, News, Task
from workflow_rl.runs.training import run_training
from workflow_rl.train.loop import TrainResult

_LOOK_EVERY: Final = 1.0  # seconds between looks at the clock
_STARTED, _ROW, _RESULT, _ERROR = "started", "row", "result", "error"


def _work(line: "connection.Connection[Any, Any]") -> None:
    """Does one training after the other, in a process of its own."""
    end_with_parent()
    while True:
        try:
            task: Task = line.recv()
        except EOFError:
            return
        line.send((_STARTED, None))
        try:
            result = run_training(
                task.name, task.job, task.folder, lambda row: line.send((_ROW, row))
            )
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            line.send((_ERROR, error))
        else:
            line.send((_RESULT, result))


class _Worker:
    """A process, the line to it, and what it does."""

    def __init__(self) -> None:
        """Starts the process."""
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,))
        with interrupts_blocked():
            self.process.start()
        theirs.close()
        self.attempts: Attempts | None = None  # of the training under way
        self.started: float | None = None  # when that began

    def begin(self, attempts: Attempts) -> None:
        """Hands a training over."""
        self.attempts, self.started = attempts, None
        with contextlib.suppress(OSError):  # it died idle: noticed when it is listened to
            self.line.send(attempts.task)

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


class ProcessWorkers:
    """Does each training in one of several processes, which write into the training's folder."""

    def __init__(self, number: int, time_limit: float | None = None) -> None:
        """Notes what is wanted; a process is started when there is work for it.

        Args:
            number: trainings at a time.
            time_limit: seconds after which an attempt is given up.
        """
        self.capacity = number
        self._limit = time_limit
        self._idle: list[_Worker] = []
        self._busy: list[_Worker] = []
        self._ended: dict[Task, TrainResult | Failed] = {}

    def begin(self, task: Task) -> None:
        """Begins a training, or goes on with it from its last checkpoint."""
        self._begin(Attempts(task))

    def _begin(self, attempts: Attempts) -> None:
        worker = self._idle.pop() if self._idle else _Worker()
        self._busy.append(worker)
        worker.begin(attempts)

    def wait(self, among: Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
        """Waits until one of these trainings is over, passing on news of all meanwhile."""
        while True:
            for task in among:
                if task in self._ended:
                    return task, self._ended.pop(task)
            ready = connection.wait([w.line for w in self._busy], _LOOK_EVERY)
            for worker in [w for w in self._busy if w.line in ready]:
                self._listen(worker, news)
            for worker in [w for w in self._busy if self._is_late(w)]:
                assert self._limit is not None
                assert worker.attempts is not None
                failure = worker.attempts.after_limit(self._limit)
                self._give_up(worker, failure, f"it took longer than {self._limit:g} s", news)

    def _listen(self, worker: _Worker, news: News) -> None:
        """Takes one message of a worker, or notices that it is gone."""
        attempts = worker.attempts
        assert attempts is not None
        try:
            kind, content = worker.line.recv()
        except (EOFError, OSError):
            how = worker.end(patience=1.0)
            self._give_up(worker, attempts.after_loss(how), how, news)
            return
        if kind == _STARTED:
            worker.started = time.monotonic()
        elif kind == _ROW:
            news.rows(content)
        else:
            worker.attempts = None
            self._busy.remove(worker)
            self._idle.append(worker)
            if kind == _ERROR:
                raise content
            self._ended[attempts.task] = content

    def _is_late(self, worker: _Worker) -> bool:
        if self._limit is None or worker.started is None:
            return False
        return time.monotonic() - worker.started > self._limit

    def _give_up(self, worker: _Worker, failure: Failed | None, reason: str, news: News) -> None:
        """Ends a worker; another goes on from the last checkpoint, if there is no failure yet."""
        worker.end()
        self._busy.remove(worker)
        attempts = worker.attempts
        assert attempts is not None
        if failure is not None:
            self._ended[attempts.task] = failure
        else:
            news.again(attempts.task, reason)
            self._begin(attempts)

    def close(self) -> None:
        """Ends the processes, whatever they are doing; what they have written is kept."""
        workers = self._idle + self._busy
        self._idle, self._busy, self._ended = [], [], {}
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.end()
