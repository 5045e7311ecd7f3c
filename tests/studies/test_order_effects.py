import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.lands import CLASSES, PAIRS, PRECEDENCE, failing, made_up, recorded, truth
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.order_effects import (
    EqualsEffect,
    Standing,
    equals_effect,
    order_effect,
    pair_effects_over_seeds,
    rank,
    rank_agreement,
    shrink_means,
)
from workflow_rl.workflow.orders import NUM_ORDERS
from workflow_rl.workflow.units import TYPE_UNITS

WORTH = np.array([3.0, -1.0, 2.0, 0.5, 1.5, -2.0, 1.0, 0.3, -0.7, 2.5])
VALUES = -30 + PRECEDENCE @ WORTH / 2
BY_CLASS = truth(3.0)[np.arange(6)][CLASSES]  # values that only depend on an order's class
APART = np.array([-10.0, -20, -30, -40, -50, -60])[CLASSES]


@pytest.mark.parametrize("spread", [3.0, 1.0, 0.5])
def test_the_share_between_orders_is_found_within_its_interval(spread: float) -> None:
    share = spread**2 / (spread**2 + 1)
    inside = 0
    for seed in range(12):
        land = made_up(truth(spread, seed), seeds=4, noise=1.0, level=2.0, seed=seed)
        effect = order_effect(land.reward)
        inside += effect.share_low <= share <= effect.share_high
        assert effect.share_low <= effect.share <= effect.share_high
        assert effect.matters
        assert effect.deviations["noise"] == pytest.approx(1.0, rel=0.2)
    assert inside >= 10  # 11.4 of 12 expected


def test_the_deviation_of_orders_and_seeds_is_not_blown_up_by_noise() -> None:
    found = [
        order_effect(made_up(truth(1.0, s), 3, noise=2.0, level=1.5, seed=s).reward).deviations
        for s in range(20)
    ]
    assert np.mean([d["order"] for d in found]) == pytest.approx(1.0, abs=0.15)
    assert np.mean([d["seed"] for d in found]) == pytest.approx(1.5, rel=0.35)


def test_one_seed_tells_nothing_of_noise() -> None:
    effect = order_effect(made_up(truth(2.0), seeds=1, noise=1.0).reward)
    assert math.isnan(effect.share)
    assert math.isnan(effect.p_value)
    assert not effect.matters


def compared(land: Landscape) -> EqualsEffect:
    found = equals_effect(land.reward, land.classes)
    assert found is not None
    return found


def test_equals_that_are_equal_differ_by_noise_alone() -> None:
    ratios, chances = [], []
    for seed in range(12):
        found = compared(made_up(BY_CLASS, noise=0.7, level=1.0, red_agent="bline", seed=seed))
        assert found.classes == 6
        assert found.within == pytest.approx(0.7, rel=0.15)
        assert found.between > 1
        ratios.append(found.ratio)
        chances.append(found.p_value)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)
    assert sum(p < 0.05 for p in chances) <= 3


def test_equals_of_one_seed_still_tell_of_noise() -> None:
    found = compared(made_up(BY_CLASS, seeds=1, noise=0.7, red_agent="bline"))
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
        expected[TYPE_UNITS.names[first], TYPE_UNITS.names[second]] = abs(worth)
    assert {(e.first, e.second): pytest.approx(e.worth.mean) for e in found} == expected
    assert [e.worth.mean for e in found] == sorted((e.worth.mean for e in found), reverse=True)
    assert all(e.worth.half_width == pytest.approx(0, abs=1e-9) for e in found)


def test_pairs_of_orders_that_do_not_comply_are_left_out() -> None:
    land = failing(made_up(VALUES), (slice(None), slice(30)), reward=500.0)
    assert pair_effects_over_seeds(land)[0].worth.mean == pytest.approx(3.0)


def test_one_seed_has_no_interval() -> None:
    land = made_up(VALUES, seeds=1)
    assert all(math.isnan(e.worth.half_width) for e in pair_effects_over_seeds(land))
    standings = ranked(land)
    assert len(standings) == NUM_ORDERS
    assert all(math.isnan(s.reward.half_width) for s in standings)
    means = [s.reward.mean for s in standings]  # which the chance of games shrinks a little
    assert [s.believed for s in standings] == pytest.approx(means, abs=0.1)


# --- the ranking


def ranked(land: Landscape) -> list[Standing]:
    return rank(land, order_effect(land.reward))


def test_without_noise_the_ranking_is_the_truth() -> None:
    values = truth(2.0)
    standings = ranked(made_up(values, noise=1e-6))
    assert [s.order for s in standings] == np.argsort(-values, kind="stable").tolist()
    assert [s.believed for s in standings] == pytest.approx([s.reward.mean for s in standings])


def test_intervals_hold_the_true_value_and_rank_as_often_as_they_say() -> None:
    values_held, ranks_held = [], []
    for seed in range(10):
        values = truth(2.0, seed)
        true_rank = np.argsort(np.argsort(-values)) + 1
        for s in ranked(made_up(values, noise=1.0, seed=seed)):
            values_held.append(abs(s.reward.mean - values[s.order]) <= s.reward.half_width)
            ranks_held.append(s.rank_low <= true_rank[s.order] <= s.rank_high)
    assert np.mean(values_held) == pytest.approx(0.95, abs=0.02)
    assert np.mean(ranks_held) == pytest.approx(0.95, abs=0.04)


def test_equals_have_the_intervals_of_their_class() -> None:
    spread = np.array([0.2, 0.2, 0.2, 2.0, 2.0, 2.0])[CLASSES]
    inside, widths = [], []
    for seed in range(10):
        land = made_up(np.zeros(120), noise=1.0, red_agent="bline", seed=seed)
        for s in ranked(replace(land, reward=APART + spread * land.reward)):
            inside.append(abs(s.reward.mean - APART[s.order]) <= s.reward.half_width)
            widths.append(s.reward.half_width / spread[s.order])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    assert np.mean(widths) == pytest.approx(2.0 / math.sqrt(3), rel=0.05)


def test_shrinking_takes_the_luck_out_of_the_highest_means() -> None:
    lucky, believed = [], []
    for seed in range(10):
        values = truth(0.5, seed)
        land = made_up(values, noise=1.0, seed=seed)
        shrunk, deviation = shrink_means(land)
        top = int(land.reward.mean(axis=0).argmax())
        lucky.append(land.reward[:, top].mean() - values[top])
        believed.append(shrunk[top] - values[top])
        assert deviation < 1.0 / math.sqrt(3)
    assert np.mean(lucky) > 0.5
    assert abs(np.mean(believed)) < 0.25


def test_equals_share_their_shrunk_mean_and_their_ranks() -> None:
    standings = ranked(made_up(APART, noise=0.5, red_agent="bline"))
    for k in range(6):
        part = standings[20 * k : 20 * k + 20]
        assert {int(CLASSES[s.order]) for s in part} == {k}
        assert len({s.believed for s in part}) == 1
        assert all(s.rank_low >= 20 * k + 1 and s.rank_high <= 20 * k + 20 for s in part)
        assert max(s.rank_high - s.rank_low for s in part) >= 17


def test_orders_that_seldom_comply_come_last_whatever_their_reward() -> None:
    best = int(truth(2.0).argmax())
    land = failing(made_up(truth(2.0)), (slice(2), best))
    assert ranked(land)[-1].order == best
    assert land.compliant_seeds[best] == 1


@pytest.mark.parametrize("few", [0, 48])
def test_every_place_lies_in_its_own_interval_whether_orders_comply_or_not(few: int) -> None:
    compliance = np.where(np.arange(NUM_ORDERS) < few, 0.97, 0.3)
    for deviation in (0.0, 2.0):
        standings = ranked(made_up(truth(deviation), noise=0.5, compliance=compliance))
        for place, standing in enumerate(standings, 1):
            assert standing.rank_low <= place <= standing.rank_high
        assert all(s.rank_high <= few for s in standings[:few])
        assert all(s.rank_low > few for s in standings[few:])


def test_landscapes_agree_with_themselves_and_not_with_their_opposite() -> None:
    land = recorded("bline")
    assert rank_agreement(land, land) == pytest.approx(1)
    assert rank_agreement(land, replace(land, reward=-land.reward)) == pytest.approx(-1)
    assert np.isfinite(rank_agreement(land, recorded("meander")))
    assert math.isnan(rank_agreement(land, replace(land, reward=0 * land.reward)))
