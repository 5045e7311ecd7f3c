import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.recommend import Recommendation, recommend
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

EVERY = np.arange(NUM_ORDERS)

PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))


def test_it_is_the_compliant_tried_order_with_the_highest_believed_value() -> None:
    rng = np.random.default_rng(0)
    orders = rng.choice(NUM_ORDERS, 15, replace=False).tolist()
    values = (PRECEDENCE[orders] @ rng.normal(size=10) + rng.normal(size=15)).tolist()
    seen = [Observation(o, v, 0.97, True) for o, v in zip(orders, values, strict=True)]
    belief = OrderGP(TYPES, orders, values).posterior(EVERY)
    given = recommend(TYPES, seen)
    assert given.order == max(orders, key=lambda o: float(belief.mean[o]))
    assert given.is_compliant
    assert given.mean == pytest.approx(belief.mean[given.order])
    assert given.deviation == pytest.approx(belief.deviation[given.order])
    assert given.observed == pytest.approx(values[orders.index(given.order)])
    assert given.trials == 1


def test_a_lucky_trial_among_bad_neighbours_does_not_win() -> None:
    good = [(o, -20.0 - 0.1 * i) for i, o in enumerate((0, 1, 2, 6, 24, 30))]
    bad = [(o, -40.0 + 0.1 * i) for i, o in enumerate((119, 118, 113, 95, 89, 117))]
    lucky = [(119, -19.0)]
    given = recommend(TYPES, [Observation(o, v, 0.97, True) for o, v in good + bad + lucky])
    assert given.order in {o for o, _ in good}


def test_trials_of_the_same_order_are_taken_together() -> None:
    seen = [Observation(5, v, 0.97, True) for v in (-10.0, -12.5)]
    given = recommend(TYPES, [*seen, Observation(100, -30.0, 0.97, True)])
    assert (given.order, given.observed, given.trials) == (5, -11.25, 2)
    assert given.reason == "highest believed value of those that complied"


def test_a_failed_trial_does_not_count_however_good_its_value() -> None:
    seen = [
        Observation(5, -30.0, 0.97, True),
        Observation(6, -31.0, 0.97, True),
        Observation(7, -1.0, 0.4, False),
        Observation(5, -1.0, 0.4, False),
    ]
    given = recommend(TYPES, seen)
    assert (given.order, given.observed, given.trials) == (5, -30.0, 1)


def test_the_only_compliant_order_is_taken_at_its_word() -> None:
    given = recommend(TYPES, [Observation(7, -1.0, 0.4, False), Observation(5, -30.0, 0.97, True)])
    assert given == Recommendation(5, True, -30.0, math.nan, -30.0, 1, "the only one that complied")


def test_if_none_complied_it_is_the_one_that_came_closest() -> None:
    seen = [
        Observation(9, -1.0, 0.4, False),
        Observation(8, -50.0, 0.9, False),
        Observation(7, -40.0, 0.9, False),
        Observation(6, -40.0, 0.9, False),
    ]
    given = recommend(TYPES, seen)
    assert given == Recommendation(
        6, False, -40.0, math.nan, -40.0, 1, "no order complied; this one came closest"
    )


def test_ties_go_to_the_lowest_index_whatever_the_sequence() -> None:
    seen = [Observation(o, -20.0, 0.97, True) for o in (50, 3, 100)]
    assert recommend(TYPES, seen).order == recommend(TYPES, seen[::-1]).order == 3


def test_of_better_orders_it_is_one_if_one_of_them_complied() -> None:
    seen = [Observation(o, -20.0 - o, 0.97, True) for o in (3, 50, 100)]
    seen.append(Observation(7, -1.0, 0.4, False))
    assert recommend(TYPES, seen, among={50, 100, 7}).order == 50
    assert recommend(TYPES, seen, among={7, 8}).order == recommend(TYPES, seen).order == 3


def test_nothing_tried_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="nothing was tried"):
        recommend(TYPES, [])


def test_a_recommendation_compares_by_what_it_says() -> None:
    seen = [Observation(o, -20.0 - o, 0.97, True) for o in (50, 3, 100)]
    assert recommend(TYPES, seen) == recommend(TYPES, seen)
    with pytest.raises(FrozenInstanceError):
        recommend(TYPES, seen).order = 50  # type: ignore[misc]
