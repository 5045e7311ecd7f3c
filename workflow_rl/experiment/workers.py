"""Trainings in worker processes, several side by side."""

import multiprocessing
import queue
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from workflow_rl.errors import InvalidInputError
from workflow_rl.experiment.logs import Row
from workflow_rl.ordersearch.loop import Trial
from workflow_rl.processes import deaf_children, end_with_parent
from workflow_rl.train.loop import TrainResult

_LOOK_EVERY = 0.05  # seconds between looks for news from workers
_news: Any = None  # in a worker: the queue to its parent


def _start_worker(news: Any) -> None:
    """Runs first in a worker."""
    global _news
    _news = news
    end_with_parent()


def _work(task: Callable[[Callable[[Row], None]], TrainResult]) -> TrainResult:
    return task(_news.put)


class ProcessExecutor:
    """Runs each trial in one of several processes; results depend on the trial alone."""

    def __init__(
        self,
        workers: int,
        task_of: Callable[[Trial], Callable[[Callable[[Row], None]], TrainResult]],
        on_row: Callable[[Row], None],
    ) -> None:
        """Starts the processes.

        Args:
            workers: how many.
            task_of: makes the picklable task of a trial, told where to put its rows.
            on_row: told every update's row, in this process.
        """
        self.capacity = workers
        self._task_of = task_of
        self._on_row = on_row
        context = multiprocessing.get_context("spawn")
        self._manager_queue: Any = context.Queue()
        self._pool = ProcessPoolExecutor(
            workers,
            mp_context=context,
            initializer=_start_worker,
            initargs=(self._manager_queue,),
        )
        self._futures: dict[int, Future[TrainResult]] = {}

    def submit(self, trial: Trial) -> None:
        """Begins a trial."""
        task = self._task_of(trial)
        with deaf_children():
            self._futures[trial.number] = self._pool.submit(_work, task)

    def result(self, trial: Trial) -> TrainResult:
        """Waits for a trial, passing on rows of all trials meanwhile."""
        future = self._futures.pop(trial.number)
        while not future.done():
            self._pass_on(_LOOK_EVERY)
        self._pass_on(0)
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise InvalidInputError(
                "a worker process died (out of memory, or killed); nothing finished is lost: "
                "continue with --resume"
            ) from error

    def _pass_on(self, timeout: float) -> None:
        try:
            self._on_row(
                self._manager_queue.get(timeout=timeout)
                if timeout
                else self._manager_queue.get_nowait()
            )
            while True:
                self._on_row(self._manager_queue.get_nowait())
        except queue.Empty:
            pass

    def close(self) -> None:
        """Ends the processes, whatever they are doing; what they have written is kept."""
        processes = list((self._pool._processes or {}).values())  # shutdown forgets them
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
