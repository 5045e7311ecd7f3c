"""Inputs as lists of what changes from one to the next, and their products with matrices.

Inputs are small integers, most of them 0, and an environment's inputs change little from step to
step. So the sums of a first layer are those of the row before plus a few rows of its weights, or of
what is not 0 in a row alone if that is less; and the gradient of the weights is added up the same
way backwards. This takes a third of the time of the dense products or less (docs/decisions.md).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import formula, kernel, rule

# A cell is a number that is not 0, in the upper half of its bits, and its place in the lower half.
# Lists are filled up with cells of 0 so that they can be read four at a time.
_SHIFT = 16
_PLACE = (1 << _SHIFT) - 1
_FOUR = 4
_BYTES = 8  # of a word


@rule
def _list_changes(
    words: NDArray[Any],
    row: NDArray[Any],
    other_words: NDArray[Any],
    other: NDArray[Any],
    cells: NDArray[Any],
    at: int,
) -> int:
    """Lists where a row differs from another, and returns the list's end."""
    for w in range(len(words)):
        if words[w] != other_words[w]:
            for i in range(_BYTES * w, _BYTES * w + _BYTES):
                change = np.int64(row[i]) - np.int64(other[i])
                cells[at] = change << _SHIFT | i  # written always, counted if not 0:
                at += change != 0  # no branch to mispredict
    return at


@rule
def _fill_up(cells: NDArray[Any], at: int) -> int:
    while at % _FOUR:
        cells[at] = 0
        at += 1
    return at


@kernel()
def _list(
    words: NDArray[Any],
    rows: NDArray[Any],
    chosen: NDArray[Any],
    starts: NDArray[Any],
    is_whole: NDArray[Any],
    cells: NDArray[Any],
) -> None:
    """Lists each row: what is not 0 in it, or what changes from the one before if that is less."""
    no_words, nothing = np.zeros_like(words[0]), np.zeros_like(rows[0])
    starts[0] = 0
    for k in range(len(chosen)):
        this, at = chosen[k], starts[k]
        end = at
        is_whole[k] = True
        if k > 0:
            last = chosen[k - 1]
            end = _list_changes(words[this], rows[this], words[last], rows[last], cells, at)
            is_whole[k] = np.count_nonzero(rows[this]) <= end - at
        if is_whole[k]:
            end = _list_changes(words[this], rows[this], no_words, nothing, cells, at)
        starts[k + 1] = _fill_up(cells, end)


@kernel()
def _transpose(
    starts: NDArray[Any], cells: NDArray[Any], new_starts: NDArray[Any], new_cells: NDArray[Any]
) -> None:
    """Lists, for each place, the rows that have a cell there."""
    ends = new_starts[1:]  # first how many cells a place has, then where its next one belongs
    for at in range(starts[-1]):
        if cells[at] != 0:
            ends[cells[at] & _PLACE] += 1
    total = 0
    for i in range(len(ends)):
        size = ends[i]
        ends[i] = total
        total += (size + _FOUR - 1) // _FOUR * _FOUR
    for k in range(len(starts) - 1):
        for at in range(starts[k], starts[k + 1]):
            if cells[at] == 0:
                break
            place = cells[at] & _PLACE
            new_cells[ends[place]] = cells[at] - place | k
            ends[place] += 1
    for i in range(len(ends)):
        ends[i] = _fill_up(new_cells, ends[i])


@formula
def _add_rows(
    out: NDArray[Any], cells: NDArray[Any], start: int, end: int, matrix: NDArray[Any]
) -> None:
    """Adds the rows of the matrix that a list names, times their numbers."""
    for at in range(start, end, _FOUR):
        e, f, g, h = cells[at], cells[at + 1], cells[at + 2], cells[at + 3]
        p, q, r, s = e & _PLACE, f & _PLACE, g & _PLACE, h & _PLACE
        a, b = np.float32(e >> _SHIFT), np.float32(f >> _SHIFT)
        c, d = np.float32(g >> _SHIFT), np.float32(h >> _SHIFT)
        for j in range(matrix.shape[1]):
            out[j] += (a * matrix[p, j] + b * matrix[q, j]) + (c * matrix[r, j] + d * matrix[s, j])


@kernel(reorder=True)
def _product(
    starts: NDArray[Any],
    cells: NDArray[Any],
    is_whole: NDArray[Any],
    matrix: NDArray[Any],
    out: NDArray[Any],
) -> None:
    sums = np.empty(matrix.shape[1], np.float32)
    for k in range(len(is_whole)):
        if is_whole[k]:
            sums[:] = 0
        _add_rows(sums, cells, starts[k], starts[k + 1], matrix)
        out[k] = sums


@kernel(reorder=True)
def _transposed_product(
    is_whole: NDArray[Any],
    matrix: NDArray[Any],
    starts: NDArray[Any],
    cells: NDArray[Any],
    out: NDArray[Any],
) -> None:
    for k in range(len(is_whole) - 1, 0, -1):
        if not is_whole[k]:  # what changes a row changes those that build on it
            for j in range(matrix.shape[1]):
                matrix[k - 1, j] += matrix[k, j]
    for i in range(len(out)):
        _add_rows(out[i], cells, starts[i], starts[i + 1], matrix)


class SparseRows:
    """Some rows of small integers, as lists of what changes from each to the next."""

    def __init__(self, words: NDArray[np.uint64], chosen: NDArray[np.int64]) -> None:
        """Lists words[chosen], as `in_words` makes them; up to 65,536 rows of as many numbers."""
        n, rows = len(chosen), words.view(np.int8)
        self._starts = np.empty(n + 1, np.int64)
        self._is_whole = np.empty(n, np.bool_)
        self._cells = np.empty(n * (rows.shape[1] + _FOUR) + 1, np.int32)
        _list(words, rows, chosen, self._starts, self._is_whole, self._cells)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self._is_whole)

    def product(self, matrix: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Puts rows @ matrix (width, units) into out (n, units)."""
        _product(self._starts, self._cells, self._is_whole, matrix, out)

    def add_transposed_product(self, matrix: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Adds rows.T @ matrix (n, units) to out (width, units); overwrites the matrix."""
        starts = np.zeros(len(out) + 1, np.int64)
        cells = np.empty(self._starts[-1] + _FOUR * len(out), np.int32)
        _transpose(self._starts, self._cells, starts, cells)
        _transposed_product(self._is_whole, matrix, starts, cells, out)
