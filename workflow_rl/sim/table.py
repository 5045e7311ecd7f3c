"""Blue's table: per host the step's activity and Blue's own mark, packed into one integer.

Host h owns four bits from bit 4h, in the order of the observation vector: two of `Activity`, then
two of `Mark`. The integer is the 52-bit observation itself.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import numbers
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import rule
from workflow_rl.scenario.tables import NUM_HOSTS
from workflow_rl.sim.bits import packed_rows
from workflow_rl.sim.state import State

_SIZE: Final = 4 * NUM_HOSTS
_NEEDED: Final = f"observations must be rows of {_SIZE} numbers or more"
_ACTIVITY = 0b0011
_MARK = 0b1100
ALL_MARKS: Final = sum(_MARK << 4 * host for host in range(NUM_HOSTS))


def packed_tables(observation: NDArray[Any]) -> NDArray[np.int64]:
    """Returns (n,) the tables that observations (n, 52 or more) begin with.

    Raises:
        InvalidInputError: they are no such rows of numbers.
    """
    rows = numbers(_NEEDED, observation)
    if rows.ndim != 2 or rows.shape[1] < _SIZE:
        raise InvalidInputError(f"{_NEEDED}, not of shape {rows.shape}")
    return packed_rows(rows[:, :_SIZE])


def read_table(table: int) -> list[tuple[int, int]]:
    """Returns the Activity and the Mark of each host in a table, where no kernel needs them."""
    return [(table >> 4 * h & _ACTIVITY, table >> (4 * h + 2) & 0b11) for h in range(NUM_HOSTS)]


@rule
def activity_in(table: int, host: int) -> int:
    """Returns the Activity that a table shows on a host."""
    return table >> 4 * host & _ACTIVITY


@rule
def mark_in(table: int, host: int) -> int:
    """Returns Blue's mark on a host in a table, a Mark."""
    return table >> (4 * host + 2) & 0b11


@rule
def activity(env: State, host: int) -> int:
    """Returns the Activity shown on a host."""
    return activity_in(env.table, host)


@rule
def mark_of(env: State, host: int) -> int:
    """Returns Blue's mark on a host, a Mark."""
    return mark_in(env.table, host)


@rule
def mark(env: State, host: int, new: int) -> None:
    """Changes Blue's mark on a host."""
    env.table = env.table & ~(_MARK << 4 * host) | new << (4 * host + 2)


@rule
def show(env: State, host: int, new: int) -> None:
    """Shows an activity on a host that shows none yet."""
    env.table |= new << 4 * host


@rule
def clear_activity(env: State) -> None:
    """Takes down the activities of the step before."""
    env.table &= ALL_MARKS
