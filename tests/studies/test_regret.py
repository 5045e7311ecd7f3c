import numpy as np
import pytest

from tests.studies.lands import CLASSES, FLAT, failing, made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.studies.order_effects import shrink_means
from workflow_rl.studies.regret import MEASURES, StoredOrders, regrets, replay_search
from workflow_rl.workflow.orders import NUM_ORDERS

CONFIG = SearchConfig()


def shortfalls(orders: StoredOrders) -> list[float]:
    return [orders.shortfall(order) for order in range(NUM_ORDERS)]


def test_a_trial_gives_what_was_stored_of_the_order() -> None:
    land = made_up(truth(2.0), noise=1.0, level=3.0)
    orders, rng = StoredOrders(land), np.random.default_rng(0)
    assert {orders.trial(17, rng).value for _ in range(60)} == set(land.levelled[:, 17].tolist())
    observation = orders.trial(17, rng)
    assert (observation.order, observation.is_compliant) == (17, True)
    assert observation.compliance == land.compliance[0, 17]


def test_a_trial_may_give_what_was_stored_of_an_equal() -> None:
    land = made_up(truth(2.0), noise=1.0, red_agent="bline")
    orders, rng = StoredOrders(land), np.random.default_rng(0)
    seen = {orders.trial(3, rng).value for _ in range(400)}
    assert seen <= set(land.levelled[:, CLASSES[3] == CLASSES].ravel().tolist())
    assert len(seen) > 40


def test_the_best_order_has_no_shortfall_and_others_have_their_distance() -> None:
    land = made_up(truth(2.0), noise=0.3)
    belief, _ = shrink_means(land)
    found = shortfalls(StoredOrders(land))
    assert found == pytest.approx((belief.max() - belief).tolist())
    assert min(found) == 0


def test_an_order_that_does_not_comply_is_as_bad_as_the_worst_that_does() -> None:
    best = int(truth(2.0).argmax())
    found = shortfalls(StoredOrders(failing(made_up(truth(2.0)), (slice(None), best))))
    assert found[best] == max(found)
    assert min(found) == 0


def test_a_search_of_all_orders_finds_the_best_and_its_mean_is_the_landscapes() -> None:
    orders = StoredOrders(made_up(truth(2.0)))
    found = replay_search(orders, SearchConfig(strategy="exhaustive"), (1, NUM_ORDERS), 0)
    assert found.shape == (len(MEASURES), 2)
    assert found[:, 0] == pytest.approx([orders.shortfall(0)] * 3)
    assert found[1, 1] == 0
    assert found[2, 1] == pytest.approx(np.mean(shortfalls(orders)))


def test_a_replay_depends_on_its_seed_alone() -> None:
    orders, random = StoredOrders(made_up(truth(2.0), noise=1.0)), SearchConfig(strategy="random")
    one, same, other = (replay_search(orders, random, (5, 9), s) for s in (3, 3, 4))
    assert (one == same).all()
    assert (one != other).any()


def test_where_nothing_matters_nothing_is_lost_and_one_replay_has_no_interval() -> None:
    land = made_up(FLAT, noise=1.0)
    (found,) = regrets(land, CONFIG, replays=3, strategies=["random"])
    assert found.mean("recommended").max() < 0.5
    waiting = [1]  # until a replay is told
    (one,) = regrets(land, CONFIG, replays=1, strategies=["random"], on_replay=waiting.clear)
    assert not waiting
    assert np.isnan(one.half_width("recommended")).all()
