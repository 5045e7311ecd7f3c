"""Tasks in fresh processes of their own, so that the memory and the time of each are its own."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, Protocol, TypeVar

from workflow_rl.errors import InvalidInputError
from workflow_rl.processes import end_with_parent, interrupts_blocked

Key = TypeVar("Key")
Result = TypeVar("Result")
Emit = Callable[[str], None]
Call = Callable[[Emit], Result]
Message = tuple[str, Any]
NEWS: Final = "news"
RESULT: Final = "result"
FAILURE: Final = "failure"


class Place(Protocol):
    """Where tasks run, each in a fresh process."""

    def start(self, key: Any, task: Call[Any]) -> None:
        """Begins a picklable task."""
        ...

    def hear(self) -> tuple[Any, Message]:
        """Waits for news, the result or the failure of a task; returns its key with that."""
        ...

    def close(self) -> None:
        """Ends what is under way."""
        ...


def run_apart(
    tasks: Mapping[Key, Call[Result]],
    side_by_side: int = 1,
    *,
    place: Place | None = None,
    on_start: Callable[[Key], None] = lambda key: None,
    on_news: Callable[[Key, str], None] = lambda key, news: None,
) -> Iterator[tuple[Key, Result]]:
    """Runs each task in a new process and yields what it gives, as soon as it does.

    Args:
        tasks: picklable; each is told whom to tell how it goes.
        side_by_side: processes at the same time.
        place: where they run; by default on this machine.
        on_start: told here which task begins.
        on_news: told here what a task tells.

    Raises:
        InvalidInputError: a process died.
    """
    place = place or Here()
    waiting = list(tasks.items())
    running = 0
    try:
        while waiting or running:
            while waiting and running < side_by_side:
                key, task = waiting.pop(0)
                on_start(key)
                place.start(key, task)
                running += 1
            key, (kind, content) = place.hear()
            if kind == NEWS:
                on_news(key, content)
            elif kind == FAILURE:
                raise content
            else:
                running -= 1
                yield key, content
    finally:
        place.close()


class Here:
    """Processes of this machine."""

    def __init__(self) -> None:
        """Begins with none."""
        self._running: dict[Connection, tuple[Any, BaseProcess]] = {}

    def start(self, key: Any, task: Call[Any]) -> None:
        """Begins a task."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(task, theirs), daemon=True)
        with interrupts_blocked():
            process.start()
        theirs.close()
        self._running[ours] = key, process

    def hear(self) -> tuple[Any, Message]:
        """Waits for a message.

        Raises:
            InvalidInputError: a process died.
        """
        ready = wait(list(self._running))[0]
        assert isinstance(ready, Connection)
        key = self._running[ready][0]
        try:
            message: Message = ready.recv()
        except EOFError:
            raise InvalidInputError(
                "a process died (out of memory, or killed); nothing finished is lost: "
                "continue with --resume"
            ) from None
        if message[0] == RESULT:
            self._end(ready)
        return key, message

    def close(self) -> None:
        """Ends all processes."""
        for connection in list(self._running):
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        _, process = self._running.pop(connection)
        process.kill()
        process.join()
        connection.close()


def _work(task: Call[Any], parent: Connection) -> None:
    end_with_parent()
    try:
        result = task(lambda news: parent.send((NEWS, news)))
    except Exception as error:
        parent.send((FAILURE, error))
        return
    parent.send((RESULT, result))
