"""Trainings on a Ray cluster: whole ones, any of whose nodes may go away at any time."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError

from workflow_rl.files import digest_of
from workflow_rl.ordersearch.loop import Failed
from workflow_rl.runs.ray_errors import cause_of, how_lost
from workflow_rl.runs.remote import Message, Rows, Started, installed, train_away
from workflow_rl.runs.tasks import Attempts, News, Task
from workflow_rl.runs.training import TrainingFolder, load_result
from workflow_rl.train.loop import TrainResult, Weights

_LOOK_EVERY: Final = 1.0  # seconds between looks at the clock


@dataclass(eq=False)
class _UnderWay:
    """An attempt at a training: the stream of its messages, and where it runs since when."""

    attempts: Attempts
    stream: Any
    host: str = "an unknown node"
    started: float | None = field(default=None)

    @property
    def task(self) -> Task:
        """What is trained."""
        return self.attempts.task


class RayWorkers:
    """Does each training as one Ray task, in a temporary folder of its node that is sent here.

    No file system is shared. A node that goes away takes the trainings it was doing with it, with
    their checkpoints: they begin again elsewhere.
    """

    def __init__(
        self,
        number: int,
        time_limit: float | None = None,
        work: Callable[..., Iterator[Message]] = train_away,
    ) -> None:
        """Notes what is wanted; `ray_cluster.connected` has made the connection.

        Args:
            number: trainings at a time; the cluster lets wait what it has no processor for.
            time_limit: seconds after which an attempt is given up.
            work: what a task does.
        """
        self.capacity = number
        self._limit = time_limit
        # Attempts are counted here, not by Ray: a second one must not be mistaken for the first.
        self._work = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(work)
        self._under_way: list[_UnderWay] = []
        self._ended: dict[Task, TrainResult | Failed] = {}
        self._base: tuple[str, Any] = ("", None)  # the weights put into the object store last

    def begin(self, task: Task) -> None:
        """Begins a training, unless its folder already holds the result."""
        folder = TrainingFolder(task.folder)
        if folder.result.exists():
            self._ended[task] = load_result(folder.result, task.job)
        else:
            self._submit(Attempts(task))

    def _submit(self, attempts: Attempts) -> None:
        task = attempts.task
        TrainingFolder(task.folder).clear()
        job = replace(task.job, base=None)
        stream = self._work.remote(task.name, job, self._stored(task.job.base), installed())
        self._under_way.append(_UnderWay(attempts, stream))

    def _stored(self, base: Weights | None) -> Any:
        """Returns the weights' place in the object store, where the same ones are put only once."""
        if base is None:
            return None
        digest = digest_of(dict(base))
        if digest != self._base[0]:
            self._base = (digest, ray.put(base))
        return self._base[1]

    def wait(self, among: Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
        """Waits until one of these trainings is over, passing on news of all meanwhile."""
        while True:
            for task in among:
                if task in self._ended:
                    return task, self._ended.pop(task)
            for running in self._with_news():
                self._listen(running, news)
            for running in [r for r in self._under_way if self._is_late(r)]:
                assert self._limit is not None
                ray.cancel(running.stream, force=True)
                failure = running.attempts.after_limit(self._limit)
                why = f"it took longer than {self._limit:g} s on {running.host}"
                self._give_up(running, failure, why, news)

    def _with_news(self) -> list[_UnderWay]:
        """Waits for a message and returns all attempts that have one by then."""
        streams = [running.stream for running in self._under_way]
        ready, _ = ray.wait(streams, num_returns=1, timeout=_LOOK_EVERY)
        if ready and len(streams) > 1:
            ready, _ = ray.wait(streams, num_returns=len(streams), timeout=0)
        known = {id(stream) for stream in ready}
        return [running for running in self._under_way if id(running.stream) in known]

    def _listen(self, running: _UnderWay, news: News) -> None:
        """Takes one message of an attempt, or notices that it is lost."""
        try:
            message: Message = ray.get(next(running.stream))
        except RayTaskError as error:
            cause = cause_of(error, running.host)
            if not isinstance(cause, OSError):
                raise cause from error
            reason = f"{running.host} says: {cause}"
            self._give_up(running, running.attempts.after_loss(reason), reason, news)
        except (RayError, StopIteration) as error:
            reason = how_lost(error, running.host)
            self._give_up(running, running.attempts.after_loss(reason), reason, news)
        else:
            self._take(running, message, news)

    def _take(self, running: _UnderWay, message: Message, news: News) -> None:
        folder = TrainingFolder(running.task.folder)
        if isinstance(message, Started):
            running.host, running.started = message.host, time.monotonic()
        elif isinstance(message, Rows):
            folder.updates.append(*message.rows)
            news.rows(*message.rows)
        else:
            self._under_way.remove(running)
            folder.complete(message.files)
            self._ended[running.task] = load_result(folder.result, running.task.job)

    def _is_late(self, running: _UnderWay) -> bool:
        if self._limit is None or running.started is None:
            return False
        return time.monotonic() - running.started > self._limit

    def _give_up(self, running: _UnderWay, failure: Failed | None, why: str, news: News) -> None:
        """Forgets an attempt; the training begins once more, if there is no failure yet."""
        self._under_way.remove(running)
        if failure is not None:
            self._ended[running.task] = failure
        else:
            self._submit(running.attempts)
            news.again(running.task, why)

    def close(self) -> None:
        """Ends what is under way."""
        for running in self._under_way:
            ray.cancel(running.stream, force=True)
        self._under_way, self._ended = [], {}
