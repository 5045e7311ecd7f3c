"""Whole searches of landscapes whose truth is known: the strategies against chance.

What is compared is the regret of the orders tried after the design: it tells strategies apart
from a few short searches, where that of the recommended order takes many long ones.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.quick import PAIRS, PRECEDENCE, Floats, made, tried
from workflow_rl.ordersearch.recommendation import Recommendation, recommend
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


def scaled(values: Floats) -> Floats:
    return np.asarray(-30.0 + 3.0 * (values - values.mean()) / values.std())


def pairs(seed: int) -> Truth:
    """Adds up what each pair's arrangement is worth."""
    worth = np.random.default_rng([seed, 7]).normal(size=len(PAIRS))
    return Truth(seed, scaled(PRECEDENCE @ worth), np.full(NUM_ORDERS, True))


def peak(seed: int) -> Truth:
    """Falls off from one order."""
    best = PRECEDENCE[np.random.default_rng([seed, 7]).integers(NUM_ORDERS)].astype(int)
    values = np.exp(-(len(PAIRS) - PRECEDENCE @ best) / 2 / 3.0)
    return Truth(seed, scaled(values), np.full(NUM_ORDERS, True))


def half(seed: int) -> Truth:
    """As `pairs`, but one pair's arrangement decides whether an order complies."""
    return Truth(seed, pairs(seed).values, PRECEDENCE[:, seed % len(PAIRS)] > 0)


def searched(name: str, truth: Truth, trials: int, side_by_side: int = 1) -> list[TriedOrder]:
    """The observations of a search with so many trials under way."""
    strategy = made(name, initial_design=DESIGN, seed=truth.seed)
    seen: list[TriedOrder] = []
    pending: list[int] = []
    while len(seen) < trials:
        while len(pending) < min(side_by_side, trials - len(seen)):
            pending.append(strategy.pick(seen, pending).order)
        order = pending.pop(0)
        seen.append(truth.trial(order, [o.order for o in seen].count(order)))
    return seen


def regrets(
    name: str, made: Callable[[int], Truth], seeds: int, trials: int, side_by_side: int = 1
) -> tuple[Floats, Floats, list[Recommendation]]:
    """(seeds,) the mean regret of what was tried after the design, and of what is recommended."""
    tried, handed_over, all_given = [], [], []
    for truth in map(made, range(seeds)):
        seen = searched(name, truth, trials, side_by_side)
        given = recommend(TYPES, seen)
        tried.append(np.mean([truth.regret(o.order) for o in seen[DESIGN:]]))
        handed_over.append(truth.regret(given.order))
        all_given.append(given)
    return np.array(tried), np.array(handed_over), all_given


def clearly_less(ours: Floats, theirs: Floats) -> bool:
    """Whether the mean difference of paired results is more than 2.5 standard errors."""
    difference = theirs - ours
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > 2.5 * error)


@pytest.mark.parametrize("made", [pairs, peak])
def test_it_tries_better_orders_than_random_search(made: Callable[[int], Truth]) -> None:
    ours, handed_over, _ = regrets("gp-ucb", made, seeds=6, trials=10)
    theirs, handed_over_by_chance, _ = regrets("random", made, seeds=6, trials=10)
    assert clearly_less(ours, theirs)
    assert ours.mean() < 0.6 * theirs.mean()
    assert handed_over.mean() < 0.5 * handed_over_by_chance.mean()


@pytest.mark.parametrize(
    ("seeds", "trials"), [(6, 10), pytest.param(30, 20, marks=pytest.mark.slow)]
)
def test_it_finds_a_good_order_that_complies_where_half_of_them_do_not(
    seeds: int, trials: int
) -> None:
    ours, handed_over, given = regrets("gp-ucb", half, seeds, trials)
    theirs, handed_over_by_chance, _ = regrets("random", half, seeds, trials)
    assert all(one.is_compliant for one in given)
    assert clearly_less(ours, theirs)
    assert seeds > 6 or ours.mean() < 0.6 * theirs.mean()
    assert handed_over.mean() < 0.7 * handed_over_by_chance.mean()


@pytest.mark.slow
@pytest.mark.parametrize("side_by_side", [1, 2, 4])
@pytest.mark.parametrize("made", [pairs, peak])
def test_it_recommends_better_orders_over_many_seeds_also_side_by_side(
    made: Callable[[int], Truth], side_by_side: int
) -> None:
    ours, handed_over, _ = regrets("gp-ucb", made, 30, 20, side_by_side)
    for other in ("random", "round-robin"):
        theirs, handed_over_by_other, _ = regrets(other, made, 30, 20, side_by_side)
        assert clearly_less(ours, theirs)
        assert clearly_less(handed_over, handed_over_by_other)
        assert handed_over.mean() < 0.6 * handed_over_by_other.mean()
