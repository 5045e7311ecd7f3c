import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.studies.landscape.variance import decompose, equals_effect, order_effect
from workflow_rl.workflow.orders import classes_of_equals

CLASSES = classes_of_equals("bline")


def class_values(deviation: float = 3.0) -> np.ndarray:
    """Values that only depend on an order's class."""
    return truth(deviation)[np.arange(6)][CLASSES]


def test_a_decomposition_by_hand() -> None:
    values = np.array([[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]])
    order, seed, noise = decompose(values)
    assert (order.freedom, seed.freedom, noise.freedom) == (2, 1, 2)
    assert order.squares == pytest.approx(2 * (4 + 1 + 9))  # means 2, 3, 7 around 4
    assert seed.squares == pytest.approx(3 * (1 + 1))  # means 3, 5 around 4
    assert noise.squares == pytest.approx(0, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(2, 9), st.integers(0, 99), st.floats(-1e3, 1e3))
def test_the_parts_add_up_and_do_not_depend_on_the_level(
    seeds: int, orders: int, chance: int, level: float
) -> None:
    values = np.random.default_rng(chance).normal(size=(seeds, orders))
    total = float(np.sum((values - values.mean()) ** 2))
    parts = decompose(values + level)
    assert sum(part.squares for part in parts) == pytest.approx(total, rel=1e-6)
    assert sum(part.freedom for part in parts) == seeds * orders - 1


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
