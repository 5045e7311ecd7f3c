"""What a process uses: processor time and memory."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_STATM = Path("/proc/self/statm")


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


def _rss_bytes() -> float:
    if _STATM.exists():
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
