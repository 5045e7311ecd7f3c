import math

import numpy as np
import pytest

from tests.ordersearch.quick import FEW, HOSTS, SUBNETS, complied, failed, made, searched, tried
from tests.refused import refusal
from workflow_rl.ordersearch.strategies import Decision, Strategy, TriedOrder, by_merit
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES, Orders


@pytest.mark.parametrize("name", ["random", "round-robin", "exhaustive"])
def test_listed_strategies_cover_all_orders_before_any_repeats(name: str) -> None:
    strategy = made(name, seed=5)
    seen: list[TriedOrder] = []
    for _ in range(NUM_ORDERS):
        decision = strategy.pick(seen, [])
        assert decision.reason == name
        seen.append(complied(decision.order, 0.0))
    assert sorted(o.order for o in seen) == list(range(NUM_ORDERS))
    for again in (seen * 2, seen * 3):
        assert strategy.pick(again[:-1], []).order == seen[-1].order
        assert strategy.pick(again, []).order == seen[0].order


RECORDED = {  # the first six picks of seed 7, later trials being worse
    ("exhaustive", TYPES): [0, 1, 2, 3, 4, 5],
    ("random", TYPES): [68, 8, 86, 85, 102, 10],
    ("round-robin", TYPES): [80, 98, 0, 119, 15, 45],
    ("local", TYPES): [80, 98, 81, 38, 32, 72],
    ("halving", TYPES): [23, 76, 33, 65, 91, 23],
    ("random", HOSTS): [266791280, 444118073, 118163426, 470237984, 130359759, 171594713],
    ("round-robin", HOSTS): [320743191, 124645516, 119464643, 329241166, 278032000, 32155968],
    ("local", HOSTS): [320743191, 124645516, 320743378, 320699967, 320584071, 320740868],
    ("halving", HOSTS): [93755772, 305587983, 135619178, 259668173, 363714214, 93755772],
}


@pytest.mark.parametrize(("name", "orders"), RECORDED)
def test_what_is_drawn_is_what_was_drawn_for_the_seed_before(name: str, orders: Orders) -> None:
    """Else a search that was interrupted before an update would go on as another one."""
    picks, seen = RECORDED[name, orders], list[TriedOrder]()
    strategy = made(name, orders, initial_design=2, seed=7, n_workflows=10)
    for number, order in enumerate(picks):
        assert strategy.pick(seen, []).order == order
        seen.append(complied(order, -float(number)))


def test_where_all_was_tried_the_local_search_draws_one_of_them_again() -> None:
    tried = [complied(order, 0.0) for order in FEW.listed().tolist()]
    strategy = made("local", FEW, initial_design=2, seed=7)
    picks = [strategy.pick(tried * k, []).order for k in range(1, 8)]
    assert picks == [100, 22, 117, 116, 116, 100, 100]


@pytest.mark.parametrize("orders", [TYPES, HOSTS], ids=["types", "hosts"])
@pytest.mark.parametrize("name", ["random", "round-robin", "local", "halving"])
def test_picks_count_what_is_under_way(name: str, orders: Orders) -> None:
    def picks(done: int) -> list[int]:
        strategy, found = made(name, orders), list[int]()
        for _ in range(4):  # as many as the design has, and fewer than the first round
            trials = [complied(order, -10.0) for order in found[:done]]
            found.append(strategy.pick(trials, found[done:]).order)
        return found

    assert picks(0) == picks(1) == picks(2) == picks(4)


def test_a_local_search_leaves_out_what_was_tried_and_what_is_under_way() -> None:
    for seed in range(4):
        trials = [complied(order, -float(order)) for order in (0, 1, 2)]
        pick = made("local", SUBNETS, initial_design=1, seed=seed).pick(trials, [2, 3, 5])
        assert (pick.order, pick.reason) == (4, "local")


def test_a_local_search_does_not_climb_from_the_second_best() -> None:
    near = [order for order in TYPES.neighbours(0).tolist() if order != 119]
    trials = [complied(0, -1.0), *(complied(order, -2.0) for order in near)]
    assert made("local").pick(trials, []).reason == "random"
    assert made("local").pick(trials[:-1], []) == Decision(near[-1], "local")


def played(strategy: Strategy, trials: int) -> list[int]:
    """What is tried where a trial's value is an order's luck at its first, second, ... trial."""
    return [o.order for o in searched(strategy, trials, luck)]


def luck(order: int, trial: int) -> float:
    return float(np.random.default_rng([order, trial]).normal())


@pytest.mark.parametrize("trials", [1, 2, 3, 7, 16, 40])
def test_halving_is_what_its_rounds_are_one_by_one(trials: int) -> None:
    picks = played(made("halving", n_workflows=trials), trials + 5)
    arms, expected = picks[: math.ceil(trials / 2)], list[int]()
    assert len(set(arms)) == len(arms)
    for round_ in range(1, trials + 6):
        expected += arms
        means = {arm: np.mean([luck(arm, k) for k in range(round_)]) for arm in arms}
        arms = sorted(arms, key=lambda arm: -means[arm])[: math.ceil(len(arms) / 2)]
    assert picks == expected[: len(picks)]


def test_halving_of_what_is_all_under_way_goes_on_with_the_first_half() -> None:
    strategy = made("halving", n_workflows=12)
    first = [strategy.pick([], [0] * k).order for k in range(6)]
    again = [strategy.pick([], first + [0] * k).order for k in range(5)]
    assert again == [*first[:3], *first[:2]]


def test_halving_draws_no_more_orders_than_there_are() -> None:
    assert sorted(played(made("halving", FEW, n_workflows=20), 5)) == FEW.listed().tolist()


def test_an_order_complies_if_more_than_half_of_its_trials_did() -> None:
    seen = [complied(1, -50.0), failed(1, 0.8), *[complied(2, -90.0)] * 2, failed(2, 0.1)]
    assert by_merit(seen) == [2, 1]
    assert by_merit([*seen, failed(3, 0.9)]) == [2, 3, 1]  # 1 has 0.885 on average
    three_of_seven = [complied(4, -10.0)] * 3 + [failed(4, 0.1, -10.0)] * 4
    assert by_merit([*seen, *three_of_seven])[0] == 2
    assert by_merit([failed(3, 0.5, -1.0), failed(4, 0.7, -1.0), complied(1, -30.0)]) == [1, 4, 3]


def test_merit_is_a_mean_and_equals_go_by_their_number() -> None:
    assert by_merit([complied(1, -10.0), complied(1, -10.0), complied(2, -15.0)]) == [1, 2]
    assert by_merit([complied(1, -10.0), complied(1, -30.0), complied(2, -18.0)]) == [2, 1]
    assert by_merit([complied(1, -10.7), complied(2, -10.2)]) == [2, 1]
    assert by_merit([complied(order, -10.0) for order in (9, 0, 5)]) == [0, 5, 9]


@pytest.mark.parametrize(
    ("order", "value", "compliance"),
    [
        (0, math.nan, 0.97),
        (0, math.inf, 0.97),
        (0, 0.0, math.nan),
        (0, 0.0, 1.5),
        (math.factorial(12), 0.0, 0.97),
        (-1, 0.0, 0.97),
    ],
)
def test_an_observation_that_cannot_be_is_refused(
    order: int, value: float, compliance: float
) -> None:
    refusal(tried, order, value, compliance, True)
    assert complied(HOSTS.total - 1).order == HOSTS.total - 1
