import math
from dataclasses import replace

import pytest

from tests.runs.work import result
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.summary import spread_of
from workflow_rl.runs.trial import Trial
from workflow_rl.workflow.orders import TYPES


def trial(order: int, value: float, good: bool = True) -> Trial:
    found = result(order, value, good=good)
    return Trial(0, order, 0, Decision(order, "given"), None, 0.0, 0.0, found)


def test_what_differs_between_orders_is_told_from_what_differs_between_equals() -> None:
    red = "meander"
    classes = TYPES.classes_of_equals(red)
    other = next(order for order in range(120) if classes[order] != classes[0])
    trials = [trial(0, -10), trial(0, -12), trial(other, -20), trial(other, -24)]
    found = spread_of([*trials, trial(5, -500, good=False)], red)
    assert found.between == pytest.approx(11 / math.sqrt(2))  # of the means -11 and -22
    assert found.within == pytest.approx(math.sqrt((2 + 8) / 2))
    assert (found.classes, found.equals) == (2, 2)


def test_orders_that_red_makes_equal_are_repeats_of_one() -> None:
    classes = TYPES.classes_of_equals("bline")
    equal = next(o for o in range(1, 120) if (classes[o] == classes).sum() > 1)
    twin = next(o for o in range(120) if o != equal and classes[o] == classes[equal])
    found = spread_of([trial(equal, -10), trial(twin, -12)], "bline")
    assert (found.classes, found.equals) == (1, 1)
    assert found.within == pytest.approx(math.sqrt(2))
    assert math.isnan(found.between)


def test_equal_orders_are_repeats_of_one_and_trials_below_are_left_out() -> None:
    classes = TYPES.classes_of_equals("bline")
    first, same = [order for order in range(120) if classes[order] == classes[0]][:2]
    other = next(order for order in range(120) if classes[order] != classes[0])
    trials = [trial(first, -10), trial(same, -12), trial(other, -21)]
    found = spread_of([*trials, trial(other, -500, good=False)], "bline")
    assert (found.classes, found.equals) == (2, 1)
    assert found.between == pytest.approx(10 / math.sqrt(2))  # means -11 and -21
    assert found.within == pytest.approx(math.sqrt(2))


def test_where_nothing_repeats_or_complies_nothing_is_made_up() -> None:
    alone = spread_of([trial(0, -10)], "bline")
    assert (alone.classes, alone.equals) == (1, 0)
    assert (math.isnan(alone.between), math.isnan(alone.within)) == (True, True)
    none = spread_of([trial(0, -10, good=False), replace(trial(1, -3), result=None)], "bline")
    assert (none.classes, none.equals) == (0, 0)
    assert spread_of([], "bline").classes == 0
