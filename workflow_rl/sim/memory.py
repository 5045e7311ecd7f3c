"""What Blue knows from what it was shown and what it did: the `memory` observation.

A `Memory` is a handful of 64-bit words, one environment's. `remember` takes in a step: it is given
the 52 bits that Blue was shown and Blue's own action and nothing else, so no entry can depend on
anything hidden; the real CybORG's environment and policies that play there use the same functions.
The observation is a row of bits, one byte each, in the order of `MEMORY_LAYOUT`. A word per host
and kind is laid out like Blue's table: host h owns the four bits from bit 4h.
"""

from typing import Annotated, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import (
    ACTION_HOST,
    ACTION_KIND,
    NUM_ACTIONS,
    ActionKind,
    checked_actions,
)
from workflow_rl.scenario.tables import (
    DECOY_REFUSED_BY,
    HOST_PORTS,
    NUM_DECOYS,
    NUM_HOSTS,
    PORTS_OF_DECOYS,
)
from workflow_rl.sim.bits import packed_rows, write_bits
from workflow_rl.sim.draws import first
from workflow_rl.sim.records import initial_record, record_dtype

Bits = Annotated[int, np.int64, ()]
Count = Annotated[int, np.int64, ()]


class Memory(Protocol):
    """What is kept of one episode; a word per kind has four bits for each host."""

    scans: Bits = 0  # a scan was shown 0, 1, 2, 3 steps ago
    older_scans: Bits = 0  # 4, 5, 6, 7 steps ago
    exploits: Bits = 0  # an exploit was shown 0, 1, 2, 3 steps ago, and no Restore since
    older_exploits: Bits = 0
    ever: Bits = 0  # per host: scanned; exploited since its last Restore; unused; restored
    fixes: Bits = 0  # per host: 2, 3 exploits since its last Restore; removed since the last one
    decoys: Bits = 0  # decoys that stand, a bit for each of PLACEABLE
    scanned_decoys: Bits = 0  # those that stood when the first scan of their host was shown
    latest_decoys: Bits = 0  # those that stood when the latest scan of their host was shown
    restores: Bits = 0  # per host: restored 1, 2, 3, 4 steps ago
    step: Count = 0


MEMORY_DTYPE: Final = record_dtype(Memory)
INITIAL_MEMORY: Final = initial_record(Memory)

# --- decoys that can ever be placed, as bits of a word ----------------------------------------

PLACEABLE: Final = tuple(  # (host, decoy), the bits of `decoys` in order
    (host, decoy)
    for host in range(NUM_HOSTS)
    for decoy in range(NUM_DECOYS)
    if not DECOY_REFUSED_BY[host, decoy] & HOST_PORTS[host]
)
BEGIN: Final = -1  # stands for the action before an episode's first
_REFUSED: Final = -1  # as a set of decoys: whatever stands


def _set_of(pairs: list[tuple[int, int]]) -> int:
    return sum(1 << PLACEABLE.index(pair) for pair in pairs)


DECOYS_ON: Final = np.array(  # (host,) the bits of its decoys
    [_set_of([pair for pair in PLACEABLE if pair[0] == host]) for host in range(NUM_HOSTS)],
    np.int64,
)


def _placed_by(action: int) -> int:
    pair = int(ACTION_HOST[action]), int(ACTION_KIND[action]) - ActionKind.FIRST_DECOY
    return _set_of([pair]) if pair in PLACEABLE else 0


def _refused_by(action: int) -> int:
    host, decoy = int(ACTION_HOST[action]), int(ACTION_KIND[action]) - ActionKind.FIRST_DECOY
    if decoy < 0:
        return 0
    if (host, decoy) not in PLACEABLE:
        return _REFUSED
    needed = DECOY_REFUSED_BY[host, decoy]
    return _set_of(
        [pair for pair in PLACEABLE if pair[0] == host and PORTS_OF_DECOYS[1 << pair[1]] & needed]
    )


PLACED_BY: Final = np.array([_placed_by(a) for a in range(NUM_ACTIONS)], np.int64)
REFUSED_BY: Final = np.array([_refused_by(a) for a in range(NUM_ACTIONS)], np.int64)

# --- the layout of the observation ------------------------------------------------------------


DECOYS: Final = "decoys"


class Entry(NamedTuple):
    """Adjacent values of an observation that belong together."""

    name: str
    size: int
    meaning: str
    highest: int = 1  # the lowest value is 0


_PER_HOST: Final = 4 * NUM_HOSTS
CLOCK: Final = (1, 2, 3, 4, 5, 6, 8, 12, 20, 30, 45, 60, 80, 95)
MEMORY_LAYOUT: Final = (
    Entry(
        "table",
        _PER_HOST,
        "per host, in their order: activity of this step (none 00, scan 10, exploit 11), then the "
        "mark (No 00, Unknown 10, User 01, Privileged 11)",
    ),
    Entry("scans", _PER_HOST, "per host: a scan shown in the last 2, 4, 8 steps; ever"),
    Entry("exploits", _PER_HOST, "per host: an exploit shown in the last 2, 4, 8 steps; ever"),
    Entry("fixes", _PER_HOST, "per host: 2, 3 exploits shown; removed; restored"),
    Entry(DECOYS, len(PLACEABLE), "the decoys that stand"),
    Entry("clock", len(CLOCK), "so many steps were played"),
    Entry("scanned_decoys", len(PLACEABLE), "the decoys that stood at the host's first scan"),
)
MEMORY_SIZE: Final = sum(entry.size for entry in MEMORY_LAYOUT)
RECALLED: Final = (  # behind these, in the observation `recall`
    Entry("latest_decoys", len(PLACEABLE), "the decoys that stood at the host's latest scan"),
    Entry("restores", _PER_HOST, "per host: restored 1, 2, 3, 4 steps ago"),
)
_NUM_DECOYS_SEEN: Final = RECALLED[0].size
TRUTH_BITS: Final = 2 * NUM_HOSTS + 4  # Red's access to each host; OT stopped; who Red is


_FIRST: Final = sum(1 << 4 * host for host in range(NUM_HOSTS))  # the first bit of every host
_HOST: Final = 0b1111
_NOT_FIRST: Final = _FIRST * 0b1110
_EVER_SCANNED, _EVER_EXPLOITED, _RESTORED = 0, 1, 3
_SINCE_RESTORE: Final = 1 << _EVER_EXPLOITED  # of `ever`, what a Restore clears
_CLOCK_BITS: Final = np.array(  # (steps played, at most the last of CLOCK) -> a bit for each
    [sum((step >= c) << i for i, c in enumerate(CLOCK)) for step in range(CLOCK[-1] + 1)], np.int64
)
_REMOVE, _RESTORE = int(ActionKind.REMOVE), int(ActionKind.RESTORE)
_FIRST_DECOY = int(ActionKind.FIRST_DECOY)


@rule
def remember(memory: Memory, table: int, action: int) -> None:
    """Takes in a step: what Blue did, then what it was shown."""
    kind = ACTION_KIND[action]
    host = ACTION_HOST[action]
    grow_older(memory)
    if kind >= _FIRST_DECOY:
        remember_decoy(memory, action)
    elif kind == _RESTORE:
        remember_restore(memory, host)
    elif kind == _REMOVE:
        memory.fixes |= 0b0100 << 4 * host
    remember_activity(memory, table)
    memory.step += 1


@rule
def grow_older(memory: Memory) -> None:
    """Moves what was noted by one step; after eight steps it is forgotten."""
    memory.older_scans = memory.older_scans << 1 & _NOT_FIRST | memory.scans >> 3 & _FIRST
    memory.scans = memory.scans << 1 & _NOT_FIRST
    memory.older_exploits = memory.older_exploits << 1 & _NOT_FIRST | memory.exploits >> 3 & _FIRST
    memory.exploits = memory.exploits << 1 & _NOT_FIRST
    memory.restores = memory.restores << 1 & _NOT_FIRST


@rule
def remember_decoy(memory: Memory, action: int) -> None:
    """Notes a decoy if it was accepted: that depends on the host and the decoys that stand."""
    if not memory.decoys & REFUSED_BY[action]:
        memory.decoys |= PLACED_BY[action]


@rule
def remember_restore(memory: Memory, host: int) -> None:
    """Forgets the host's exploits and decoys; Red's memory of its ports stays."""
    others = ~(_HOST << 4 * host)
    memory.exploits &= others
    memory.older_exploits &= others
    memory.fixes &= others
    memory.ever = memory.ever & ~(_SINCE_RESTORE << 4 * host) | 1 << (4 * host + _RESTORED)
    memory.decoys &= ~DECOYS_ON[host]
    memory.restores |= 1 << 4 * host


@rule
def remember_activity(memory: Memory, table: int) -> None:
    """Notes the scans and exploits that are shown now."""
    exploits = table >> 1 & _FIRST
    scans = table & _FIRST & ~exploits
    shown = scans
    while shown:
        decoys_there = DECOYS_ON[first(shown) >> 2]
        if shown & -shown & ~memory.ever:
            memory.scanned_decoys |= memory.decoys & decoys_there
        memory.latest_decoys = memory.latest_decoys & ~decoys_there | memory.decoys & decoys_there
        shown &= shown - 1
    known = memory.ever >> _EVER_EXPLOITED & exploits
    memory.fixes |= (memory.fixes & known) << 1 | known
    memory.fixes &= ~(exploits << 2)
    memory.scans |= scans
    memory.exploits |= exploits
    memory.ever |= scans << _EVER_SCANNED | exploits << _EVER_EXPLOITED


@rule
def any_of(word: int) -> int:
    """Returns, in each host's first bit, whether any of its four bits is set."""
    pairs = word | word >> 2
    return (pairs | pairs >> 1) & _FIRST


@rule
def recency(newer: int, older: int, ever: int) -> int:
    """Returns four bits for each host: in the last 2, 4, 8 steps; ever."""
    in_2 = (newer | newer >> 1) & _FIRST
    in_4 = any_of(newer)
    in_8 = in_4 | any_of(older)
    return in_2 | in_4 << 1 | in_8 << 2 | (ever & _FIRST) << 3


@rule
def write_memory(memory: Memory, table: int, rows: NDArray[np.int8], k: int) -> None:
    """Writes what is remembered to row k of the observations.

    Args:
        memory: what is remembered.
        table: the 52 bits that Blue is shown now.
        rows: (n, at least MEMORY_SIZE) the observations.
        k: the row.
    """
    ever = memory.ever
    scans = recency(memory.scans, memory.older_scans, ever)
    exploits = recency(memory.exploits, memory.older_exploits, ever >> 1)
    fixes = memory.fixes | ever & _FIRST << _RESTORED
    clock = _CLOCK_BITS[min(memory.step, CLOCK[-1])]
    # Side by side in words of 64 bits: what does not fit goes to the next.
    write_bits(rows, k, 0, table | scans << 52, 64)
    write_bits(rows, k, 64, scans >> 12 | exploits << 40, 64)
    write_bits(rows, k, 128, exploits >> 24 | fixes << 28, 64)
    write_bits(rows, k, 192, fixes >> 36 | memory.decoys << 16 | clock << 57, 64)
    write_bits(rows, k, 256, clock >> 7 | memory.scanned_decoys << 7, 48)


@rule
def write_recall(memory: Memory, rows: NDArray[np.int8], k: int) -> None:
    """Writes what `recall` has behind the memory to row k."""
    write_bits(rows, k, MEMORY_SIZE, memory.latest_decoys, _NUM_DECOYS_SEEN)
    write_bits(rows, k, MEMORY_SIZE + _NUM_DECOYS_SEEN, memory.restores, _PER_HOST)


def accepted_beside(decoys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns (n, 145) False for a decoy that would be refused where these sets (n,) stand."""
    refused: NDArray[np.bool_] = decoys[:, None] & REFUSED_BY != 0
    return np.asarray(~refused & (REFUSED_BY != _REFUSED))


@kernel()
def _remember(
    memories: NDArray[np.void],
    tables: NDArray[np.int64],
    actions: NDArray[np.int64],
    rows: NDArray[np.int8],
    recalls: bool,
) -> None:
    for k in range(len(memories)):
        memory: Memory = memories[k]
        if actions[k] == BEGIN:
            memories[k] = INITIAL_MEMORY[0]
        else:
            remember(memory, tables[k], actions[k])
        write_memory(memory, tables[k], rows, k)
        if recalls:
            write_recall(memory, rows, k)


class BlueMemory:
    """The memories of episodes that are played elsewhere: in the real CybORG, or by an agent."""

    def __init__(self, num_envs: int, *, recalls: bool = False) -> None:
        """Makes room for n episodes; `BEGIN` as the action begins one.

        Args:
            num_envs: how many.
            recalls: whether the observation is `recall`, not `memory`.
        """
        self._recalls = recalls
        size = MEMORY_SIZE + (sum(entry.size for entry in RECALLED) if recalls else 0)
        self._memories = np.zeros(num_envs, MEMORY_DTYPE)
        self._rows = np.zeros((num_envs, size), np.int8)

    def update(self, tables: NDArray[np.int8], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Takes in a step of each episode and returns (n, its size) what is known now.

        Args:
            tables: (n, 52) what Blue is shown now.
            actions: (n,) what it did before that, or BEGIN if this is an episode's beginning.

        Raises:
            InvalidInputError: they are no such arrays; nothing has changed.
        """
        n = len(self._memories)
        tables = checked_array("tables", tables, (n, MEMORY_LAYOUT[0].size), np.int8)
        actions = checked_actions(actions, (n,), lowest=BEGIN)
        _remember(self._memories, packed_rows(tables), actions, self._rows, self._recalls)
        return self._rows

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """(n, 145) False for a decoy that would be refused now."""
        return accepted_beside(self._memories["decoys"])
