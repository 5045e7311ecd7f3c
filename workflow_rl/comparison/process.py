"""A task in a fresh process of its own, so that its memory and its time are its own."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final, TypeVar

from workflow_rl.errors import InvalidInputError

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
    with _interrupts_put_off():
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


@contextmanager
def _interrupts_put_off() -> Iterator[None]:
    """Lets a process started in the block never hear Ctrl-C, which is for its parent to answer."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(task: Callable[[Emit], Any], parent: Connection) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        result = task(lambda news: parent.send((_NEWS, news)))
    except Exception as error:
        parent.send((_FAILURE, error))
        return
    parent.send((_RESULT, result))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
