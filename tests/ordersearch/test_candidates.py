import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.ordersearch.quick import EVERY, HOSTS, PAIRS
from workflow_rl.ordersearch.candidates import promising, ranked, spread_out
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES, Indices

APART = TYPES.distances(EVERY, EVERY)


@given(st.lists(st.integers(-3, 3), min_size=NUM_ORDERS, max_size=NUM_ORDERS))
def test_a_ranking_falls_and_equals_keep_their_sequence(scores: list[int]) -> None:
    ranking = ranked(TYPES, EVERY, np.array(scores, float)).tolist()
    assert ranking == sorted(range(NUM_ORDERS), key=lambda order: (-scores[order], order))


@pytest.mark.parametrize(("above", "first"), [(4e-10, 0), (1e-9, 70), (np.inf, 70)])
def test_scores_that_differ_by_rounding_are_equal(above: float, first: int) -> None:
    score = np.full(NUM_ORDERS, 0.0 if above < 1 else -np.inf)
    score[70] = above
    assert ranked(TYPES, EVERY, score)[0] == first


@given(st.lists(st.integers(0, NUM_ORDERS - 1), min_size=1, max_size=6))
def test_among_equals_the_farthest_from_the_nearest_and_then_from_all_is_first(
    far_from: list[int],
) -> None:
    def distances(order: int) -> list[int]:
        return [int(APART[order, other]) for other in far_from]

    score = np.zeros(NUM_ORDERS)
    score[7] = -1.0
    ranking = ranked(TYPES, EVERY, score, far_from).tolist()
    assert ranking[-1] == 7
    assert ranking[:-1] == sorted(
        (order for order in range(NUM_ORDERS) if order != 7),
        key=lambda order: (-min(distances(order)), -sum(distances(order)), order),
    )


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_spread_out_orders_are_distinct_and_each_as_far_as_possible(seed: int) -> None:
    chosen = spread_out(TYPES, NUM_ORDERS, seed)
    assert sorted(chosen) == list(range(NUM_ORDERS))
    for length in range(1, 20):
        before = chosen[:length]
        nearest = {
            order: min(APART[order, other] for other in before) for order in range(NUM_ORDERS)
        }
        assert nearest[chosen[length]] == max(nearest.values())
    assert TYPES.distance(chosen[0], chosen[1]) == len(PAIRS)  # the reverse


def test_spread_out_is_the_same_for_a_seed_and_differs_between_seeds() -> None:
    assert spread_out(TYPES, 10, 3) == spread_out(TYPES, 10, 3)
    assert spread_out(TYPES, 10, 3) == spread_out(TYPES, 30, 3)[:10]
    assert len({tuple(spread_out(TYPES, 5, seed)) for seed in range(10)}) > 5

    recorded = [243785187, 24514064, 133992441, 463314825, 60774854]
    assert spread_out(HOSTS, 5, 0) == recorded  # that with which earlier searches began
    assert [len(spread_out(TYPES, number, 0)) for number in (0, 1, 500)] == [0, 1, NUM_ORDERS]


class Asked:
    """A score of orders that remembers what it was asked for: some have one, all others 0."""

    def __init__(self, scores: dict[int, float]) -> None:
        self.scores = scores
        self.calls: list[list[int]] = []

    def __call__(self, orders: Indices) -> NDArray[np.float64]:
        self.calls.append(orders.tolist())
        return np.array([self.scores.get(order, 0.0) for order in orders.tolist()])


def test_half_of_a_small_budget_is_drawn_and_the_rest_spent_near_the_best() -> None:
    best, score = 123_456_789, Asked({123_456_789: 2.0, 7: 1.0})
    found, scores = promising(HOSTS, score, [7, best], [0], most=100)
    assert len(score.calls[0]) == 50 + 2
    assert set(score.calls[1]) <= set(HOSTS.neighbours(best).tolist())
    assert found.tolist() == sorted(order for call in score.calls for order in call)
    assert len(found) == 100
    assert scores.tolist() == score(found).tolist()


def test_what_is_known_is_looked_at_even_beyond_the_budget_and_no_more() -> None:
    score, known = Asked({}), [10, 20, 30, 40, 50, 60, 70]
    found, _ = promising(HOSTS, score, known, [0], most=4)
    assert set(known) & set(found.tolist()) == set(known[:6])  # the best of them
    assert len(score.calls) == 1
    assert len(found) == 6 + 2  # half of the budget
