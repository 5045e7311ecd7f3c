"""Whole searches of landscapes whose truth is known: GP-UCB against chance.

What is compared is the regret of the orders tried after the design: it tells strategies apart
from a few short searches, where that of the recommended order takes many long ones.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.quick import PAIRS, PRECEDENCE, Floats, made, tried
from workflow_rl.ordersearch.recommendation import recommend
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

DESIGN = 4


@dataclass(frozen=True)
class Truth:
    """What every order is worth and whether it complies."""

    seed: int
    values: Floats
    complies: NDArray[np.bool_]

    def trial(self, order: int, repeat: int) -> TriedOrder:
        """A look through noise that depends on the trial alone, as a training's does."""
        noise = float(np.random.default_rng([self.seed, order, repeat]).normal())
        good = bool(self.complies[order])
        return tried(order, self.values[order] + noise, 0.97 if good else 0.6, good)

    def regret(self, order: int) -> float:
        """What an order falls short of the best by; one that fails is as bad as the worst."""
        counted = self.values[self.complies]
        mine = self.values[order] if self.complies[order] else counted.min()
        return float(counted.max() - mine)


def pairs(seed: int) -> Truth:
    """Adds up what each pair's arrangement is worth."""
    values = PRECEDENCE @ np.random.default_rng([seed, 7]).normal(size=len(PAIRS))
    scaled = -30.0 + 3.0 * (values - values.mean()) / values.std()
    return Truth(seed, scaled, np.full(NUM_ORDERS, True))


def half(seed: int) -> Truth:
    """As `pairs`, but one pair's arrangement decides whether an order complies."""
    return Truth(seed, pairs(seed).values, PRECEDENCE[:, seed % len(PAIRS)] > 0)


def regrets(name: str, truth: Truth, trials: int) -> tuple[float, float]:
    """The mean regret of what a search tries after its design, and of what it recommends."""
    strategy = made(name, initial_design=DESIGN, seed=truth.seed)
    seen: list[TriedOrder] = []
    for _ in range(trials):
        order = strategy.pick(seen, []).order
        seen.append(truth.trial(order, [o.order for o in seen].count(order)))
    given = recommend(TYPES, seen)
    assert given.is_compliant
    return float(np.mean([truth.regret(o.order) for o in seen[DESIGN:]])), truth.regret(given.order)


@pytest.mark.parametrize(
    ("seeds", "trials"), [(6, 10), pytest.param(30, 20, marks=pytest.mark.slow)]
)
def test_it_finds_a_good_order_that_complies_where_half_of_them_do_not(
    seeds: int, trials: int
) -> None:
    (ours, handed_over), (theirs, handed_over_by_chance) = (
        np.array([regrets(name, half(seed), trials) for seed in range(seeds)]).T
        for name in ("gp-ucb", "random")
    )
    difference = theirs - ours
    assert difference.mean() > 2.5 * difference.std(ddof=1) / np.sqrt(seeds)
    assert seeds > 6 or ours.mean() < 0.6 * theirs.mean()
    assert handed_over.mean() < 0.7 * handed_over_by_chance.mean()
