import math
from types import SimpleNamespace
from typing import Any

import pytest
from workflow_rl.runs.spread import spread_of

from workflow_rl.workflow.orders import classes_of_equals

CLASSES = classes_of_equals("bline")
FIRST, SAME = [order for order in range(120) if CLASSES[order] == CLASSES[0]][:2]
OTHER = next(order for order in range(120) if CLASSES[order] != CLASSES[0])


def ended(order: int, reward: float, *, is_compliant: bool = True) -> Any:
    result = SimpleNamespace(env_reward=reward, is_compliant=is_compliant)
    return SimpleNamespace(trial=SimpleNamespace(order=order), result=result)


def test_equal_orders_are_repeats_of_one_and_trials_below_are_left_out() -> None:
    trials = [ended(FIRST, -10.0), ended(SAME, -12.0), ended(OTHER, -21.0)]
    found = spread_of([*trials, ended(OTHER, -500.0, is_compliant=False)], "bline")
    assert (found.classes, found.equals) == (2, 1)
    assert found.between == pytest.approx(10 / math.sqrt(2))  # means -11 and -21
    assert found.within == pytest.approx(math.sqrt(2))


def test_without_a_second_order_or_an_equal_one_nothing_can_be_told() -> None:
    alone = spread_of([ended(FIRST, -10.0)], "bline")
    assert (alone.classes, alone.equals) == (1, 0)
    assert math.isnan(alone.between)
    assert math.isnan(alone.within)
    assert spread_of([], "bline").classes == 0
