"""Tasks in fresh processes of their own, so that the memory and the time of each are its own."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeVar

from workflow_rl.errors import InvalidInputError
from workflow_rl.processes import deaf_children, end_with_parent

Key = TypeVar("Key")
Result = TypeVar("Result")
Emit = Callable[[str], None]
_NEWS: Final = "news"
_RESULT: Final = "result"
_FAILURE: Final = "failure"


def run_apart(
    tasks: Mapping[Key, Callable[[Emit], Result]],
    side_by_side: int = 1,
    *,
    on_start: Callable[[Key], None] = lambda key: None,
    on_news: Callable[[Key, str], None] = lambda key, news: None,
) -> Iterator[tuple[Key, Result]]:
    """Runs each task in a new process and yields what it gives, as soon as it does.

    Args:
        tasks: picklable; each is told whom to tell how it goes.
        side_by_side: processes at the same time.
        on_start: told here which task begins.
        on_news: told here what a task tells.

    Raises:
        InvalidInputError: a process died.
    """
    waiting = list(tasks.items())
    running: dict[Connection, tuple[Key, BaseProcess]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < side_by_side:
                key, task = waiting.pop(0)
                on_start(key)
                connection, process = _start(task)
                running[connection] = (key, process)
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                key, process = running[ready]
                kind, content = ready.recv()
                if kind == _NEWS:
                    on_news(key, content)
                elif kind == _FAILURE:
                    raise content
                else:
                    del running[ready]
                    _end(ready, process)
                    yield key, content
    except EOFError:
        raise InvalidInputError(
            "a process died (out of memory, or killed); nothing finished is lost: "
            "continue with --resume"
        ) from None
    finally:
        for connection, (_, process) in running.items():
            _end(connection, process)


def _start(task: Callable[[Emit], Any]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, theirs), daemon=True)
    with deaf_children():
        process.start()
    theirs.close()
    return ours, process


def _end(connection: Connection, process: BaseProcess) -> None:
    process.kill()
    process.join()
    connection.close()


def _work(task: Callable[[Emit], Any], parent: Connection) -> None:
    end_with_parent()
    try:
        result = task(lambda news: parent.send((_NEWS, news)))
    except Exception as error:
        parent.send((_FAILURE, error))
        return
    parent.send((_RESULT, result))
