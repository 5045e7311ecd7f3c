from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.config import TrainConfig
from workflow_rl.train.alignment import (
    HIGHEST_WEIGHT,
    HIGHEST_WEIGHT_OF_ALL,
    LOWEST_WEIGHT,
    AlignmentWeight,
)
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import NUM_ORDERS

ONE = np.array([7])


def told(weight: AlignmentWeight, compliance: float, order: int = 7) -> None:
    """Takes in an update of 20 episodes that comply so far."""
    weight.adapt(np.full(20, order, np.int64), np.full(20, compliance))


@pytest.mark.parametrize("order", [7, None])
@pytest.mark.parametrize(("alignment", "start"), [("fixed", 30.0), ("adaptive", 0.0)])
def test_a_fixed_weight_stays_and_so_does_a_weight_of_zero(
    alignment: Any, start: float, order: int | None
) -> None:
    weight = AlignmentWeight(TrainConfig(alignment=alignment, alignment_lambda=start), order)
    for compliance in (0.0, 0.5, 1.0):
        told(weight, compliance)
    assert (weight.values == start).all()
    assert weight.mean == pytest.approx(start)


@settings(deadline=None)
@given(st.floats(0, 1), st.sampled_from([0.5, 0.8, 0.95]))
def test_an_adaptive_weight_rises_below_the_threshold_and_falls_when_all_comply(
    compliance: float, threshold: float
) -> None:
    weight = AlignmentWeight(TrainConfig(compliance_threshold=threshold), 7)
    before = weight.mean
    told(weight, compliance)
    if compliance <= threshold:
        assert weight.mean > before
    if compliance == 1.0:
        assert weight.mean < before
    assert 0.8 < weight.mean / before < 1.25  # in small steps


@pytest.mark.parametrize(("order", "highest"), [(7, HIGHEST_WEIGHT), (None, HIGHEST_WEIGHT_OF_ALL)])
def test_an_adaptive_weight_reacts_more_to_a_larger_lack_and_stays_within_bounds(
    order: int | None, highest: float
) -> None:
    changes = []
    for compliance in (0.96, 0.95, 0.94, 0.0):
        weight = AlignmentWeight(TrainConfig(), order)
        told(weight, compliance)
        changes.append(weight.of(ONE)[0])
    assert changes == sorted(changes)
    for compliance, bound in ((0.0, highest), (1.0, LOWEST_WEIGHT)):
        weight = AlignmentWeight(TrainConfig(compliance_threshold=0.5), order)
        for _ in range(1_000):
            told(weight, compliance)
            assert LOWEST_WEIGHT <= weight.of(ONE)[0] <= highest
        assert weight.of(ONE)[0] == bound


def test_a_weight_that_starts_above_the_bound_is_not_cut_down_at_once() -> None:
    weight = AlignmentWeight(TrainConfig(alignment_lambda=500.0), 7)
    told(weight, 0.95)
    assert weight.mean == 500.0
    told(weight, 1.0)
    assert 400 < weight.mean < 500


def test_each_order_has_its_own_weight_when_all_are_trained() -> None:
    weight = AlignmentWeight(TrainConfig(), None)
    orders = np.array([3, 3, 5, 9], np.int64)
    weight.adapt(orders, np.array([0.5, 0.9, 1.0, 0.965]))
    assert weight.values[3] > 30 > weight.values[5]
    assert weight.values[9] == pytest.approx(30)
    untouched = np.delete(weight.values, orders)
    assert (untouched == 30).all()
    assert len(weight.values) == NUM_ORDERS
    assert len(AlignmentWeight(TrainConfig(), 4).values) == 1


@pytest.mark.parametrize("units", ["hosts", "any"])
def test_orders_too_many_to_meet_again_share_one_weight(units: str) -> None:
    config = TrainConfig(units=units)
    weight = AlignmentWeight(config, None, episode_orders_of(config))
    orders = np.array([[3, 400_000_000]])
    weight.adapt(orders.ravel(), np.array([0.5, 0.9]))
    assert weight.of(orders).shape == (1, 2)
    assert (weight.of(orders) == weight.mean).all()
    assert 30 < weight.mean < 50
