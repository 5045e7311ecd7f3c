"""Inputs as lists of what is not 0, and their products with matrices.

Inputs are small integers, most of them 0. Adding up the rows of a first layer's weights that an
input names takes half the time of the dense product or less (docs/decisions.md).
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import formula, kernel
from workflow_rl.ppo.elementary import activate_row

# A cell is a value that is not 0, in the upper half of its bits, and its place in the lower half.
# Lists are filled up with cells of 0 so that they can be read four at a time.
_SHIFT = 16
_PLACE = (1 << _SHIFT) - 1
_FOUR = 4


@kernel()
def _list(rows: NDArray[Any], starts: NDArray[Any], cells: NDArray[Any]) -> None:
    at = 0
    for k in range(rows.shape[0]):
        starts[k] = at
        for i in range(rows.shape[1]):
            cells[at] = np.int64(rows[k, i]) << _SHIFT | i  # no branch to mispredict:
            at += rows[k, i] != 0  # written always, counted if not 0
        while at % _FOUR:
            cells[at] = 0
            at += 1
    starts[rows.shape[0]] = at


@kernel()
def _transpose(
    chosen: NDArray[Any],
    starts: NDArray[Any],
    cells: NDArray[Any],
    new_starts: NDArray[Any],
    new_cells: NDArray[Any],
) -> None:
    ends = new_starts[1:]  # first how many cells a place has, then where its next one belongs
    for k in range(len(chosen)):
        for at in range(starts[chosen[k]], starts[chosen[k] + 1]):
            if cells[at] == 0:
                break
            ends[cells[at] & _PLACE] += 1
    total = 0
    for i in range(len(ends)):
        size = ends[i]
        ends[i] = total
        total += (size + _FOUR - 1) // _FOUR * _FOUR
    for k in range(len(chosen)):
        for at in range(starts[chosen[k]], starts[chosen[k] + 1]):
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
    """Adds the rows of the matrix that a list names, times their values."""
    for at in range(start, end, _FOUR):
        e, f, g, h = cells[at], cells[at + 1], cells[at + 2], cells[at + 3]
        p, q, r, s = e & _PLACE, f & _PLACE, g & _PLACE, h & _PLACE
        a, b = np.float32(e >> _SHIFT), np.float32(f >> _SHIFT)
        c, d = np.float32(g >> _SHIFT), np.float32(h >> _SHIFT)
        for j in range(matrix.shape[1]):
            out[j] += (a * matrix[p, j] + b * matrix[q, j]) + (c * matrix[r, j] + d * matrix[s, j])


@kernel(reorder=True)
def _layer(
    chosen: NDArray[Any],
    starts: NDArray[Any],
    cells: NDArray[Any],
    weight: NDArray[Any],
    bias: NDArray[Any],
    kind: int,
    out: NDArray[Any],
) -> None:
    for k in range(len(chosen)):
        out[k] = 0
        _add_rows(out[k], cells, starts[chosen[k]], starts[chosen[k] + 1], weight)
        activate_row(out[k], bias, kind)


@kernel(reorder=True)
def _product(
    starts: NDArray[Any], cells: NDArray[Any], matrix: NDArray[Any], out: NDArray[Any]
) -> None:
    for k in range(len(out)):
        _add_rows(out[k], cells, starts[k], starts[k + 1], matrix)


class NonZeros:
    """The values of integer rows that are not 0, and where they stand."""

    def __init__(self, starts: NDArray[np.int64], cells: NDArray[np.int32], width: int) -> None:
        """Takes the lists; `of` makes them."""
        self._starts = starts
        self._cells = cells
        self.width = width

    @classmethod
    def of(cls, rows: NDArray[np.int8]) -> Self:
        """Returns the lists of rows (n, width)."""
        n, width = rows.shape
        starts = np.empty(n + 1, np.int64)
        cells = np.empty(np.count_nonzero(rows) + n * (_FOUR - 1) + 1, np.int32)
        _list(rows, starts, cells)
        return cls(starts, cells, width)

    def transposed(self, chosen: NDArray[np.int64]) -> Self:
        """Returns the lists of rows[chosen].T, of at most 65,536 rows."""
        size = int((self._starts[chosen + 1] - self._starts[chosen]).sum())
        starts = np.zeros(self.width + 1, np.int64)
        cells = np.empty(size + self.width * (_FOUR - 1) + 1, np.int32)
        _transpose(chosen, self._starts, self._cells, starts, cells)
        return type(self)(starts, cells, len(chosen))

    def layer(
        self,
        chosen: NDArray[np.int64],
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        kind: int,
        out: NDArray[np.float32],
    ) -> None:
        """Puts the outputs of a layer for rows[chosen] into out (len(chosen), units).

        Args:
            chosen: which rows.
            weight: (width, units).
            bias: (units,).
            kind: of the layer, as in `elementary`.
            out: where to.
        """
        _layer(chosen, self._starts, self._cells, weight, bias, kind, out)

    def add_product(self, matrix: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Adds rows @ matrix (width, m) to out (n, m)."""
        _product(self._starts, self._cells, matrix, out)
