"""Blue's table: per host the step's activity and Blue's own mark, packed into words.

The host at place p of the observation owns four bits of word p // 16, from bit 4 (p % 16): two of
`Activity`, then two of `Mark`. The words are the challenge's bits themselves.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import numbers
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import rule
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import HOSTS_IN_WORD, ONE, capacity_of
from workflow_rl.scenario.tables import signed
from workflow_rl.sim.bits import packed_rows
from workflow_rl.sim.state import State

_ACTIVITY = 0b0011
_MARK = 0b1100
_SHIFT: Final = HOSTS_IN_WORD.bit_length() - 1
_PLACE: Final = HOSTS_IN_WORD - 1
_ALL_MARKS: Final = signed(sum(_MARK << 4 * place for place in range(HOSTS_IN_WORD)))


def packed_tables(network: Network, observation: NDArray[Any]) -> NDArray[np.int64]:
    """Returns (n, words) the tables that observations (n, 4 for each host or more) begin with.

    Raises:
        InvalidInputError: they are no such rows of numbers.
    """
    size = 4 * len(network.observed)
    needed = f"observations must be rows of {size} numbers or more"
    rows = numbers(needed, observation)
    if rows.ndim != 2 or rows.shape[1] < size:
        raise InvalidInputError(f"{needed}, not of shape {rows.shape}")
    return packed_rows(rows[:, :size], capacity_of(network) // HOSTS_IN_WORD)


def read_table(network: Network, table: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Returns the Activity and the Mark of each host of a network, 0 where it is not observed."""
    read = [(0, 0)] * len(network.hosts)
    for place, name in enumerate(network.observed):
        bits = int(table[place >> _SHIFT]) >> 4 * (place & _PLACE) & 0b1111
        read[network.number(name)] = bits & _ACTIVITY, bits >> 2
    return read


@rule
def activity_at(table: NDArray[np.int64], place: int) -> int:
    """Returns the Activity that a table shows at a place."""
    shown: int = table[place >> _SHIFT] >> 4 * (place & _PLACE) & _ACTIVITY
    return shown


@rule
def mark_at(table: NDArray[np.int64], place: int) -> int:
    """Returns Blue's mark at a place of a table, a Mark."""
    marked: int = table[place >> _SHIFT] >> (4 * (place & _PLACE) + 2) & 0b11
    return marked


@rule
def mark(env: State, place: int, new: int) -> None:
    """Changes Blue's mark at a place."""
    word, at = place >> _SHIFT, 4 * (place & _PLACE)
    env.table[word] = env.table[word] & ~(_MARK * ONE << at) | new * ONE << (at + 2)


@rule
def show(env: State, place: int, new: int) -> None:
    """Shows an activity at a place that shows none yet."""
    env.table[place >> _SHIFT] |= new * ONE << 4 * (place & _PLACE)


@rule
def clear_activity(env: State) -> None:
    """Takes down the activities of the step before."""
    for word in range(len(env.table)):
        env.table[word] &= _ALL_MARKS
