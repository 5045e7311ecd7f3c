"""Inputs as lists of what is not 0, and their products with matrices.

Inputs are small integers, most of them 0. Adding up the rows of a first layer's weights that an
input names takes half the time of the dense product or less (docs/decisions.md).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel


@kernel()
def _list(
    rows: NDArray[Any], starts: NDArray[Any], places: NDArray[Any], values: NDArray[Any]
) -> None:
    at = 0
    for k in range(rows.shape[0]):
        starts[k] = at
        for i in range(rows.shape[1]):
            places[at] = i  # written always, counted if not 0: no branch to mispredict
            values[at] = rows[k, i]
            at += rows[k, i] != 0
    starts[rows.shape[0]] = at


@kernel(reorder=True)
def _products(
    chosen: NDArray[Any],
    starts: NDArray[Any],
    places: NDArray[Any],
    values: NDArray[Any],
    matrix: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Adds the sum of values times rows of the matrix to out[k], for each list chosen[k]."""
    for k in range(len(chosen)):
        at, end = starts[chosen[k]], starts[chosen[k] + 1]
        row = out[k]
        while at + 4 <= end:
            a, b, c, d = values[at], values[at + 1], values[at + 2], values[at + 3]
            p, q, r, s = places[at], places[at + 1], places[at + 2], places[at + 3]
            for j in range(matrix.shape[1]):
                row[j] += (a * matrix[p, j] + b * matrix[q, j]) + (
                    c * matrix[r, j] + d * matrix[s, j]
                )
            at += 4
        while at < end:
            a, p = values[at], places[at]
            for j in range(matrix.shape[1]):
                row[j] += a * matrix[p, j]
            at += 1


@kernel()
def _transpose(
    chosen: NDArray[Any],
    starts: NDArray[Any],
    places: NDArray[Any],
    values: NDArray[Any],
    new_starts: NDArray[Any],
    new_places: NDArray[Any],
    new_values: NDArray[Any],
) -> None:
    """Lists, for each place, the chosen rows that have something there."""
    for k in range(len(chosen)):
        for at in range(starts[chosen[k]], starts[chosen[k] + 1]):
            new_starts[places[at] + 2] += 1
    for i in range(2, len(new_starts)):
        new_starts[i] += new_starts[i - 1]
    for k in range(len(chosen)):
        for at in range(starts[chosen[k]], starts[chosen[k] + 1]):
            to = new_starts[places[at] + 1]
            new_starts[places[at] + 1] = to + 1
            new_places[to] = k
            new_values[to] = values[at]


class NonZeros:
    """The values of integer rows that are not 0, and where they stand."""

    def __init__(self, rows: NDArray[np.int8]) -> None:
        """Lists them for rows (n, width)."""
        n, self.width = rows.shape
        size = np.count_nonzero(rows)
        self._starts = np.empty(n + 1, np.int64)
        self._places = np.empty(size + 1, np.int32)
        self._values = np.empty(size + 1, np.float32)
        _list(rows, self._starts, self._places, self._values)

    def add_product(
        self, chosen: NDArray[np.int64], matrix: NDArray[np.float32], out: NDArray[np.float32]
    ) -> None:
        """Adds rows[chosen] @ matrix (width, m) to out (len(chosen), m)."""
        _products(chosen, self._starts, self._places, self._values, matrix, out)

    def add_transposed_product(
        self, chosen: NDArray[np.int64], matrix: NDArray[np.float32], out: NDArray[np.float32]
    ) -> None:
        """Adds rows[chosen].T @ matrix (len(chosen), m) to out (width, m)."""
        size = int((self._starts[chosen + 1] - self._starts[chosen]).sum())
        starts = np.zeros(self.width + 2, np.int64)
        places, values = np.empty(size, np.int32), np.empty(size, np.float32)
        _transpose(chosen, self._starts, self._places, self._values, starts, places, values)
        _products(np.arange(self.width), starts, places, values, matrix, out)
