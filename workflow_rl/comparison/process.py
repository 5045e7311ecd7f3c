"""A task in a fresh process of its own, so that its memory and its time are its own."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

from workflow_rl.errors import InvalidInputError
from workflow_rl.processes import deaf_children, end_with_parent

Result = TypeVar("Result")
Emit = Callable[[str], None]
_NEWS: Final = "news"
_RESULT: Final = "result"
_FAILURE: Final = "failure"


def run_alone(task: Callable[[Emit], Result], on_news: Emit = lambda news: None) -> Result:
    """Runs a task in a new process and returns what it gives.

    Args:
        task: picklable; told whom to tell how it goes.
        on_news: told here what the task tells.

    Raises:
        InvalidInputError: the process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(task, theirs), daemon=True)
    with deaf_children():
        process.start()
    theirs.close()
    try:
        while True:
            kind, content = ours.recv()
            if kind == _NEWS:
                on_news(content)
            elif kind == _FAILURE:
                raise content
            else:
                result: Result = content
                return result
    except EOFError:
        raise InvalidInputError(
            "a process died (out of memory, or killed); nothing finished is lost: "
            "continue with --resume"
        ) from None
    finally:
        process.kill()
        process.join()
        ours.close()


def _work(task: Callable[[Emit], Any], parent: Connection) -> None:
    end_with_parent()
    try:
        result = task(lambda news: parent.send((_NEWS, news)))
    except Exception as error:
        parent.send((_FAILURE, error))
        return
    parent.send((_RESULT, result))
