"""Processes: workers that end with their parent, one thread for torch, time and memory used."""

import fcntl
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_CHECK_SECONDS: Final = 1.0
# psutil does not read Linux's peak memory (VmHWM), nor can it reset it.
_STATUS: Final = Path("/proc/self/status")
_CLEAR_REFS: Final = Path("/proc/self/clear_refs")
_RESET_PEAK: Final = "5"


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Blocks SIGINT and SIGHUP: processes started in the block never receive them.

    A terminal sends them to all processes; the parent handles them. A blocked signal stays blocked
    in a new process; here it arrives after the block.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
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
    """In a worker: ignores what a terminal sends, and ends by SIGTERM whatever its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
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
    """Limits torch to one thread: trainings run in parallel, and small matrices gain nothing."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class UsageMeter:
    """Measures processor use and memory of this process between two calls."""

    def __init__(self) -> None:
        """Starts the first interval."""
        import psutil

        self._process = psutil.Process()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def look(self) -> dict[str, float]:
        """Returns the processor use since the last call (% of one core) and the memory now (MB)."""
        wall, cpu = time.perf_counter(), time.process_time()
        percent = 100 * (cpu - self._cpu) / max(wall - self._wall, 1e-9)
        self._wall, self._cpu = wall, cpu
        memory = self._process.memory_info().rss / 1e6
        return {"cpu_percent": round(percent, 1), "rss_mb": round(memory, 1)}


def reset_peak() -> None:
    """Sets the peak memory to the present one, where the system can."""
    with suppress(OSError):
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")


def peak_rss_mb() -> float:
    """Returns the most memory this process has held at once, since `reset_peak`."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
