from dataclasses import replace

import numpy as np
import pytest

from tests.studies.landscape.lands import made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.studies.landscape.ranking import shrink_means
from workflow_rl.studies.landscape.regret import MEASURES, StoredOrders, regrets, replay_search
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

CONFIG = SearchConfig()


def test_a_trial_gives_what_was_stored_of_the_order() -> None:
    land = made_up(truth(2.0), noise=1.0, level=3.0)
    orders = StoredOrders(land)
    rng = np.random.default_rng(0)
    seen = {orders.trial(17, rng).value for _ in range(60)}
    assert seen == set(land.levelled[:, 17].tolist())
    observation = orders.trial(17, rng)
    assert (observation.order, observation.is_compliant) == (17, True)
    assert observation.compliance == land.compliance[0, 17]


def test_a_trial_may_give_what_was_stored_of_an_equal() -> None:
    land = made_up(truth(2.0), noise=1.0, red_agent="bline")
    equals = TYPES.classes_of_equals("bline") == TYPES.classes_of_equals("bline")[3]
    rng = np.random.default_rng(0)
    seen = {StoredOrders(land).trial(3, rng).value for _ in range(400)}
    assert seen <= set(land.levelled[:, equals].ravel().tolist())
    assert len(seen) > 40


def test_the_best_order_has_no_shortfall_and_others_have_their_distance() -> None:
    land = made_up(truth(2.0), noise=0.3)
    orders, belief = StoredOrders(land), shrink_means(land).mean
    found = [orders.shortfall(order) for order in range(NUM_ORDERS)]
    assert found == pytest.approx((belief.max() - belief).tolist())
    assert min(found) == 0


def test_an_order_that_does_not_comply_is_as_bad_as_the_worst_that_does() -> None:
    land = made_up(truth(2.0))
    best = int(land.reward[0].argmax())
    complied = land.is_compliant.copy()
    complied[:, best] = False
    orders = StoredOrders(replace(land, is_compliant=complied))
    found = [orders.shortfall(order) for order in range(NUM_ORDERS)]
    assert found[best] == max(found)
    assert min(found) == 0


def test_a_search_of_all_orders_finds_the_best_and_its_mean_is_the_landscapes() -> None:
    land = made_up(truth(2.0))
    orders = StoredOrders(land)
    found = replay_search(orders, "exhaustive", CONFIG, 0.95, (1, NUM_ORDERS), 0)
    everything = np.mean([orders.shortfall(order) for order in range(NUM_ORDERS)])
    assert found.shape == (len(MEASURES), 2)
    assert found[:, 0] == pytest.approx([orders.shortfall(0)] * 3)
    assert found[1, 1] == 0
    assert found[2, 1] == pytest.approx(everything)


def test_a_replay_depends_on_its_seed_alone() -> None:
    orders = StoredOrders(made_up(truth(2.0), noise=1.0))
    one, same, other = (replay_search(orders, "random", CONFIG, 0.95, (5, 9), s) for s in (3, 3, 4))
    assert (one == same).all()
    assert (one != other).any()


def test_the_best_tried_never_gets_worse() -> None:
    (found,) = regrets(
        made_up(truth(2.0), noise=1.0), CONFIG, replays=5, strategies=["random"], seed=2
    )
    assert (np.diff(found.best_tried, axis=1) <= 0).all()
    assert (found.best_tried <= found.recommended + 1e-12).all()


def test_where_the_order_matters_gp_ucb_beats_random_clearly() -> None:
    land = made_up(truth(3.0, seed=6), noise=1.0)
    told: list[int] = []
    found = regrets(
        land,
        CONFIG,
        replays=8,
        strategies=["gp-ucb", "random"],
        checkpoints=(14,),
        on_replay=lambda: told.append(1),
    )
    gp, random = found
    assert len(told) == 16
    for measure in MEASURES:
        gain = random.mean(measure)[0] - gp.mean(measure)[0]
        assert gain > np.hypot(random.half_width(measure)[0], gp.half_width(measure)[0])


def test_where_nothing_matters_nothing_is_lost() -> None:
    (found,) = regrets(
        made_up(np.full(120, -20.0), noise=1.0), CONFIG, replays=3, strategies=["random"]
    )
    assert found.mean("recommended").max() < 0.5


def test_one_replay_has_no_interval() -> None:
    (found,) = regrets(made_up(truth(1.0)), CONFIG, replays=1, strategies=["random"])
    assert np.isnan(found.half_width("recommended")).all()
