"""The 120 workflows: orders of the five unit types, first to be fixed first.

In public a workflow is a tuple of five unit names; inside it is its index in `ORDERS`.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.units import NUM_UNITS, UNITS

Order = tuple[str, ...]

ORDERS: Final[tuple[Order, ...]] = tuple(itertools.permutations(UNITS))
NUM_ORDERS: Final = len(ORDERS)
ENCODING_SIZE: Final = NUM_UNITS * NUM_UNITS

_INDEX: Final = {order: index for index, order in enumerate(ORDERS)}
_SEPARATOR: Final = re.compile(r"\s*(?:->|>|→|,|\s)\s*")

# (order, position) -> unit, and (order, unit) -> position
SEQUENCES: Final[NDArray[np.int8]] = np.array(
    [[UNITS.index(unit) for unit in order] for order in ORDERS], dtype=np.int8
)
POSITIONS: Final[NDArray[np.int8]] = np.argsort(SEQUENCES, axis=1).astype(np.int8)
# (order, 5 * position + unit) one-hot
ENCODINGS: Final[NDArray[np.int8]] = np.eye(NUM_UNITS, dtype=np.int8)[SEQUENCES].reshape(
    NUM_ORDERS, ENCODING_SIZE
)

PAIRS: Final = tuple(itertools.combinations(range(NUM_UNITS), 2))
# (order, pair) +1 if the pair's first unit comes before its second, else -1
PRECEDENCE: Final[NDArray[np.int8]] = np.array(
    [[1 if p[a] < p[b] else -1 for a, b in PAIRS] for p in POSITIONS], dtype=np.int8
)


def order_index(order: Sequence[str]) -> int:
    """Returns the index of an order in `ORDERS`.

    Raises:
        InvalidInputError: it is not an order of the five unit types.
    """
    if not isinstance(order, Iterable):
        raise InvalidInputError(
            f"{order!r} is not a workflow: name each of {', '.join(UNITS)} once"
        )
    index = _INDEX.get(tuple(map(str, order)))
    if index is None:
        raise InvalidInputError(
            f"{' > '.join(map(str, order)) or 'nothing'} is not a workflow: "
            f"name each of {', '.join(UNITS)} once"
        )
    return index


def parse_order(text: str) -> Order:
    """Reads an order written with `>`, `->`, `→`, commas or blanks between the unit types.

    Raises:
        InvalidInputError: it is not an order of the five unit types.
    """
    words = [word.casefold() for word in _SEPARATOR.split(text.strip()) if word]
    return ORDERS[order_index(words)]


def format_order(order: int | Sequence[str]) -> str:
    """Writes an order, given as a tuple or an index, as `op_server > enterprise > ...`."""
    return " > ".join(ORDERS[order] if isinstance(order, int) else order)


def kendall_distance(a: int, b: int) -> int:
    """Returns how many of the 10 pairs of unit types two orders arrange differently."""
    return int(np.sum(PRECEDENCE[a] != PRECEDENCE[b]))


def classes_without(*units: str) -> NDArray[np.int64]:
    """Returns (120,) the class of each order when some unit types' places do not matter.

    Orders with the same number differ only in where those types stand: without defender there are
    24 classes of 5, without defender and op_host 6 of 20.
    """
    rest = [tuple(u for u in order if u not in units) for order in ORDERS]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(rest))}
    return np.array([numbers[key] for key in rest], dtype=np.int64)


def classes_of_equals(red_agent: str) -> NDArray[np.int64]:
    """Returns (120,) the class of each order; against this red agent orders of one class are equal.

    Defender can never really be taken: its place acts only through false alarms, which bline never
    causes; and bline never touches an Op_Host. Against bline orders that differ in nothing else are
    therefore equal, and as good as repeats; against others every order is a class of its own.
    """
    if red_agent == "bline":
        return classes_without("defender", "op_host")
    return np.arange(NUM_ORDERS)


def common_part(orders: Sequence[int]) -> Order:
    """Returns the unit types that all these orders arrange alike, in that arrangement."""
    agreed = np.abs(PRECEDENCE[list(orders)].sum(axis=0, dtype=np.int64)) == len(orders)
    units = {UNITS[u] for pair, alike in zip(PAIRS, agreed, strict=True) if alike for u in pair}
    return tuple(unit for unit in ORDERS[orders[0]] if unit in units)
