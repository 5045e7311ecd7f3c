"""The observations that Blue can be shown: each a name, its entries and its size."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ObservationName
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.scenario.tables import HOST_NAMES
from workflow_rl.sim.bits import packed_rows
from workflow_rl.sim.memory import (
    DECOYS,
    MEMORY_LAYOUT,
    RECALLED,
    TRUTH_BITS,
    Entry,
    accepted_beside,
)
from workflow_rl.sim.observe import SCAN_SLOTS


@dataclass(frozen=True)
class Observation:
    """A row of small integers, made of named entries; the table of 52 bits comes first."""

    name: ObservationName
    entries: tuple[Entry, ...]
    is_privileged: bool = False  # shows what no defender can see, for measuring only

    @cached_property
    def size(self) -> int:
        """How many values it has."""
        return sum(entry.size for entry in self.entries)

    @cached_property
    def highest(self) -> NDArray[np.int8]:
        """(size,) the highest value at each place; the lowest is 0."""
        return np.repeat(
            [entry.highest for entry in self.entries], [entry.size for entry in self.entries]
        ).astype(np.int8)

    @property
    def repeats(self) -> bool:
        """Whether rows repeat so often that caching results by row pays off."""
        return not self._has(DECOYS)

    def columns(self, name: str) -> slice:
        """Returns where an entry stands; KeyError if there is none of that name."""
        start = 0
        for entry in self.entries:
            if entry.name == name:
                return slice(start, start + entry.size)
            start += entry.size
        raise KeyError(name)

    def action_mask(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Returns (n, 145) False for a decoy that rows (n, size) show to be refused.

        All True for an observation that does not show which decoys stand.
        """
        if not self._has(DECOYS):
            return np.ones((len(rows), NUM_ACTIONS), np.bool_)
        return accepted_beside(packed_rows(rows[:, self.columns(DECOYS)]))

    def _has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.entries)


def with_memory(name: ObservationName, *more: Entry, is_privileged: bool = False) -> Observation:
    """Returns an observation of what Blue remembers, and more entries behind that."""
    return Observation(name, (*MEMORY_LAYOUT, *more), is_privileged)


def _named(observations: Sequence[Observation]) -> dict[ObservationName, Observation]:
    return {observation.name: observation for observation in observations}


_SCANNED: Final = ", ".join(HOST_NAMES[host] for host in SCAN_SLOTS)
# Those that the simulator's kernels write (`observe.write_observation`).
SIMULATED: Final = _named(
    [
        Observation("challenge", MEMORY_LAYOUT[:1]),
        Observation(
            "cardiff",
            (
                MEMORY_LAYOUT[0],
                Entry(
                    "scan_state",
                    len(SCAN_SLOTS),
                    f"2 scanned last, 1 scanned before, of {_SCANNED}",
                    highest=2,
                ),
            ),
        ),
        with_memory("memory"),
        with_memory("recall", *RECALLED),
        with_memory(
            "truth",
            Entry(
                "truth",
                TRUTH_BITS,
                "per host: Red has a session, a privileged one; OT stopped; who Red is",
            ),
            is_privileged=True,
        ),
    ]
)
