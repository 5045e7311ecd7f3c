"""GP-UCB at its edges; what it picks and why is tested in `test_strategies.py`."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.quick import HOSTS, SUBNETS, complied, failed, trials_of
from tests.refused import refused
from workflow_rl.ordersearch.candidates import spread_out
from workflow_rl.ordersearch.gp_ucb import GpUcb
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.workflow.orders import TYPES, Orders


def made(orders: Orders, beta: float = 2.0, design: int = 0) -> GpUcb:
    return GpUcb(orders, beta, threshold=0.95, design=design, seed=0)


def test_a_design_has_at_most_120_orders_and_no_more_than_there_are() -> None:
    strategy = made(SUBNETS, design=120)
    row = spread_out(SUBNETS, 6, 0)
    assert [strategy.pick([], row[:k]).order for k in range(6)] == row
    assert strategy.pick([], row).reason == "explore"
    refused("from 0 to 120, not 121", made, SUBNETS, design=121)


def test_an_order_of_the_design_that_is_tried_once_more_is_not_next_again() -> None:
    design = spread_out(TYPES, 4, 0)
    seen = [complied(design[0])]
    assert made(TYPES, design=4).pick(seen, design[:1]) == Decision(design[1], "design")
    assert made(TYPES, design=2).pick(seen, design[1:2]).reason != "design"


def test_values_are_believed_from_the_second_order_that_complied_on() -> None:
    seen = [failed(0, 0.5), complied(60, -20.0), complied(119, -25.0)]
    one, two = made(TYPES).pick(seen[:2], []), made(TYPES).pick(seen, [])
    assert math.isnan(one.ucb)
    assert one.score == one.compliance_chance
    assert two.ucb > two.mean
    assert two.score != two.compliance_chance


def test_while_too_few_complied_the_best_three_are_those_most_likely_to() -> None:
    decision = made(TYPES).pick([failed(o, 0.6 + o / 500) for o in (0, 17, 60, 99)], [])
    assert decision.top[0] == (decision.order, decision.score)
    chances = [chance for _, chance in decision.top]
    assert chances == sorted(chances, reverse=True)
    assert len(set(chances)) == 3


@pytest.mark.parametrize("seed", [7, 107])
def test_where_orders_cannot_be_listed_it_climbs_from_the_best_tried(seed: int) -> None:
    """No neighbour of that one promises more than what is picked."""
    rng = np.random.default_rng(seed)
    orders = HOSTS.draw(rng, 14).tolist()
    values = 0.3 * HOSTS.precedence(orders) @ rng.normal(size=66) + 3 * rng.normal(size=14)
    decision = made(HOSTS, beta=0.3).pick(trials_of(orders, values), [])
    gp = OrderGP(HOSTS, orders, values.tolist())
    believed = gp.posterior(orders).mean
    near = gp.posterior(HOSTS.neighbours(orders[int(believed.argmax())]))
    assert decision.score >= (near.mean + 0.3 * near.deviation).max() - believed.max() - 1e-9


def test_where_orders_cannot_be_listed_one_that_beats_the_best_tried_is_exploited() -> None:
    """Whether others are believed to be even better, nobody can look up."""
    rng = np.random.default_rng(9)
    orders = HOSTS.draw(rng, 6).tolist()
    values = HOSTS.precedence(orders) @ rng.normal(size=66)
    decision = made(HOSTS, beta=0.5).pick(trials_of(orders, values), [])
    believed = OrderGP(HOSTS, orders, values.tolist()).posterior(orders).mean
    assert decision.mean > believed.max()
    assert decision.reason == "exploit"
    assert made(HOSTS, beta=50.0).pick(trials_of(orders, values), []).reason == "explore"


@pytest.mark.parametrize(
    ("tried", "looks"),
    [(0, 4_000), (500, 4_000), (1_000, 2_000), (2_000, 500), (10_000, 20), (30_000, 4)],
)
def test_looks_fall_with_the_square_of_the_orders_tried(tried: int, looks: int) -> None:
    worth = np.random.default_rng(0).normal(size=66)
    seen: list[int] = []

    def score(orders: NDArray[np.int64]) -> NDArray[np.float64]:
        seen.extend(orders.tolist())
        return np.asarray(HOSTS.precedence(orders) @ worth)

    found, _ = made(HOSTS)._promising(score, [], 0, tried)
    assert len(found) == len(seen) == looks


def test_the_first_order_of_too_many_to_list_is_any_of_them() -> None:
    assert HOSTS.holds(made(HOSTS).pick([], []).order)
