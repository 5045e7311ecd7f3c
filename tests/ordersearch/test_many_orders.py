"""Searches where the orders cannot be listed: 479 million of 12 hosts, or some that are allowed."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.quick import HOSTS, made, searched, tried
from tests.refused import refused
from workflow_rl.config import STRATEGIES, TrainConfig
from workflow_rl.ordersearch.candidates import promising
from workflow_rl.ordersearch.recommendation import recommend
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import TYPES, Orders, orders_of

RULES = ("Op_Server0 > User1 > User3", "Enterprise2 > Defender")
ALLOWED = orders_of(TrainConfig(units="hosts", require=RULES))
WORTH = np.random.default_rng(0).normal(size=66)


def value(order: int) -> float:
    return float(HOSTS.precedence([order])[0] @ WORTH)


def trials_by(name: str, orders: Orders, trials: int, seed: int = 0) -> list[TriedOrder]:
    strategy, rng = made(name, orders, n_workflows=trials, seed=seed), np.random.default_rng(seed)
    return searched(strategy, trials, lambda order, _: value(order) + 0.3 * float(rng.normal()))


def test_a_local_search_climbs_to_the_best_order() -> None:
    best = int(HOSTS.draw(np.random.default_rng(3), 1)[0])
    features = HOSTS.precedence([best])[0].astype(np.float64)

    def score(orders: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(HOSTS.precedence(orders) @ features)

    found, scores = promising(HOSTS, score, [], [0], most=4_000)
    assert len(found) == len(set(found.tolist())) <= 4_000
    assert int(found[scores.argmax()]) == best
    again, _ = promising(HOSTS, score, [], [0], most=4_000)
    assert (again == found).all()


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "exhaustive"])
def test_every_strategy_keeps_to_what_is_required(name: str) -> None:
    seen = trials_by(name, ALLOWED, 9)
    assert all(ALLOWED.holds(o.order) for o in seen)
    assert ALLOWED.holds(recommend(ALLOWED, seen).order)
    few = orders_of(TrainConfig(require=("user > op_host > enterprise",)))
    rng, strategy = np.random.default_rng(0), made(name, few)
    trials: list[TriedOrder] = []
    for k in range(12):
        order = strategy.pick(trials, few.draw(rng, 1).tolist()).order
        assert few.holds(order)
        trials.append(tried(order, float(rng.normal()), 0.85 + 0.01 * k, k > 5))


def test_orders_too_many_to_try_all_are_refused() -> None:
    refused("at most 5,040 orders, not 479,001,600", made, "exhaustive", HOSTS)
    assert made("exhaustive", TYPES).pick([], []).order == 0


@pytest.mark.parametrize("name", ["gp-ucb", "local", "halving", "random", "round-robin"])
def test_a_pick_depends_on_what_was_seen_alone(name: str) -> None:
    seen = trials_by(name, HOSTS, 8)
    strategy = made(name, HOSTS, n_workflows=8)
    for number in range(8):
        assert strategy.pick(seen[:number], []).order == seen[number].order
