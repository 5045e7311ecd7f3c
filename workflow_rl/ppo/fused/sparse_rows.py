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
from workflow_rl.ppo.fused.layers import activate_row

# A cell is a number that is not 0, in the upper half of its bits, and its place in the lower half.
# Lists are filled up with cells of 0 so that they can be read four at a time.
_SHIFT = 16
_PLACE = (1 << _SHIFT) - 1
_FOUR = 4
_BYTES = 8  # of a word
_BLOCK = 255  # words whose marks can be added up in a byte
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)  # of each byte
_MARKS = np.uint64(0x0101010101010101)
_EVERY_OTHER = np.uint64(0x00FF00FF00FF00FF)
_SUM = np.uint64(0x0001000100010001)
_SEVEN, _EIGHT, _LAST = np.uint64(7), np.uint64(8), np.uint64(48)


def in_words(rows: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Returns a copy of rows (n, width) as whole words (n, words), with 0 behind each row."""
    n, width = rows.shape
    words = np.zeros((n, -(-width // _BYTES)), np.uint64)
    words.view(np.int8)[:, :width] = rows
    return words


@rule
def _number_of_changes(words: NDArray[Any], other: NDArray[Any]) -> int:
    """Returns in how many bytes two rows differ."""
    number = 0
    for first in range(0, len(words), _BLOCK):
        some, others = words[first : first + _BLOCK], other[first : first + _BLOCK]
        marks = np.uint64(0)  # in each byte, how often it differed
        for w in range(len(some)):
            change = some[w] ^ others[w]
            marks += ((change & _LOW_BITS) + _LOW_BITS | change) >> _SEVEN & _MARKS
        pairs = (marks & _EVERY_OTHER) + (marks >> _EIGHT & _EVERY_OTHER)
        number += int(pairs * _SUM >> _LAST)
    return number


@kernel()
def _measure(
    words: NDArray[Any], chosen: NDArray[Any], starts: NDArray[Any], is_whole: NDArray[Any]
) -> None:
    """Says where each row's list begins, and whether it is that of the row alone."""
    nothing = np.zeros_like(words[0])
    starts[0] = 0
    for k in range(len(chosen)):
        row = words[chosen[k]]
        size = _number_of_changes(row, nothing)
        is_whole[k] = True
        if k > 0:
            changes = _number_of_changes(row, words[chosen[k - 1]])
            if changes < size:
                size = changes
                is_whole[k] = False
        starts[k + 1] = starts[k] + (size + _FOUR - 1) // _FOUR * _FOUR


@rule
def _list_changes(
    row: NDArray[Any],
    words: NDArray[Any],
    other: NDArray[Any],
    other_words: NDArray[Any],
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


@kernel()
def _list(
    rows: NDArray[Any],
    words: NDArray[Any],
    chosen: NDArray[Any],
    starts: NDArray[Any],
    is_whole: NDArray[Any],
    cells: NDArray[Any],
) -> None:
    nothing, no_words = np.zeros_like(rows[0]), np.zeros_like(words[0])
    for k in range(len(chosen)):
        this, at = chosen[k], starts[k]
        if is_whole[k]:
            at = _list_changes(rows[this], words[this], nothing, no_words, cells, at)
        else:
            last = chosen[k - 1]
            at = _list_changes(rows[this], words[this], rows[last], words[last], cells, at)
        while at < starts[k + 1]:
            cells[at] = 0
            at += 1


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
        while ends[i] % _FOUR:
            new_cells[ends[i]] = 0
            ends[i] += 1


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
def _layer(
    starts: NDArray[Any],
    cells: NDArray[Any],
    is_whole: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    kind: int,
    out: NDArray[Any],
) -> None:
    sums = np.empty(weight.shape[1], np.float32)
    for k in range(len(is_whole)):
        if is_whole[k]:
            sums[:] = 0
        _add_rows(sums, cells, starts[k], starts[k + 1], weight)
        out[k] = sums
        activate_row(out[k], bias, kind)


@kernel(reorder=True)
def _weight_gradient(
    is_whole: NDArray[Any],
    gradient: NDArray[Any],
    starts: NDArray[Any],
    cells: NDArray[Any],
    out: NDArray[Any],
) -> None:
    for k in range(len(is_whole) - 1, 0, -1):
        if not is_whole[k]:  # what changes a row changes those that build on it
            for j in range(gradient.shape[1]):
                gradient[k - 1, j] += gradient[k, j]
    for i in range(len(out)):
        _add_rows(out[i], cells, starts[i], starts[i + 1], gradient)


class SparseRows:
    """Some rows of small integers, as lists of what changes from each to the next."""

    def __init__(self, words: NDArray[np.uint64], chosen: NDArray[np.int64]) -> None:
        """Lists words[chosen], as `in_words` makes them; up to 65,536 rows of as many numbers."""
        self._starts = np.empty(len(chosen) + 1, np.int64)
        self._is_whole = np.empty(len(chosen), np.bool_)
        _measure(words, chosen, self._starts, self._is_whole)
        self._cells = np.empty(self._starts[-1] + 1, np.int32)
        rows = words.view(np.int8)
        _list(rows, words, chosen, self._starts, self._is_whole, self._cells)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self._is_whole)

    def layer(
        self,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        kind: int,
        out: NDArray[np.float32],
    ) -> None:
        """Puts the outputs of a layer for the rows into out (n, units).

        Args:
            weight: (width, units).
            bias: (units,).
            kind: of the layer, as in `layers`.
            out: where to.
        """
        _layer(self._starts, self._cells, self._is_whole, weight, bias, kind, out)

    def add_weight_gradient(self, gradient: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Adds rows.T @ gradient (n, units) to out (width, units); overwrites the gradient."""
        starts = np.zeros(len(out) + 1, np.int64)
        cells = np.empty(self._starts[-1] + _FOUR * len(out), np.int32)
        _transpose(self._starts, self._cells, starts, cells)
        _weight_gradient(self._is_whole, gradient, starts, cells, out)
