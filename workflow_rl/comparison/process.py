"""Tasks in fresh processes of their own, so that the memory and the time of each are its own."""

import multiprocessing
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from multiprocessing import connection
from typing import Any, Final, TypeVar

from workflow_rl.errors import InvalidInputError
from workflow_rl.processes import deaf_children, end_with_parent

Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)
Emit = Callable[[str], None]
Call = Callable[[Emit], Result]
_NEWS: Final = "news"
_RESULT: Final = "result"
_FAILURE: Final = "failure"


def run_alone(task: Call[Result], on_news: Emit = lambda news: None) -> Result:
    """Runs a task in a new process and returns what it gives.

    Args:
        task: picklable; told whom to tell how it goes.
        on_news: told here what the task tells.

    Raises:
        InvalidInputError: the process died.
    """
    ((_, result),) = run_several([(0, task)], 1, on_news)
    return result


def run_several(
    tasks: Iterable[tuple[Key, Call[Result]]], number: int, on_news: Emit = lambda news: None
) -> Iterator[tuple[Key, Result]]:
    """Runs each task in a new process, some side by side; yields what each gives when it is over.

    Args:
        tasks: picklable, with names; taken when there is room.
        number: at a time.
        on_news: told here what the tasks tell.

    Raises:
        InvalidInputError: a process died.
    """
    waiting = iter(tasks)
    under_way: dict[Any, tuple[Key, Any]] = {}  # the line to a process -> whose it is, and it
    try:
        while True:
            for key, task in islice(waiting, number - len(under_way)):
                line, process = _start(task)
                under_way[line] = key, process
            if not under_way:
                return
            for line in connection.wait(list(under_way)):
                kind, content = _heard(line)
                if kind == _NEWS:
                    on_news(content)
                elif kind == _FAILURE:
                    raise content
                else:
                    key, process = under_way.pop(line)
                    _end(line, process)
                    yield key, content
    finally:
        for line, (_, process) in under_way.items():
            _end(line, process)


def _start(task: Call[Any]) -> tuple[Any, Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, theirs), daemon=True)
    with deaf_children():
        process.start()
    theirs.close()
    return ours, process


def _heard(line: Any) -> tuple[str, Any]:
    try:
        kind, content = line.recv()
        return kind, content
    except EOFError:
        raise InvalidInputError(
            "a process died (out of memory, or killed); nothing finished is lost: "
            "continue with --resume"
        ) from None


def _end(line: Any, process: Any) -> None:
    process.kill()
    process.join()
    line.close()


def _work(task: Call[Any], parent: Any) -> None:
    end_with_parent()
    try:
        result = task(lambda news: parent.send((_NEWS, news)))
    except Exception as error:
        parent.send((_FAILURE, error))
        return
    parent.send((_RESULT, result))
