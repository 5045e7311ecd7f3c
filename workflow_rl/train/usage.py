"""What a process uses: processor time and memory."""

import contextlib
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_STATM = Path("/proc/self/statm")
_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Usage:
    """Use since the last look, and now."""

    cpu_percent: float  # of one core
    rss_mb: float


class UsageMeter:
    """Measures from one look to the next."""

    def __init__(self) -> None:
        """Starts measuring."""
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def look(self) -> Usage:
        """Returns the use since the last look."""
        wall, cpu = time.perf_counter(), time.process_time()
        percent = 100 * (cpu - self._cpu) / max(wall - self._wall, 1e-9)
        self._wall, self._cpu = wall, cpu
        return Usage(round(percent, 1), round(_rss_bytes() / 1e6, 1))


def reset_peak() -> None:
    """Forgets the most memory held so far, where the system can."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def peak_rss_mb() -> float:
    """Returns the most memory this process has held at once, since `reset_peak`."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _rss_bytes() -> float:
    if _STATM.exists():
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
