"""Searches in processes of their own, and the processes that they consist of."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.cli.run import COMMAND, WIDE


def hear_interrupts() -> None:
    """Undoes what a shell does to commands in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(
    *args: str, command: str = "search", cwd: Path | None = None, env: dict[str, str] = WIDE
) -> Iterator[subprocess.Popen[str]]:
    """A search, or another command, under way in a process and a group of its own."""
    process = subprocess.Popen(
        [*COMMAND, command, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=cwd,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    try:
        yield process
    finally:
        for pid in (*children(process.pid), *group(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def group(leader: int) -> list[int]:
    """The live processes that a command consists of."""
    return [process for process, _, of in _live() if of == leader]


def children(process: int) -> list[int]:
    """The live processes that a process has started, and those that they have."""
    parents: dict[int, list[int]] = {}
    for child, parent, _ in _live():
        parents.setdefault(parent, []).append(child)
    found = list(parents.get(process, ()))
    for child in found:  # grows on the way
        found += parents.get(child, ())
    return found


def trainers(process: int) -> list[int]:
    """The processes below a process that are training for Ray at this moment."""
    return [child for child in children(process) if _command(child).startswith("ray::run_remotely")]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _live() -> Iterator[tuple[int, int, int]]:
    """Every live process, its parent and its group."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, of = path.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if state != "Z":
            yield int(path.parent.name), int(parent), int(of)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        if process is not None:
            assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def updates(folder: Path, training: str) -> int:
    """How many updates a training has noted so far."""
    files = list(folder.glob(f"exp_*/trainings/{training}/updates.csv"))
    return files[0].read_text().count("\n") - 1 if files else 0
