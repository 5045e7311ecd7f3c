import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.landscape.lands import made_up
from workflow_rl.scenario.units import UNITS
from workflow_rl.studies.landscape.pairs import pair_effects
from workflow_rl.workflow.orders import PAIRS, PRECEDENCE

WORTH = np.array([3.0, -1.0, 2.0, 0.5, 1.5, -2.0, 1.0, 0.3, -0.7, 2.5])
VALUES = -30 + PRECEDENCE @ WORTH / 2


def test_what_each_pair_is_worth_is_found_the_better_way_round() -> None:
    found = pair_effects(made_up(VALUES, level=4.0))
    expected = {}
    for (a, b), worth in zip(PAIRS, WORTH, strict=True):
        first, second = (a, b) if worth > 0 else (b, a)
        expected[UNITS[first], UNITS[second]] = abs(worth)
    assert {(e.first, e.second): pytest.approx(e.worth) for e in found} == expected
    assert [e.worth for e in found] == sorted((e.worth for e in found), reverse=True)
    assert all(e.half_width == pytest.approx(0, abs=1e-9) for e in found)


def test_the_interval_holds_over_seeds_that_disagree() -> None:
    inside = []
    for seed in range(20):
        for e in pair_effects(made_up(VALUES, noise=2.0, seed=seed)):
            pair = (UNITS.index(e.first), UNITS.index(e.second))
            true = WORTH[PAIRS.index(pair)] if pair in PAIRS else -WORTH[PAIRS.index(pair[::-1])]
            inside.append(abs(e.worth - true) <= e.half_width)
            assert np.mean(e.of_seeds) == pytest.approx(e.worth)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05)


def test_one_seed_has_no_interval() -> None:
    assert all(math.isnan(e.half_width) for e in pair_effects(made_up(VALUES, seeds=1)))


def test_orders_that_do_not_comply_are_left_out() -> None:
    land = made_up(VALUES)
    reward, complied = land.reward.copy(), land.is_compliant.copy()
    reward[:, :30], complied[:, :30] = 500.0, False
    found = pair_effects(replace(land, reward=reward, is_compliant=complied))
    assert found[0].worth == pytest.approx(3.0)
