"""Processes and threads: workers that end with their parent, and torch kept to one thread."""

import fcntl
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CHECK_SECONDS: Final = 1.0


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Blocks Ctrl-C: processes started in the block never receive it, their parent answers it.

    A terminal sends it to all of them. A signal that is blocked stays so in a new process; here it
    arrives after the block.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_running(process: int) -> bool:
    """Returns whether a process of this machine with that number is there."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def leave_interrupts_to_parent() -> None:
    """In a worker: ignores Ctrl-C, and ends by SIGTERM whatever its parent does at one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_with_parent() -> None:
    """In a worker: ends the process when its parent has ended, even if that was killed.

    A thread waits for that. Where the system can, it is also asked to kill the process when
    the parent's end of their pipe closes, for a worker that never lets another thread run.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "only a worker process can end with its parent"
    started_by = os.getppid()  # the parent, or a server in its place

    def watch() -> None:
        while parent.is_alive() and os.getppid() == started_by:
            parent.join(_CHECK_SECONDS)  # other processes may hold the pipe open: check again
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if sys.platform == "linux":
        fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(parent.sentinel, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(parent.sentinel, fcntl.F_GETFL)
        fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keeps torch to one thread: whole trainings run side by side, and small matrices lose."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
