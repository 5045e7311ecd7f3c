import math

import numpy as np
import pytest

from tests.ordersearch.quick import EVERY, PRECEDENCE, complied, failed, trials_of
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.recommendation import Recommendation, recommend
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES


def test_it_is_the_compliant_tried_order_with_the_highest_believed_value() -> None:
    rng = np.random.default_rng(0)
    orders = rng.choice(NUM_ORDERS, 15, replace=False).tolist()
    values = (PRECEDENCE[orders] @ rng.normal(size=10) + rng.normal(size=15)).tolist()
    seen = trials_of(orders, values)
    belief = OrderGP(TYPES, orders, values).posterior(EVERY)
    given = recommend(TYPES, seen)
    assert given.order == max(orders, key=lambda o: float(belief.mean[o]))
    assert given.is_compliant
    assert given.mean == pytest.approx(belief.mean[given.order])
    assert given.deviation == pytest.approx(belief.deviation[given.order])
    assert given.observed == pytest.approx(values[orders.index(given.order)])
    assert len(given.tried) == 1


def test_trials_of_an_order_are_taken_together_but_for_those_that_failed() -> None:
    seen = [complied(5, -10.0), complied(5, -12.5), failed(5, 0.4, -1.0), failed(7, 0.4, -1.0)]
    given = recommend(TYPES, [*seen, complied(100, -30.0)])
    assert (given.order, given.observed, len(given.tried)) == (5, -11.25, 2)
    assert given.reason == "highest believed value of those that complied"


def test_the_only_compliant_order_is_taken_at_its_word() -> None:
    only = complied(5, -30.0)
    given = recommend(TYPES, [failed(7, 0.4, -1.0), only])
    assert given == Recommendation(5, (only,), -30.0, math.nan, "the only one that complied")
    assert (given.order, given.is_compliant, given.observed) == (5, True, -30.0)


def test_if_none_complied_it_is_the_one_that_came_closest() -> None:
    came = ((9, 0.4, -1.0), (8, 0.9, -50.0), (7, 0.9, -40.0), (6, 0.9, -40.0))
    seen = [failed(*one) for one in came]
    given = recommend(TYPES, seen)
    closest = "no order complied; this one came closest"
    assert given == Recommendation(6, (seen[3],), -40.0, math.nan, closest)
    assert (given.order, given.is_compliant) == (6, False)


def test_ties_go_to_the_lowest_index_whatever_the_sequence() -> None:
    seen = [complied(o, -20.0) for o in (50, 3, 100)]
    assert recommend(TYPES, seen).order == recommend(TYPES, seen[::-1]).order == 3


def test_of_better_orders_it_is_one_if_one_of_them_complied() -> None:
    seen = [complied(o, -20.0 - o) for o in (3, 50, 100)]
    seen.append(failed(7, 0.4, -1.0))
    assert recommend(TYPES, seen, among={50, 100, 7}).order == 50
    assert recommend(TYPES, seen, among={7, 8}).order == recommend(TYPES, seen).order == 3


def test_of_orders_scored_by_hand_it_is_the_best_of_those_tried_or_not() -> None:
    seen = [complied(o, -20.0) for o in (3, 50, 100)]
    given = recommend(TYPES, seen, among={3, 50, 100}, by_hand={3: -40.0, 7: -21.0, 9: -30.0})
    assert (given.order, given.tried, given.by_hand) == (7, (), -21.0)
    assert given.is_compliant
    assert math.isnan(given.observed)
    assert given.reason.startswith("of 3 orders that nothing is shown to be better than, the best")
    assert "-21.0 on average over all attackers, the worst of them -40.0" in given.reason
    assert given.mean == pytest.approx(-20.0, abs=0.5)
