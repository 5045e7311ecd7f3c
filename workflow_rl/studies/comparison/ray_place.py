"""Tasks on a Ray cluster, each in a fresh process; one that is lost with its node runs again."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

import ray
from ray.exceptions import RayError, RayTaskError

from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.ray_errors import cause_of, how_lost
from workflow_rl.runs.remote import Installed, installed, refuse_others
from workflow_rl.runs.tasks import MOST_LOSSES
from workflow_rl.studies.comparison.process import FAILURE, NEWS, RESULT, Call, Message

_STARTED: Final = "started"


@dataclass(eq=False)
class _Running:
    """A task, the stream of its messages, where it runs, and how often it was lost."""

    key: Any
    task: Call[Any]
    stream: Any
    host: str = "an unknown node"
    losses: int = 0


class OnRay:
    """Processes of a cluster; `experiment.ray_cluster.connected` has made the connection."""

    def __init__(self) -> None:
        """Begins with none."""
        # Fresh processes, and attempts counted here: a second one repeats none of the first's news.
        away = ray.remote(num_cpus=1, max_calls=1, max_retries=0, num_returns="streaming")(_away)
        self._away = away
        self._running: list[_Running] = []

    def start(self, key: Any, task: Call[Any]) -> None:
        """Begins a task."""
        self._running.append(_Running(key, task, self._away.remote(task, installed())))

    def hear(self) -> tuple[Any, Message]:
        """Waits for a message.

        Raises:
            InvalidInputError: a task was lost once too often, or a node cannot run it.
        """
        while True:
            ready, _ = ray.wait([running.stream for running in self._running], num_returns=1)
            running = next(r for r in self._running if r.stream is ready[0])
            try:
                message: Message = ray.get(next(running.stream))
            except RayTaskError as error:
                raise cause_of(error, running.host) from error
            except (RayError, StopIteration) as error:
                self._again(running, error)
                continue
            if message[0] == _STARTED:
                running.host = message[1]
                continue
            if message[0] == RESULT:
                self._running.remove(running)
            return running.key, message

    def _again(self, running: _Running, error: Exception) -> None:
        running.losses += 1
        if running.losses >= MOST_LOSSES:
            raise InvalidInputError(
                f"{running.key} was lost {running.losses} times, at last because "
                f"{how_lost(error, running.host)}; nothing finished is lost: "
                "continue with --resume"
            ) from error
        running.stream = self._away.remote(running.task, installed())

    def close(self) -> None:
        """Ends what is under way."""
        for running in self._running:
            ray.cancel(running.stream, force=True)
        self._running = []


def _away(task: Call[Any], asked_by: Installed) -> Iterator[Message]:
    """Runs a task beside the telling of its news: what a generator yields is sent at once."""
    yield _STARTED, socket.gethostname()
    refuse_others(asked_by)
    told: SimpleQueue[Message] = SimpleQueue()

    def work() -> None:
        try:
            result = task(lambda news: told.put((NEWS, news)))
        except Exception as error:
            told.put((FAILURE, error))
        else:
            told.put((RESULT, result))

    threading.Thread(target=work, daemon=True).start()
    while True:
        message = told.get()
        yield message
        if message[0] != NEWS:
            return
