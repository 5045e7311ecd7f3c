"""What GP-UCB picks and why, and its acquisition function."""

import math

import numpy as np
import pytest

from tests.ordersearch.quick import EVERY, HOSTS, PRECEDENCE, SUBNETS, complied, failed, trials_of
from workflow_rl.ordersearch.candidates import spread_out
from workflow_rl.ordersearch.gp_ucb import GpUcb, compliance_margin, constrained_improvement
from workflow_rl.ordersearch.model import OrderGP, Posterior
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES, Orders

WORTH = np.array([3.0, -1.0, 2.0, 0.5, 1.5, -2.0, 1.0, 0.3, -0.7, 2.5])


def made(orders: Orders = TYPES, beta: float = 2.0, design: int = 0, seed: int = 0) -> GpUcb:
    return GpUcb(orders, beta, threshold=0.95, design=design, seed=seed)


def good_trials(orders: list[int]) -> list[TriedOrder]:
    return trials_of(orders, -30 + PRECEDENCE[orders] @ WORTH)


def believed(trials: list[TriedOrder]) -> Posterior:
    return OrderGP(TYPES, [o.order for o in trials], [o.value for o in trials]).posterior(EVERY)


def test_a_design_has_no_more_orders_than_there_are() -> None:
    strategy = made(SUBNETS, design=120)
    row = spread_out(SUBNETS, 6, 0)
    assert [strategy.pick([], row[:k]).order for k in range(6)] == row
    assert strategy.pick([], row).reason == "explore"


def test_values_are_believed_from_the_second_order_that_complied_on() -> None:
    seen = [failed(0, 0.5), complied(60, -20.0), complied(119, -25.0)]
    one, two = made().pick(seen[:2], []), made().pick(seen, [])
    assert math.isnan(one.ucb)
    assert one.score == one.compliance_chance
    assert two.ucb > two.mean
    assert two.score != two.compliance_chance


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


@pytest.mark.parametrize(("tried", "looks"), [(500, 4_000), (1_000, 2_000), (30_000, 4)])
def test_looks_fall_with_the_square_of_the_orders_tried(tried: int, looks: int) -> None:
    found, _ = made(HOSTS)._promising(lambda orders: orders.astype(np.float64), [], 0, tried)
    assert len(found) == looks


def test_the_design_comes_first_whatever_is_seen_or_under_way() -> None:
    design = spread_out(TYPES, 4, 0)
    strategy = made(design=4)
    assert strategy.pick([], []) == Decision(design[0], "design")
    assert strategy.pick([], design[:2]) == Decision(design[2], "design")
    assert strategy.pick([failed(design[0])], [design[1]]) == Decision(design[2], "design")
    assert strategy.pick([complied(design[3], 0.0)], [design[0]]) == Decision(design[1], "design")
    again = [complied(design[0])]  # tried once more
    assert strategy.pick(again, design[:1]) == Decision(design[1], "design")
    assert strategy.pick(good_trials(design), []).reason != "design"
    assert made(design=2).pick(again, design[1:2]).reason != "design"


def test_the_pick_has_the_highest_bound_of_all_120() -> None:
    trials = good_trials([0, 23, 57, 88, 119])
    decision = made(beta=1.5).pick(trials, [])
    belief = believed(trials)
    bound = belief.mean + 1.5 * belief.deviation
    assert decision.order == int(np.argmax(bound))
    assert decision.ucb == pytest.approx(bound.max())
    assert decision.mean == pytest.approx(belief.mean[decision.order])
    assert decision.deviation == pytest.approx(belief.deviation[decision.order])
    assert decision.compliance_chance == 1.0


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_the_score_is_the_chance_times_the_promise_beyond_the_best_that_complied(
    beta: float,
) -> None:
    good = good_trials([0, 23, 57, 88])
    decision = made(beta=beta).pick([*good, failed(119)], [44])
    best = believed(good).mean[[o.order for o in good]].max()
    assert decision.ucb == pytest.approx(decision.mean + beta * decision.deviation)
    assert 0 < decision.compliance_chance < 1
    assert decision.score == pytest.approx(decision.compliance_chance * (decision.ucb - best))
    assert decision.top[0] == (decision.order, decision.score)
    scores = [score for _, score in decision.top]
    assert scores == sorted(scores, reverse=True)
    assert len({order for order, _ in decision.top}) == 3


def test_to_explore_is_to_pick_any_other_than_the_one_believed_best() -> None:
    trials = good_trials([0, 6, 12, 18, 24, 30, 1, 2, 3])
    assert made(beta=0.0).pick(trials, []).reason == "exploit"
    decision = made(beta=0.5).pick(trials, [])
    assert 0.01 < believed(trials).mean.max() - decision.mean < 0.9
    assert decision.reason == "explore"


@pytest.mark.parametrize("orders", [TYPES, HOSTS], ids=["types", "hosts"])
def test_orders_under_way_are_not_picked_again(orders: Orders) -> None:
    strategy, tried = made(orders=orders), spread_out(orders, 6, 0)
    trials = trials_of(tried, np.random.default_rng(0).normal(size=6))
    pending: list[int] = []
    for _ in range(4):
        pending.append(strategy.pick(trials, pending).order)
    assert len(set(pending)) == 4


def test_orders_that_failed_do_not_enter_the_model_of_the_value() -> None:
    trials = good_trials([0, 23, 57, 88, 119])
    with_failures = [
        made().pick([*trials, failed(60, value=value), failed(61, value=value)], [])
        for value in (-1e6, 1e6)
    ]
    assert with_failures[0] == with_failures[1]
    alone = believed(trials).mean[with_failures[0].order]
    assert with_failures[0].mean == pytest.approx(alone)


def test_while_everything_fails_it_goes_on_with_untried_orders() -> None:
    strategy = made(design=4)
    trials: list[TriedOrder] = []
    for number in range(25):
        decision = strategy.pick(trials, [])
        assert decision.order not in {o.order for o in trials}
        assert decision.reason == ("design" if number < 4 else "explore")
        trials.append(failed(decision.order, 0.5 + 0.01 * (number % 7)))
    assert math.isnan(decision.ucb)
    assert 0 <= decision.compliance_chance < 0.5
    assert decision.top[0] == (decision.order, decision.score)
    chances = [chance for _, chance in decision.top]
    assert chances == sorted(chances, reverse=True)
    assert len(chances) == 3
    first = made().pick([], []).order  # where nothing is known the picks spread out
    assert TYPES.distance(first, made().pick([], [first]).order) == TYPES.distance(0, 119)


def test_far_from_compliance_it_still_knows_which_way_is_up() -> None:
    # The chance is 0 to rounding everywhere; near order 0 compliance is better all the same.
    trials = [failed(o, 0.5 - 0.01 * TYPES.distance(o, 0)) for o in spread_out(TYPES, 30, 1)]
    decision = made().pick(trials, [])
    assert decision.compliance_chance < 1e-12
    assert TYPES.distance(decision.order, 0) <= 3
    everything = [failed(order, 0.9 if order == 33 else 0.1) for order in range(NUM_ORDERS)]
    assert TYPES.distance(made().pick(everything, []).order, 33) <= 1


def belief(mean: list[float], deviation: list[float], noise: float = 0.0) -> Posterior:
    return Posterior(np.array(mean), np.array(deviation), noise, 5.0)


def test_the_chance_weighs_what_is_promised_and_only_that() -> None:
    bound, chance = np.array([-8.0, -6.0, -10.0, -13.0]), np.array([0.5, 0.0, 0.5, 0.1])
    assert constrained_improvement(bound, -10.0, chance).tolist() == [1.0, 0.0, 0.0, -3.0]
    little, chance = np.array([-9.5, -10.5]), np.array([0.5, 0.5])
    assert constrained_improvement(little, -10.0, chance).tolist() == [0.25, -0.5]


def test_the_margin_counts_deviations_of_an_observation_from_one_deviation_above_the_mean() -> None:
    compliance = belief([0.9, 0.95, 0.5], [0.03, 0.0, 0.3], noise=0.04)
    assert compliance_margin(compliance, 0.95) == pytest.approx(
        [(0.93 - 0.95) / 0.05, 0.0, (0.8 - 0.95) / np.hypot(0.3, 0.04)]
    )
