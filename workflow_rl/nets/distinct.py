"""Distinct rows, and a cache of a function's results for them.

Blue's observations are a few dozen bits and repeat heavily: 20,000 transitions hold a few hundred
to a few thousand different ones. While the policy does not change, one forward pass per distinct
observation is enough.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array, has_form
from workflow_rl.jit import kernel, rule

_EMPTY = -1
_LOAD = 2  # hash slots per stored row, at least
_WORD = 8  # bytes


def in_words(rows: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Returns a copy of rows (n, width) as whole words (n, words), with 0 behind each row."""
    n, width = rows.shape
    words = np.zeros((n, -(-width // _WORD)), np.uint64)
    words.view(np.int8)[:, :width] = rows
    return words


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@rule
def hash_row(row: NDArray[np.uint64]) -> int:
    """Returns a hash of one row of words (FNV-1a on words, mixed in between)."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(len(row)):
        value = (value ^ row[i]) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(32)
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@rule
def find_slot(row: NDArray[np.uint64], stored: NDArray[np.uint64], slots: NDArray[np.int32]) -> int:
    """Returns the slot of an equal stored row, or the empty one where it belongs."""
    mask = len(slots) - 1
    slot = hash_row(row) & mask
    while slots[slot] != _EMPTY:
        other = stored[slots[slot]]
        equal = True
        for i in range(len(row)):
            if row[i] != other[i]:
                equal = False
                break
        if equal:
            break
        slot = (slot + 1) & mask
    return slot


@kernel()
def _insert(
    rows: NDArray[Any], stored: NDArray[Any], slots: NDArray[Any], size: int, ids: NDArray[Any]
) -> int:
    for k in range(len(rows)):
        slot = find_slot(rows[k], stored, slots)
        if slots[slot] == _EMPTY:
            stored[size] = rows[k]
            slots[slot] = size
            size += 1
        ids[k] = slots[slot]
    return size


@kernel()
def _rebuild(stored: NDArray[Any], slots: NDArray[Any], size: int) -> None:
    for k in range(size):
        slots[find_slot(stored[k], stored, slots)] = k


class DistinctRows:
    """Gives equal rows the same number, in order of first appearance."""

    def __init__(self, width: int, capacity: int = 1024) -> None:
        """Makes an empty collection of rows of `width` small integers."""
        capacity = 1 << max(capacity - 1, 1).bit_length()
        self._width = width
        self._stored = np.empty((capacity, -(-width // _WORD)), np.uint64)
        self._slots = np.full(_LOAD * capacity, _EMPTY, np.int32)
        self._size = 0

    def __len__(self) -> int:
        """Returns the number of distinct rows."""
        return self._size

    @property
    def capacity(self) -> int:
        """Rows that there is room for."""
        return len(self._stored)

    @property
    def rows(self) -> NDArray[np.int8]:
        """(len, width) the distinct rows."""
        return self._stored[: self._size].view(np.int8)[:, : self._width]

    def number(self, rows: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the number of each row, adding those that are new.

        Raises:
            InvalidInputError: they are no rows (n, width) of small integers.
        """
        if not has_form(rows, (None, self._width), np.int8):
            rows = checked_array("rows", rows, (None, self._width), np.int8)
        self._reserve(self._size + len(rows))
        ids = np.empty(len(rows), np.int32)
        self._size = _insert(in_words(rows), self._stored, self._slots, self._size, ids)
        return ids

    def clear(self) -> None:
        """Removes all rows and keeps the memory."""
        self._slots.fill(_EMPTY)
        self._size = 0

    def _reserve(self, size: int) -> None:
        if size <= self.capacity:
            return
        self._stored = _grown(self._stored, 1 << (size - 1).bit_length())
        self._slots = np.full(_LOAD * self.capacity, _EMPTY, np.int32)
        _rebuild(self._stored, self._slots, self._size)


class Lookup:
    """A cache of a function's results by row; the function is called for new rows only."""

    def __init__(
        self,
        function: Callable[[NDArray[np.int8]], Sequence[NDArray[Any]]],
        width: int,
        capacity: int = 1024,
    ) -> None:
        """Starts empty; the function returns arrays (u, ...) for rows (u, width)."""
        self._function = function
        self.distinct = DistinctRows(width, capacity)
        self.results: list[NDArray[Any]] = []  # of the function, by the number of a row

    def clear(self) -> None:
        """Forgets all results and keeps the memory, which costs more to get anew than to fill."""
        self.distinct.clear()

    def number(self, rows: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the number of each row (n, width) among the results."""
        before = len(self.distinct)
        ids = self.distinct.number(rows)
        size = len(self.distinct)
        if size > before:
            new = self._function(self.distinct.rows[before:])
            kept = self.results or [array[:0] for array in new]
            if len(kept[0]) < size:
                kept = [_grown(array, self.distinct.capacity) for array in kept]
            for array, values in zip(kept, new, strict=True):
                array[before:size] = values
            self.results = kept
        return ids
