"""The observations that Blue can be shown: each a name, its entries and its size."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ObservationName
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.sim.memory import (
    DECOYS,
    Entry,
    accepted_beside,
    memory_layout,
    recalled,
)
from workflow_rl.sim.observe import NUM_SHOWN_REDS, SCAN_SLOTS


@dataclass(frozen=True)
class Observation:
    """A row of small integers, made of named entries; Blue's table comes first."""

    name: ObservationName
    network: Network
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
        """Returns (n, actions) False for a decoy that rows (n, size) show to be refused.

        All True for an observation that does not show which decoys stand.
        """
        if not self._has(DECOYS):
            return np.ones((len(rows), actions_of(self.network).size), np.bool_)
        return accepted_beside(self.network, rows[:, self.columns(DECOYS)])

    def _has(self, name: str) -> bool:
        return any(entry.name == name for entry in self.entries)


def with_memory(
    name: ObservationName, network: Network, *more: Entry, is_privileged: bool = False
) -> Observation:
    """Returns an observation of what Blue remembers, and more entries behind that."""
    return Observation(name, network, (*memory_layout(network), *more), is_privileged)


SIMULATED: Final = ("challenge", "cardiff", "memory", "recall", "truth")
"""Those that the simulator's kernels write (`observe.write_observation`)."""


@cache
def simulated(name: ObservationName, network: Network) -> Observation:
    """Returns one of SIMULATED on a network.

    Raises:
        InvalidInputError: it does not exist there.
    """
    match name:
        case "challenge":
            return Observation(name, network, memory_layout(network)[:1])
        case "memory":
            return with_memory(name, network)
        case "recall":
            return with_memory(name, network, *recalled(network))
        case "truth":
            size = 2 * len(network.hosts) + 1 + NUM_SHOWN_REDS
            meaning = "per host: Red has a session, a privileged one; OT stopped; who Red is"
            return with_memory(name, network, Entry("truth", size, meaning), is_privileged=True)
        case "cardiff":
            return _cardiff(network)
    raise KeyError(name)


def _cardiff(network: Network) -> Observation:
    if network != SCENARIO2:
        raise InvalidInputError(
            f"the observation cardiff is of the network {SCENARIO2.name} alone; choose another one "
            f"for {network.name}"
        )
    scanned = ", ".join(network.host_names[host] for host in SCAN_SLOTS)
    meaning = f"2 scanned last, 1 scanned before, of {scanned}"
    entry = Entry("scan_state", len(SCAN_SLOTS), meaning, highest=2)
    return Observation("cardiff", network, (memory_layout(network)[0], entry))
