"""Choosing among the 120 orders, all of them looked at; ties break the same way everywhere."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, PRECEDENCE

DECIMALS: Final = 9  # scores that agree to so many are ties
EVERY_ORDER: Final = np.arange(NUM_ORDERS)


def ranked(score: NDArray[np.float64], far_from: Sequence[int] = ()) -> NDArray[np.int64]:
    """Returns (120,) the orders by falling score; ties by distance, if asked for, then by index.

    Args:
        score: (120,).
        far_from: orders from which equals had better be far: first from the nearest of them, then
            from all together.
    """
    keys = [-np.round(score, DECIMALS)]
    if far_from:
        precedence = PRECEDENCE.astype(np.int64)
        distance = (len(PAIRS) - precedence @ precedence[list(far_from)].T) // 2
        keys += [-distance.min(axis=1), -distance.sum(axis=1)]
    return np.lexsort((EVERY_ORDER, *reversed(keys)))


def spread_out(number: int, seed: int) -> list[int]:
    """Returns orders far from each other: each the farthest from those before, ties by index."""
    chosen = [int(np.random.default_rng([seed, 120]).integers(NUM_ORDERS))]
    while len(chosen) < min(number, NUM_ORDERS):
        chosen.append(int(ranked(-np.isin(EVERY_ORDER, chosen).astype(float), chosen)[0]))
    return chosen[:number]
