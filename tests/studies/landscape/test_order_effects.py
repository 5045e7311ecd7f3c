import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.scenario.units import UNITS
from workflow_rl.studies.landscape.order_effects import (
    equals_effect,
    order_effect,
    pair_effects_over_seeds,
)
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))

CLASSES = TYPES.classes_of_equals("bline")
WORTH = np.array([3.0, -1.0, 2.0, 0.5, 1.5, -2.0, 1.0, 0.3, -0.7, 2.5])
VALUES = -30 + PRECEDENCE @ WORTH / 2


def class_values(deviation: float = 3.0) -> np.ndarray:
    """Values that only depend on an order's class."""
    return truth(deviation)[np.arange(6)][CLASSES]


@pytest.mark.parametrize(("spread", "noise"), [(3.0, 1.0), (1.0, 1.0), (0.5, 1.0)])
def test_the_share_between_orders_is_found_within_its_interval(spread: float, noise: float) -> None:
    share = spread**2 / (spread**2 + noise**2)
    inside = 0
    for seed in range(12):
        land = made_up(truth(spread, seed), seeds=4, noise=noise, level=2.0, seed=seed)
        effect = order_effect(land.reward)
        inside += effect.share_low <= share <= effect.share_high
        assert effect.share_low <= effect.share <= effect.share_high
        assert effect.matters
        assert effect.deviations["noise"] == pytest.approx(noise, rel=0.2)
    assert inside >= 10  # 11.4 of 12 expected


def test_the_deviation_of_orders_and_seeds_is_not_blown_up_by_noise() -> None:
    found = [
        order_effect(made_up(truth(1.0, s), 3, noise=2.0, level=1.5, seed=s).reward).deviations
        for s in range(20)
    ]
    assert np.mean([d["order"] for d in found]) == pytest.approx(1.0, abs=0.15)
    assert np.mean([d["seed"] for d in found]) == pytest.approx(1.5, rel=0.35)


def test_where_the_order_does_not_matter_chance_is_found_as_often_as_chance_goes() -> None:
    values = np.full(120, -20.0)
    found = [order_effect(made_up(values, 3, noise=1.0, seed=s).reward).p_value for s in range(20)]
    assert sum(p < 0.05 for p in found) <= 4
    assert np.mean(found) == pytest.approx(0.5, abs=0.15)


def test_one_seed_tells_nothing_of_noise() -> None:
    effect = order_effect(made_up(truth(2.0), seeds=1, noise=1.0).reward)
    assert math.isnan(effect.share)
    assert math.isnan(effect.p_value)
    assert not effect.matters


def test_equals_that_are_equal_differ_by_noise_alone() -> None:
    ratios, chances = [], []
    for seed in range(12):
        land = made_up(class_values(), noise=0.7, level=1.0, red_agent="bline", seed=seed)
        found = equals_effect(land.reward, land.classes)
        assert found is not None
        assert found.classes == 6
        assert found.within == pytest.approx(0.7, rel=0.15)
        assert found.between > 1
        ratios.append(found.ratio)
        chances.append(found.p_value)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)
    assert sum(p < 0.05 for p in chances) <= 3


def test_equals_that_differ_consistently_are_told() -> None:
    values = class_values() + np.random.default_rng(3).normal(size=120)
    land = made_up(values, noise=0.5, red_agent="bline")
    found = equals_effect(land.reward, land.classes)
    assert found is not None
    assert found.ratio > 3
    assert found.p_value < 0.01


def test_equals_of_one_seed_still_tell_of_noise() -> None:
    land = made_up(class_values(), seeds=1, noise=0.7, red_agent="bline")
    found = equals_effect(land.reward, land.classes)
    assert found is not None
    assert found.within == pytest.approx(0.7, rel=0.2)
    assert math.isnan(found.ratio)


def test_without_equals_there_is_nothing_to_compare() -> None:
    land = made_up(truth(1.0), noise=1.0)
    assert equals_effect(land.reward, land.classes) is None


def test_what_each_pair_is_worth_is_found_the_better_way_round() -> None:
    found = pair_effects_over_seeds(made_up(VALUES, level=4.0))
    expected = {}
    for (a, b), worth in zip(PAIRS, WORTH, strict=True):
        first, second = (a, b) if worth > 0 else (b, a)
        expected[UNITS[first], UNITS[second]] = abs(worth)
    assert {(e.first, e.second): pytest.approx(e.worth.mean) for e in found} == expected
    assert [e.worth.mean for e in found] == sorted((e.worth.mean for e in found), reverse=True)
    assert all(e.worth.half_width == pytest.approx(0, abs=1e-9) for e in found)


def test_the_interval_holds_over_seeds_that_disagree() -> None:
    inside = []
    for seed in range(20):
        for e in pair_effects_over_seeds(made_up(VALUES, noise=2.0, seed=seed)):
            pair = (UNITS.index(e.first), UNITS.index(e.second))
            true = WORTH[PAIRS.index(pair)] if pair in PAIRS else -WORTH[PAIRS.index(pair[::-1])]
            inside.append(e.worth.low <= true <= e.worth.high)
            assert np.mean(e.of_seeds) == pytest.approx(e.worth.mean)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05)


def test_one_seed_has_no_interval() -> None:
    assert all(
        math.isnan(e.worth.half_width) for e in pair_effects_over_seeds(made_up(VALUES, seeds=1))
    )


def test_orders_that_do_not_comply_are_left_out() -> None:
    land = made_up(VALUES)
    reward, complied = land.reward.copy(), land.is_compliant.copy()
    reward[:, :30], complied[:, :30] = 500.0, False
    found = pair_effects_over_seeds(replace(land, reward=reward, is_compliant=complied))
    assert found[0].worth.mean == pytest.approx(3.0)
