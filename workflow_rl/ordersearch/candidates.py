"""Which orders a strategy looks at, and how it ranks them; ties break the same way everywhere.

While there are few orders all of them are looked at. Of more, a local search over swaps and
insertions looks for those with the highest score, from many starts.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from workflow_rl.estimates import Floats
from workflow_rl.workflow.orders import Indices, Orders

DECIMALS: Final = 9  # scores equal to this many decimals are ties
_POOL: Final = 256  # orders drawn, where they cannot be listed, to begin with
_STARTS: Final = 6  # it climbs, one after the other, from the best of these and of those known

Scorer = Callable[[Indices], Floats]


def ranked(
    orders: Orders, candidates: Indices, score: Floats, far_from: Sequence[int] = ()
) -> Indices:
    """Returns the places of candidates by falling score; ties by distance, then by number.

    Equals are ranked by how far they are from `far_from`: from the nearest of those, then from all
    together.
    """
    keys = [-np.round(score, DECIMALS)]
    if len(far_from):
        distance = orders.distances(candidates, far_from)
        keys += [-distance.min(axis=1), -distance.sum(axis=1)]
    return np.lexsort((candidates, *reversed(keys)))


def spread_out(orders: Orders, number: int, seed: int) -> list[int]:
    """Returns orders far from each other: each the farthest from those before, ties by number."""
    rng = np.random.default_rng([seed, 120])
    chosen: list[int] = orders.draw(rng, 1).tolist()
    while len(chosen) < min(number, orders.count):
        chosen.append(farthest(orders, chosen, seed))
    return chosen[:number]


def farthest(orders: Orders, taken: Sequence[int], seed: int) -> int:
    """Returns an order that is not taken, the farthest from those that are; of many, of a draw."""
    candidates = _looked_at(orders, np.random.default_rng([seed, 120, len(taken)]))
    is_new = -np.isin(candidates, taken).astype(np.float64)
    return int(candidates[ranked(orders, candidates, is_new, taken)[0]])


def _looked_at(orders: Orders, rng: np.random.Generator) -> Indices:
    return orders.listed() if orders.is_listable else np.unique(orders.draw(rng, _POOL))


def promising(
    orders: Orders, score: Scorer, known: Sequence[int], seed: Sequence[int], most: int
) -> tuple[Indices, Floats]:
    """Returns candidate orders with their scores: all of them, or the best found by local search.

    Args:
        orders: the search space.
        score: of orders (k,), the higher the better.
        known: orders to start from besides those drawn, the best first.
        seed: of the draws.
        most: orders to look at, where they cannot be listed.
    """
    if orders.is_listable:
        listed = orders.listed()
        return listed, score(listed)
    drawn = orders.draw(np.random.default_rng(seed), min(_POOL, most // 2))
    starts = np.unique(np.concatenate([drawn, np.array(known[:_STARTS], np.int64)]))
    seen = dict(zip(starts.tolist(), score(starts).tolist(), strict=True))
    for start in sorted(seen, key=lambda order: (-seen[order], order))[:_STARTS]:
        top: int | None = start
        while top is not None and len(seen) < most:
            top = _climb(orders, score, seen, top, most)
    found = np.array(sorted(seen), np.int64)
    return found, np.array([seen[order] for order in found.tolist()])


def _climb(
    orders: Orders, score: Scorer, seen: dict[int, float], top: int, most: int
) -> int | None:
    """Returns the best neighbour of an order, if it is better; notes the score of all of them."""
    near = orders.neighbours(top)
    new = np.setdiff1d(near, list(seen))[: most - len(seen)]
    if len(new):
        seen |= dict(zip(new.tolist(), score(new).tolist(), strict=True))
    known = [order for order in near.tolist() if order in seen]
    best = max(known, key=lambda order: (seen[order], -order), default=top)
    return best if seen[best] > seen[top] else None
