import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.landscape.lands import made_up, truth
from tests.studies.landscape.test_recorded import recorded
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.order_effects import order_effect
from workflow_rl.studies.landscape.ranking import Standing, rank, rank_agreement, shrink_means
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

CLASSES = TYPES.classes_of_equals("bline")


def ranked(land: Landscape) -> list[Standing]:
    return rank(land, order_effect(land.reward))


def test_without_noise_the_ranking_is_the_truth() -> None:
    values = truth(2.0)
    standings = ranked(made_up(values, noise=1e-6))
    assert [s.order for s in standings] == np.argsort(-values, kind="stable").tolist()
    assert [s.believed for s in standings] == pytest.approx([s.reward.mean for s in standings])


def test_intervals_hold_the_true_value_as_often_as_they_say() -> None:
    inside = []
    for seed in range(10):
        values = truth(2.0, seed)
        for s in ranked(made_up(values, noise=1.0, seed=seed)):
            inside.append(abs(s.reward.mean - values[s.order]) <= s.reward.half_width)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_one_seed_without_equals_ranks_by_the_chance_of_its_games() -> None:
    """Nothing else tells of chance there, and no rank of 120 is certain."""
    covered = []
    for seed in range(10):
        values = truth(0.5, seed)
        true_ranks = np.argsort(np.argsort(-values)) + 1
        standings = ranked(made_up(values, seeds=1, noise=0.2, seed=seed))
        covered += [s.rank_low <= true_ranks[s.order] <= s.rank_high for s in standings]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_equals_have_the_intervals_of_their_class() -> None:
    values = np.array([-10.0, -20, -30, -40, -50, -60])[CLASSES]
    spread = np.array([0.2, 0.2, 0.2, 2.0, 2.0, 2.0])[CLASSES]
    inside, widths = [], []
    for seed in range(10):
        land = made_up(np.zeros(120), noise=1.0, red_agent="bline", seed=seed)
        land = replace(land, reward=values + spread * land.reward)
        for s in ranked(land):
            inside.append(abs(s.reward.mean - values[s.order]) <= s.reward.half_width)
            widths.append(s.reward.half_width / spread[s.order])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    assert np.mean(widths) == pytest.approx(2.0 / math.sqrt(3), rel=0.05)


def test_intervals_of_ranks_hold_the_true_rank_as_often_as_they_say() -> None:
    inside = []
    for seed in range(10):
        values = truth(2.0, seed)
        true_rank = np.argsort(np.argsort(-values)) + 1
        for s in ranked(made_up(values, noise=1.0, seed=seed)):
            inside.append(s.rank_low <= true_rank[s.order] <= s.rank_high)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.04)


def test_shrunk_takes_the_luck_out_of_the_highest_means() -> None:
    lucky, believed = [], []
    for seed in range(10):
        values = truth(0.5, seed)
        land = made_up(values, noise=1.0, seed=seed)
        shrunk = shrink_means(land)
        top = int(land.reward.mean(axis=0).argmax())
        lucky.append(land.reward[:, top].mean() - values[top])
        believed.append(shrunk.mean[top] - values[top])
        assert (shrunk.deviation < 1.0 / math.sqrt(3)).all()
    assert np.mean(lucky) > 0.5
    assert abs(np.mean(believed)) < 0.25


def test_equals_share_a_shrunk_and_their_ranks() -> None:
    values = np.array([-10.0, -20, -30, -40, -50, -60])[CLASSES]
    land = made_up(values, noise=0.5, red_agent="bline")
    standings = ranked(land)
    for k in range(6):
        part = standings[20 * k : 20 * k + 20]
        assert {int(CLASSES[s.order]) for s in part} == {k}
        assert len({s.believed for s in part}) == 1
        assert all(s.rank_low >= 20 * k + 1 and s.rank_high <= 20 * k + 20 for s in part)
        assert max(s.rank_high - s.rank_low for s in part) >= 17


def test_where_nothing_matters_any_rank_may_be_anyones() -> None:
    standings = ranked(made_up(np.full(120, -20.0), noise=1.0, seed=4))
    assert np.median([s.rank_high - s.rank_low for s in standings]) > 90


def test_orders_that_seldom_comply_come_last_whatever_their_reward() -> None:
    values = truth(2.0)
    best = int(values.argmax())
    land = made_up(values)
    complied = land.is_compliant.copy()
    complied[:2, best] = False
    land = replace(land, is_compliant=complied)
    assert ranked(land)[-1].order == best
    assert land.compliant_seeds[best] == 1


def test_one_seed_has_no_interval() -> None:
    land = made_up(truth(2.0), seeds=1)
    standings = ranked(land)
    assert len(standings) == 120
    assert all(math.isnan(s.reward.half_width) for s in standings)
    means = [s.reward.mean for s in standings]  # which the chance of games shrinks a little
    assert [s.believed for s in standings] == pytest.approx(means, abs=0.1)


def test_one_seed_of_equals_is_believed_by_their_noise() -> None:
    land = made_up(np.full(120, -20.0), seeds=1, noise=1.0, red_agent="bline")
    shrunk = shrink_means(land)
    assert shrunk.mean.max() - shrunk.mean.min() < 0.5


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_every_place_lies_in_its_own_interval_whether_orders_comply_or_not(share: float) -> None:
    compliance = np.where(np.arange(NUM_ORDERS) < share * NUM_ORDERS, 0.97, 0.3)
    for deviation in (0.0, 2.0):
        land = made_up(truth(deviation), noise=0.5, compliance=compliance)
        standings = rank(land, order_effect(land.reward))
        for place, standing in enumerate(standings, 1):
            assert standing.rank_low <= place <= standing.rank_high
        few = int(share * NUM_ORDERS)
        assert all(s.rank_high <= few for s in standings[:few])
        assert all(s.rank_low > few for s in standings[few:])


def test_landscapes_agree_with_themselves_and_not_with_their_opposite() -> None:
    land = recorded("bline")
    assert rank_agreement(land, land) == pytest.approx(1)
    opposite = replace(land, reward=-land.reward)
    assert rank_agreement(land, opposite) == pytest.approx(-1)
    assert np.isfinite(rank_agreement(land, recorded("meander")))
    flat = replace(land, reward=np.zeros_like(land.reward))
    assert math.isnan(rank_agreement(land, flat))
