"""What a process uses: processor time and memory."""

import contextlib
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

# psutil does not read Linux's peak (VmHWM), nor can it reset it.
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass(frozen=True)
class Usage:
    """Processor use since the last look, and memory now."""

    cpu_percent: float  # of one core
    rss_mb: float


class UsageMeter:
    """Measures this process from one look to the next."""

    def __init__(self) -> None:
        """Starts the first interval."""
        self._process = psutil.Process()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def look(self) -> Usage:
        """Returns the use since the last look and starts the next interval."""
        wall, cpu = time.perf_counter(), time.process_time()
        percent = 100 * (cpu - self._cpu) / max(wall - self._wall, 1e-9)
        self._wall, self._cpu = wall, cpu
        return Usage(round(percent, 1), round(self._process.memory_info().rss / 1e6, 1))


def reset_peak() -> None:
    """Sets the peak memory to the present one, where the system can."""
    with contextlib.suppress(OSError):
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")


def peak_rss_mb() -> float:
    """Returns the most memory this process has held at once, since `reset_peak`."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
