"""From an annotated layout to a numpy record: it types the rules and holds the data.

A record has room for the hosts of a size class, so that rules are compiled once for each class and
not for each network.
"""

from enum import Enum, auto
from typing import Any, Final, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.network import MOST_HOSTS, Network

PADDING: Final = "_padding_"  # how the names of bytes begin that mean nothing
CAPACITIES: Final = (16, 32, MOST_HOSTS)  # hosts that the records of a size class have room for
ONE: Final = cast(int, np.int64(1))  # of 64 bits also where rules are interpreted
HOSTS_IN_WORD: Final = 16  # of a word of 64 bits that has four for each host


class Axis(Enum):
    """A length that depends on the size class."""

    HOSTS = auto()
    WORDS = auto()  # of 64 bits, four for each host
    ACTIONS = auto()


def capacity_of(network: Network) -> int:
    """Returns the size class of a network: the hosts that its records have room for."""
    return min(capacity for capacity in CAPACITIES if capacity >= len(network.hosts))


def _length(axis: int | Axis, capacity: int) -> int:
    match axis:
        case Axis.HOSTS:
            return capacity
        case Axis.WORDS:
            return capacity // HOSTS_IN_WORD
        case Axis.ACTIONS:
            return 2 + 12 * capacity  # two without a host, twelve kinds on hosts
        case int():
            return axis


def record_dtype(layout: type[Any], capacity: int = CAPACITIES[0]) -> np.dtype[np.void]:
    """Returns the aligned numpy record with the annotated fields of `layout`.

    Padding has a name too: unnamed bytes between fields are undefined after a copy, and equal games
    must be equal to the byte.
    """
    fields: list[tuple[str, Any, tuple[int, ...]]] = []

    def fill_up_to(end: int) -> None:
        if free := end - np.dtype(fields).itemsize:
            fields.append((f"{PADDING}{len(fields)}", np.int8, (free,)))

    aligned = 1
    for name, hint in get_type_hints(layout, include_extras=True).items():
        _, scalar, shape = get_args(hint)
        if getattr(scalar, "_is_protocol", False):
            scalar = record_dtype(scalar, capacity)
        alignment = np.dtype(scalar).alignment
        aligned = max(aligned, alignment)
        fill_up_to(-(-np.dtype(fields).itemsize // alignment) * alignment)
        fields.append((name, scalar, tuple(_length(axis, capacity) for axis in shape)))
    fill_up_to(-(-np.dtype(fields).itemsize // aligned) * aligned)
    return np.dtype(fields, align=True)


def initial_record(layout: type[Any], capacity: int = CAPACITIES[0]) -> NDArray[np.void]:
    """Returns (1,) the record whose fields have the values that `layout` gives them.

    Raises:
        AttributeError: `layout` gives a field none.
    """
    record = np.zeros(1, record_dtype(layout, capacity))
    for name in get_type_hints(layout):
        record[name] = getattr(layout, name)
    return record
