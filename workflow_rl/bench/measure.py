"""How a rate is measured, and what is said about the machine it was measured on."""

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Work = Callable[[], int]  # does a chunk of work and returns how many steps that was


@dataclass(frozen=True)
class Ratio:
    """Two figures of the same run, one over the other."""

    name: str
    value: float


@dataclass(frozen=True)
class Rate:
    """Steps per second, over repeats."""

    repeats: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over the repeats."""
        return statistics.median(self.repeats)


def measure(
    works: Mapping[str, Work],
    *,
    repeats: int,
    seconds: float,
    progress: Callable[[str], None] = lambda name: None,
) -> dict[str, Rate]:
    """Measures the rates of works that take turns, so that a slow moment hits all of them.

    Args:
        works: what to measure, by name; each has been warmed up by its maker.
        repeats: rounds.
        seconds: minimum duration of each work in each round.
        progress: called with the name of each work as its turn comes.

    Returns:
        The rate of each work, by name.
    """
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            progress(name)
            steps = 0
            start = time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds:
                steps += work()
            rates[name].append(steps / elapsed)
    return {name: Rate(tuple(values)) for name, values in rates.items()}


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """Keeps that many processes computing beside the block, as other programs would.

    Each ends by itself when this process is gone, even if it was killed.
    """
    compute = f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**5))"
    processes = [
        subprocess.Popen([sys.executable, "-c", compute], start_new_session=True)
        for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def describe_machine() -> dict[str, Any]:
    """Returns what a reader needs to judge a figure: processor, cores, versions."""
    packages = {}
    for name in ("workflow-rl", "numpy", "numba", "gymnasium", "torch", "stable-baselines3", "ray"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "not installed"
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": packages,
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    """Returns the processor's model name, which neither psutil nor `platform` tells on Linux."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
