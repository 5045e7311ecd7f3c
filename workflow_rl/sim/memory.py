"""What Blue knows from what it was shown and what it did: the `memory` observation.

A `Memory` is a handful of 64-bit words, one environment's. `remember` takes in a step: it is given
the table that Blue was shown and Blue's own action and nothing else, so no entry can depend on
anything hidden; the real CybORG's environment and policies that play there use the same functions.
The observation is a row of bits, one byte each, in the order of `memory_layout`. Words are laid out
like Blue's table: a host owns four bits. Decoys that Misinform placed are not among those that
stand: Blue is not told which one it was.
"""

from functools import cache
from typing import Annotated, Any, Final, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.images import NUM_DECOYS
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import (
    HOSTS_IN_WORD,
    ONE,
    Axis,
    capacity_of,
    initial_record,
    record_dtype,
)
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim.bits import Written, append_bits, end_bits, packed_rows
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.draws import first

Words = Annotated[Any, np.int64, (Axis.WORDS,)]
Count = Annotated[int, np.int64, ()]


class Memory(Protocol):
    """What is kept of one episode; words have four bits for each host, or one for each decoy."""

    scans: Words = 0  # a scan was shown 0, 1, 2, 3 steps ago
    older_scans: Words = 0  # 4, 5, 6, 7 steps ago
    exploits: Words = 0  # an exploit was shown 0, 1, 2, 3 steps ago, and no Restore since
    older_exploits: Words = 0
    ever: Words = 0  # per host: scanned; exploited since its last Restore; unused; restored
    fixes: Words = 0  # per host: 2, 3 exploits since its last Restore; removed since the last one
    decoys: Words = 0  # decoys that stand, a bit for each of `placeable_decoys`
    scanned_decoys: Words = 0  # those that stood when the first scan of their host was shown
    latest_decoys: Words = 0  # those that stood when the latest scan of their host was shown
    restores: Words = 0  # per host: restored 1, 2, 3, 4 steps ago
    step: Count = 0


BEGIN: Final = -1  # stands for the action before an episode's first
DECOYS: Final = "decoys"


class Entry(NamedTuple):
    """Adjacent values of an observation that belong together."""

    name: str
    size: int
    meaning: str
    highest: int = 1  # the lowest value is 0


CLOCK: Final = (1, 2, 3, 4, 5, 6, 8, 12, 20, 30, 45, 60, 80, 95)


@cache
def placeable_decoys(network: Network) -> tuple[tuple[int, int], ...]:
    """Returns the (host, decoy) that can ever be placed: the bits of `decoys` in order."""
    net: Any = tables_of(network)[0]
    hosts = [network.number(name) for name in network.observed]
    return tuple(
        (host, decoy)
        for host in hosts
        for decoy in range(NUM_DECOYS)
        if net["placeable"][host] >> decoy & 1
    )


@cache
def memory_layout(network: Network) -> tuple[Entry, ...]:
    """Returns what the observation `memory` shows on a network; the table comes first."""
    per_host, decoys = 4 * len(network.observed), len(placeable_decoys(network))
    return (
        Entry(
            "table",
            per_host,
            "per host, in their order: activity of this step (none 00, scan 10, exploit 11), then "
            "the mark (No 00, Unknown 10, User 01, Privileged 11)",
        ),
        Entry("scans", per_host, "per host: a scan shown in the last 2, 4, 8 steps; ever"),
        Entry("exploits", per_host, "per host: an exploit shown in the last 2, 4, 8 steps; ever"),
        Entry("fixes", per_host, "per host: 2, 3 exploits shown; removed; restored"),
        Entry(DECOYS, decoys, "the decoys that stand"),
        Entry("clock", len(CLOCK), "so many steps were played"),
        Entry("scanned_decoys", decoys, "the decoys that stood at the host's first scan"),
    )


@cache
def recalled(network: Network) -> tuple[Entry, ...]:
    """Returns what the observation `recall` has behind that."""
    per_host, decoys = 4 * len(network.observed), len(placeable_decoys(network))
    return (
        Entry("latest_decoys", decoys, "the decoys that stood at the host's latest scan"),
        Entry("restores", per_host, "per host: restored 1, 2, 3, 4 steps ago"),
    )


def _word(nibble: int) -> int:
    """Returns a word with the same four bits for each of its hosts."""
    bits = sum(nibble << 4 * place for place in range(HOSTS_IN_WORD))
    return cast(int, np.uint64(bits).view(np.int64))


_FIRST: Final = _word(0b0001)  # the first bit of every host
_NOT_FIRST: Final = _word(0b1110)
_HOST: Final = 0b1111 * ONE
_EVER_EXPLOITED, _RESTORED = 1, 3
_SINCE_RESTORE: Final = ONE << _EVER_EXPLOITED  # of `ever`, what a Restore clears
_REMOVED: Final = 0b0100 * ONE
_CLOCK_BITS: Final = np.array(  # (steps played, at most the last of CLOCK) -> a bit for each
    [sum((step >= c) << i for i, c in enumerate(CLOCK)) for step in range(CLOCK[-1] + 1)], np.int64
)
_CLOCK_SIZE: Final = len(CLOCK)
_SHIFT: Final = HOSTS_IN_WORD.bit_length() - 1
_PLACE: Final = HOSTS_IN_WORD - 1
_REMOVE, _RESTORE = int(ActionKind.REMOVE), int(ActionKind.RESTORE)
_FIRST_DECOY, _LAST_DECOY = int(ActionKind.FIRST_DECOY), int(ActionKind.MISINFORM) - 1


@rule
def remember(memory: Memory, net: Tables, table: NDArray[np.int64], action: int) -> None:
    """Takes in a step: what Blue did, then what it was shown."""
    kind = net.action_kind[action]
    host = net.action_host[action]
    grow_older(memory)
    if host >= 0 and net.slot[host] >= 0:
        if _FIRST_DECOY <= kind <= _LAST_DECOY:
            remember_decoy(memory, net, host, kind - _FIRST_DECOY)
        elif kind == _RESTORE:
            remember_restore(memory, net, host)
        elif kind == _REMOVE:
            place = net.slot[host]
            memory.fixes[place >> _SHIFT] |= _REMOVED << 4 * (place & _PLACE)
    remember_activity(memory, net, table)
    memory.step += 1


@rule
def grow_older(memory: Memory) -> None:
    """Moves what was noted by one step; after eight steps it is forgotten."""
    for w in range(len(memory.scans)):
        scans, exploits = memory.scans[w], memory.exploits[w]
        older = memory.older_scans[w] << 1 & _NOT_FIRST
        memory.older_scans[w] = older | scans >> 3 & _FIRST
        memory.scans[w] = scans << 1 & _NOT_FIRST
        older = memory.older_exploits[w] << 1 & _NOT_FIRST
        memory.older_exploits[w] = older | exploits >> 3 & _FIRST
        memory.exploits[w] = exploits << 1 & _NOT_FIRST
        memory.restores[w] = memory.restores[w] << 1 & _NOT_FIRST


@rule
def remember_decoy(memory: Memory, net: Tables, host: int, decoy: int) -> None:
    """Notes a decoy if it was accepted: that depends on the host and the decoys that stand."""
    word = net.decoy_word[host]
    if not memory.decoys[word] & net.refused_by[host, decoy] and net.agents >> host & 1:
        memory.decoys[word] |= net.placed_by[host, decoy]


@rule
def remember_restore(memory: Memory, net: Tables, host: int) -> None:
    """Forgets the host's exploits and decoys; Red's memory of its ports stays."""
    w, at = net.slot[host] >> _SHIFT, 4 * (net.slot[host] & _PLACE)
    others = ~(_HOST << at)
    memory.exploits[w] &= others
    memory.older_exploits[w] &= others
    memory.fixes[w] &= others
    memory.ever[w] = memory.ever[w] & ~(_SINCE_RESTORE << at) | ONE << (at + _RESTORED)
    memory.decoys[net.decoy_word[host]] &= ~net.decoys_on[host]
    memory.restores[w] |= ONE << at


@rule
def remember_activity(memory: Memory, net: Tables, table: NDArray[np.int64]) -> None:
    """Notes the scans and exploits that are shown now."""
    for w in range(len(table)):
        exploits = table[w] >> 1 & _FIRST
        scans = table[w] & _FIRST & ~exploits
        shown = scans
        while shown:
            host = net.observed_host[(w << _SHIFT) + (first(shown) >> 2)]
            d, decoys_there = net.decoy_word[host], net.decoys_on[host]
            stand = memory.decoys[d] & decoys_there
            if shown & -shown & ~memory.ever[w]:
                memory.scanned_decoys[d] |= stand
            memory.latest_decoys[d] = memory.latest_decoys[d] & ~decoys_there | stand
            shown &= shown - 1
        known = memory.ever[w] >> _EVER_EXPLOITED & exploits
        memory.fixes[w] |= (memory.fixes[w] & known) << 1 | known
        memory.fixes[w] &= ~(exploits << 2)
        memory.scans[w] |= scans
        memory.exploits[w] |= exploits
        memory.ever[w] |= scans | exploits << _EVER_EXPLOITED


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
def write_memory(
    memory: Memory, net: Tables, table: NDArray[np.int64], rows: NDArray[np.int8], k: int
) -> Written:
    """Writes what is remembered to row k of the observations; returns how far it is written.

    Args:
        memory: what is remembered.
        net: the network.
        table: what Blue is shown now.
        rows: (n, at least the size of `memory_layout`) the observations.
        k: the row.
    """
    words = len(table)
    written = Written(0 * ONE, 0, 0)
    for w in range(words):
        written = append_bits(rows, k, written, table[w], net.host_bits[w])
    for w in range(words):
        scans = recency(memory.scans[w], memory.older_scans[w], memory.ever[w])
        written = append_bits(rows, k, written, scans, net.host_bits[w])
    for w in range(words):
        ever = memory.ever[w] >> _EVER_EXPLOITED
        exploits = recency(memory.exploits[w], memory.older_exploits[w], ever)
        written = append_bits(rows, k, written, exploits, net.host_bits[w])
    for w in range(words):
        restored = memory.ever[w] & _FIRST << _RESTORED
        fixes = memory.fixes[w] | restored
        written = append_bits(rows, k, written, fixes, net.host_bits[w])
    for w in range(words):
        written = append_bits(rows, k, written, memory.decoys[w], net.decoy_bits[w])
    clock = _CLOCK_BITS[min(memory.step, CLOCK[-1])]
    written = append_bits(rows, k, written, clock, _CLOCK_SIZE)
    for w in range(words):
        written = append_bits(rows, k, written, memory.scanned_decoys[w], net.decoy_bits[w])
    return written


@rule
def write_recall(
    memory: Memory, net: Tables, rows: NDArray[np.int8], k: int, written: Written
) -> Written:
    """Writes what `recall` has behind the memory to row k; returns how far it is written."""
    for w in range(len(memory.restores)):
        written = append_bits(rows, k, written, memory.latest_decoys[w], net.decoy_bits[w])
    for w in range(len(memory.restores)):
        written = append_bits(rows, k, written, memory.restores[w], net.host_bits[w])
    return written


def accepted_beside(network: Network, decoys: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns (n, actions) False for a decoy that would be refused.

    Args:
        network: what is played on.
        decoys: (n, `placeable_decoys`) whether each stands.
    """
    stands = np.asarray(decoys) != 0
    refused: NDArray[np.bool_] = stands @ _stopped_by(network) | _never_accepted(network)
    return ~refused


@cache
def _stopped_by(network: Network) -> NDArray[np.bool_]:
    """Returns (`placeable_decoys`, actions) whether a decoy keeps an action from being accepted."""
    net: Any = tables_of(network)[0]
    pairs = placeable_decoys(network)
    stops = np.zeros((len(pairs), actions_of(network).size), np.bool_)
    for i, (host, decoy) in enumerate(pairs):
        for other in range(NUM_DECOYS):
            action = net["decoy_action"][host, other]
            if action != NOBODY and net["placed_by"][host, decoy] & net["refused_by"][host, other]:
                stops[i, action] = True
    return stops


@cache
def _never_accepted(network: Network) -> NDArray[np.bool_]:
    """Returns (actions,) whether an action is a decoy that its host never accepts."""
    never = np.zeros(actions_of(network).size, np.bool_)
    net: Any = tables_of(network)[0]
    pairs = set(placeable_decoys(network))
    for host, decoy in np.argwhere(net["decoy_action"] != NOBODY):
        has_agent = int(net["agents"]) >> int(host) & 1
        never[net["decoy_action"][host, decoy]] = (host, decoy) not in pairs or not has_agent
    return never


@kernel()
def _remember(
    memories: NDArray[np.void],
    nets: NDArray[np.void],
    initial: NDArray[np.void],
    tables: NDArray[np.int64],
    actions: NDArray[np.int64],
    rows: NDArray[np.int8],
    recalls: bool,
) -> None:
    net: Tables = nets[0]
    for k in range(len(memories)):
        memory: Memory = memories[k]
        if actions[k] == BEGIN:
            memories[k] = initial[0]
        else:
            remember(memory, net, tables[k], actions[k])
        written = write_memory(memory, net, tables[k], rows, k)
        if recalls:
            written = write_recall(memory, net, rows, k, written)
        end_bits(rows, k, written)


class BlueMemory:
    """The memories of episodes that are played elsewhere: in the real CybORG, or by an agent."""

    def __init__(self, network: Network, num_envs: int, *, recalls: bool = False) -> None:
        """Makes room for n episodes; `BEGIN` as the action begins one.

        Args:
            network: what is played on.
            num_envs: how many.
            recalls: whether the observation is `recall`, not `memory`.
        """
        self._network = network
        self._recalls = recalls
        self._layout = memory_layout(network) + (recalled(network) if recalls else ())
        capacity = capacity_of(network)
        self._initial = initial_record(Memory, capacity)
        self._memories = np.zeros(num_envs, record_dtype(Memory, capacity))
        self._rows = np.zeros((num_envs, sum(entry.size for entry in self._layout)), np.int8)

    def update(self, tables: NDArray[np.int8], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Takes in a step of each episode and returns (n, its size) what is known now.

        Args:
            tables: (n, 4 for each observed host) what Blue is shown now.
            actions: (n,) what it did before that, or BEGIN if this is an episode's beginning.

        Raises:
            InvalidInputError: they are no such arrays; nothing has changed.
        """
        n = len(self._memories)
        tables = checked_array("tables", tables, (n, self._layout[0].size), np.int8)
        actions = checked_actions(self._network, actions, (n,), lowest=BEGIN)
        words = packed_rows(tables, capacity_of(self._network) // HOSTS_IN_WORD)
        net = tables_of(self._network)
        _remember(self._memories, net, self._initial, words, actions, self._rows, self._recalls)
        return self._rows

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """(n, actions) False for a decoy that would be refused now."""
        start = 0
        for entry in self._layout:
            if entry.name == DECOYS:
                break
            start += entry.size
        decoys = self._rows[:, start : start + entry.size]
        return accepted_beside(self._network, decoys)
