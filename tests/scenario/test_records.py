from typing import Annotated, Any, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sim import tiny
from workflow_rl.scenario.records import (
    CAPACITIES,
    PADDING,
    Axis,
    capacity_of,
    initial_record,
    record_dtype,
)

Byte = Annotated[int, np.int8, ()]
Short = Annotated[int, np.int16, ()]
Long = Annotated[int, np.int64, ()]
Three = Annotated[NDArray[np.int16], np.int16, (3,)]


class Gaps(Protocol):
    """Fields that leave gaps between them and at the end."""

    first: Byte = 7
    long: Long = -5
    three: Three = np.array([1, 2, 3])
    last: Byte = 1


def layout_of(dtype: np.dtype[np.void]) -> list[tuple[str, int, int]]:
    """The fields: name, where it begins, how many bytes it has."""
    assert dtype.fields is not None
    return [(name, at, kind.itemsize) for name, (kind, at, *_) in dtype.fields.items()]


def test_fields_are_aligned_and_what_that_leaves_free_has_a_name() -> None:
    dtype = record_dtype(Gaps)
    assert layout_of(dtype) == [
        ("first", 0, 1),
        (f"{PADDING}1", 1, 7),
        ("long", 8, 8),
        ("three", 16, 6),
        ("last", 22, 1),
        (f"{PADDING}5", 23, 1),
    ]
    assert (dtype.itemsize, dtype.alignment, dtype.isalignedstruct) == (24, 8, True)
    assert dtype["three"].shape == (3,)


def test_the_initial_record_holds_the_values_that_the_layout_states_and_stays_so() -> None:
    record: Any = initial_record(Gaps)
    assert record.shape == (1,)
    assert [record[name][0].tolist() for name in ("first", "long", "three", "last")] == [
        *(7, -5, [1, 2, 3], 1)
    ]
    assert not record[f"{PADDING}1"].any()
    record["first"] = 0
    again: Any = initial_record(Gaps)
    assert again["first"] == 7


def test_a_field_without_an_initial_value_is_an_error() -> None:
    class Forgetful(Protocol):
        alive: Byte = 1
        lives: Byte

    with pytest.raises(AttributeError, match="lives"):
        initial_record(Forgetful)


class Sized(Protocol):
    """Fields whose lengths depend on the size class."""

    per_host: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS, 2)]
    per_word: Annotated[NDArray[np.int64], np.int64, (Axis.WORDS,)]
    per_action: Annotated[NDArray[np.int8], np.int8, (Axis.ACTIONS,)]


@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_record_has_room_for_the_hosts_of_its_size_class(capacity: int) -> None:
    dtype = record_dtype(Sized, capacity)
    assert dtype["per_host"].shape == (capacity, 2)
    assert dtype["per_word"].shape == (capacity // 16,)
    assert dtype["per_action"].shape == (2 + 12 * capacity,)
    assert CAPACITIES == (16, 32, 64)


@pytest.mark.parametrize(
    ("hosts", "capacity"), [(1, 16), (16, 16), (17, 32), (32, 32), (33, 64), (64, 64)]
)
def test_a_network_is_in_the_smallest_size_class_that_has_room(hosts: int, capacity: int) -> None:
    network = tiny.network(*(tiny.host(f"host{h}") for h in range(hosts)))
    assert capacity_of(network) == capacity
