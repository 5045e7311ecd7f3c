"""What a trained policy would do, computed once for each distinct observation."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.distinct import DistinctRows

Probabilities = Callable[[NDArray[np.int8]], NDArray[np.floating[Any]]]


class ProbabilityTable:
    """A policy's probabilities for each distinct observation met so far."""

    def __init__(self, probabilities: Probabilities, width: int, outputs: int) -> None:
        """Starts an empty table.

        Args:
            probabilities: of a policy: observations (u, width) to (u, outputs).
            width: values of an observation.
            outputs: what the policy chooses from.
        """
        self._probabilities = probabilities
        self._inputs = DistinctRows(width)
        self._rows = np.empty((1024, outputs))
        self._best = np.empty(1024, np.int64)

    @property
    def rows(self) -> NDArray[np.float64]:
        """(u, outputs) the probabilities."""
        return self._rows[: len(self._inputs)]

    def number(self, observation: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the row of each observation; the policy is asked about new ones only."""
        before = len(self._inputs)
        ids = self._inputs.number(np.ascontiguousarray(observation, np.int8))
        size = len(self._inputs)
        if size > before:
            while len(self._rows) < size:
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
                self._best = np.concatenate([self._best, np.empty_like(self._best)])
            self._rows[before:size] = self._probabilities(self._inputs.rows[before:])
            self._best[before:size] = self._rows[before:size].argmax(axis=1)
        return ids

    def best(
        self, ids: NDArray[np.int32], allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Returns (n,) the most probable output of each row, or of those allowed (n, outputs)."""
        if allowed is None:
            return self._best[ids]
        return np.asarray(np.where(allowed, self._rows[ids], -1.0).argmax(axis=1))

    def sample(
        self,
        ids: NDArray[np.int32],
        uniforms: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Returns (n,) an output of each row, drawn by its probability among those allowed."""
        p = self._rows[ids] if allowed is None else self._rows[ids] * allowed
        cumulative = p.cumsum(axis=1)
        threshold = uniforms * cumulative[:, -1]
        return np.asarray((cumulative > threshold[:, None]).argmax(axis=1))
