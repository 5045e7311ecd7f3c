"""What searches find on synthetic values of all orders."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.values import Objective, landscape, objective, strategy
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import PAIRS, PRECEDENCE


def tried(name: str, seed: int, of: Objective, number: int, capacity: int = 1) -> list[Observation]:
    """What a strategy tries, with so many trials at a time, of which the first begun ends first."""
    chooser = strategy(name, seed)
    seen: list[Observation] = []
    pending: list[int] = []
    while len(seen) < number:
        while len(pending) < capacity and len(seen) + len(pending) < number:
            pending.append(chooser.pick(seen, pending).order)
        order = pending.pop(0)
        seen.append(of(order, sum(observation.order == order for observation in seen)))
    return seen


def regrets(name: str, kind: str, seeds: int, number: int, capacity: int = 1) -> list[float]:
    """How far the recommended order's true value is from the best one's, for each seed."""
    found = []
    for seed in range(seeds):
        values = landscape(kind, seed)
        given = recommend(tried(name, seed, objective(kind, seed), number, capacity))
        found.append(float(values.max() - values[given.order]))
    return found


def clearly_less(ours: list[float], theirs: list[float]) -> bool:
    """Whether the mean difference of paired results is more than 2.5 standard errors."""
    difference = np.array(theirs) - np.array(ours)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > 2.5 * error)


@pytest.mark.parametrize(("kind", "seeds", "number"), [("pairs", 12, 10), ("peak", 8, 12)])
def test_it_beats_random_search(kind: str, seeds: int, number: int) -> None:
    ours = regrets("gp-ucb", kind, seeds, number)
    theirs = regrets("random", kind, seeds, number)
    assert clearly_less(ours, theirs)
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [1, 2, 4])
@pytest.mark.parametrize("kind", ["pairs", "peak"])
def test_it_beats_random_search_over_many_seeds_also_side_by_side(kind: str, capacity: int) -> None:
    seeds, number = 30, 20
    ours = regrets("gp-ucb", kind, seeds, number, capacity)
    for other in ("random", "round-robin"):
        theirs = regrets(other, kind, seeds, number, capacity)
        assert clearly_less(ours, theirs)
        assert np.mean(ours) < 0.6 * np.mean(theirs)


@pytest.mark.parametrize("seeds", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_it_finds_a_good_order_that_complies_where_half_of_them_do_not(seeds: int) -> None:
    regret: dict[str, list[float]] = {"gp-ucb": [], "random": []}
    for seed in range(seeds):
        values = landscape("pairs", seed)
        complies = PRECEDENCE[:, seed % len(PAIRS)] > 0  # one pair's arrangement decides it
        noisy = objective("pairs", seed)

        def value(
            order: int,
            repeat: int,
            noisy: Objective = noisy,
            complies: NDArray[np.bool_] = complies,
        ) -> Observation:
            good = bool(complies[order])
            return Observation(order, noisy(order, repeat).value, 0.97 if good else 0.6, good)

        for name, found in regret.items():
            done = tried(name, seed, value, 20)
            given = recommend(done)
            assert given.is_compliant
            found.append(float(values[complies].max() - values[given.order]))
            if name == "gp-ucb":
                late = [observation.order for observation in done[10:]]
                assert np.mean(complies[late]) >= 0.5
    assert np.mean(regret["gp-ucb"]) < 0.7 * np.mean(regret["random"])
