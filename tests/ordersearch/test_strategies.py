import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

from workflow_rl.config import STRATEGIES
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.acquisition import compliance_chance
from workflow_rl.ordersearch.candidates import spread_out
from workflow_rl.ordersearch.gp_ucb import GpUcb
from workflow_rl.ordersearch.model import OrderGP
from workflow_rl.ordersearch.strategies import (
    Decision,
    Observation,
    Strategy,
    make_strategy,
)
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

EVERY = np.arange(NUM_ORDERS)

PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))

THRESHOLD = 0.95
WORTH = np.array([3.0, -1.0, 2.0, 0.5, 1.5, -2.0, 1.0, 0.3, -0.7, 2.5])


def complied(order: int, value: float) -> Observation:
    return Observation(order, value, 0.97, True)


def failed(order: int, compliance: float = 0.6, value: float = -300.0) -> Observation:
    return Observation(order, value, compliance, False)


def made(name: str = "gp-ucb", *, beta: float = 2.0, design: int = 4, seed: int = 0) -> Strategy:
    return make_strategy(name, TYPES, beta=beta, threshold=THRESHOLD, design=design, seed=seed)


def good_trials(orders: list[int]) -> list[Observation]:
    return [complied(o, float(-30 + PRECEDENCE[o] @ WORTH)) for o in orders]


@pytest.mark.parametrize("name", ["random", "round-robin", "exhaustive"])
def test_listed_strategies_cover_all_orders_before_any_repeats(name: str) -> None:
    strategy = made(name, seed=5)
    seen: list[Observation] = []
    for _ in range(NUM_ORDERS):
        decision = strategy.pick(seen, [])
        assert decision.reason == name
        seen.append(complied(decision.order, 0.0))
    assert sorted(o.order for o in seen) == list(range(NUM_ORDERS))
    assert strategy.pick(seen, []).order == seen[0].order


def test_listed_strategies_count_what_is_under_way() -> None:
    alone, side_by_side = made("random"), made("random")
    first = [alone.pick(good_trials(list(range(k))), []).order for k in range(4)]
    together = [side_by_side.pick(good_trials([0]), [0] * k).order for k in range(3)]
    assert together == first[1:]


def test_strategies_depend_on_the_seed_alone() -> None:
    def sequence(name: str, seed: int) -> list[int]:
        strategy = made(name, seed=seed)
        return [strategy.pick(good_trials(list(range(k))), []).order for k in range(10)]

    assert sequence("random", 1) == sequence("random", 1) != sequence("random", 2)
    assert sequence("round-robin", 1) == sequence("round-robin", 1) == spread_out(TYPES, 10, 1)
    assert sequence("exhaustive", 1) == sequence("exhaustive", 2) == list(range(10))


def test_an_unknown_strategy_is_one_sentence_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        made("annealing")
    assert str(refusal.value) == (
        "unknown strategy 'annealing': choose one of gp-ucb, random, round-robin, exhaustive, "
        "local, halving"
    )
    assert [made(name) for name in STRATEGIES]


@pytest.mark.parametrize(
    ("beta", "threshold", "design"),
    [(-1.0, 0.95, 4), (math.nan, 0.95, 4), (2.0, 1.5, 4), (2.0, 0.95, -1), (2.0, 0.95, 121)],
)
def test_numbers_out_of_range_are_refused(beta: float, threshold: float, design: int) -> None:
    with pytest.raises(InvalidInputError):
        make_strategy("gp-ucb", TYPES, beta=beta, threshold=threshold, design=design, seed=0)


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
    with pytest.raises(InvalidInputError):
        Observation(order, value, compliance, True)


def test_the_design_comes_first_whatever_is_seen_or_under_way() -> None:
    design = spread_out(TYPES, 4, 0)
    strategy = made(design=4)
    assert strategy.pick([], []) == Decision(design[0], "design")
    assert strategy.pick([], design[:2]) == Decision(design[2], "design")
    assert strategy.pick([failed(design[0])], [design[1]]) == Decision(design[2], "design")
    assert strategy.pick([complied(design[3], 0.0)], [design[0]]) == Decision(design[1], "design")
    assert strategy.pick(good_trials(design), []).reason != "design"


def test_without_a_design_the_first_picks_spread_out_by_themselves() -> None:
    strategy = made(design=0)
    picks: list[int] = []
    for _ in range(4):
        picks.append(strategy.pick([], picks).order)
    assert len(set(picks)) == 4
    assert TYPES.distance(picks[0], picks[1]) == len(PAIRS)
    assert min(TYPES.distance(a, b) for a, b in itertools.combinations(picks, 2)) >= 4


def test_the_pick_has_the_highest_bound_of_all_120() -> None:
    trials = good_trials([0, 23, 57, 88, 119])
    decision = made(beta=1.5).pick(trials, [])
    belief = OrderGP(TYPES, [o.order for o in trials], [o.value for o in trials]).posterior(EVERY)
    bound = belief.mean + 1.5 * belief.deviation
    assert decision.order == int(np.argmax(bound))
    assert decision.ucb == pytest.approx(bound.max())
    assert decision.mean == pytest.approx(belief.mean[decision.order])
    assert decision.deviation == pytest.approx(belief.deviation[decision.order])
    assert decision.compliance_chance == 1.0


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_a_decision_tells_its_bound_and_the_best_three(beta: float) -> None:
    trials = [*good_trials([0, 23, 57, 88]), failed(119)]
    decision = made(beta=beta).pick(trials, [44])
    assert decision.ucb == pytest.approx(decision.mean + beta * decision.deviation)
    assert 0 < decision.compliance_chance < 1
    assert len(decision.top) == 3
    assert decision.top[0] == (decision.order, decision.score)
    scores = [score for _, score in decision.top]
    assert scores == sorted(scores, reverse=True)
    assert len({order for order, _ in decision.top}) == 3


def test_the_score_is_the_chance_times_the_promise_beyond_the_best_that_complied() -> None:
    good = good_trials([0, 23, 57, 88])
    decision = made().pick([*good, failed(119)], [])
    orders = [o.order for o in good]
    best = OrderGP(TYPES, orders, [o.value for o in good]).posterior(EVERY).mean[orders].max()
    assert decision.score == pytest.approx(decision.compliance_chance * (decision.ucb - best))
    assert decision.score > 0


def test_a_greedy_search_exploits_and_a_curious_one_explores() -> None:
    trials = good_trials([0, 23, 57, 88, 119, 40, 71])
    assert made(beta=0.0).pick(trials, []).reason == "exploit"
    assert made(beta=50.0).pick(trials, []).reason == "explore"


def test_ties_break_by_the_lowest_index() -> None:
    # All values equal: the bound is highest where the deviation is, at equals far from the tried.
    trials = [complied(0, -20.0), complied(119, -20.0)]
    belief = OrderGP(TYPES, [0, 119], [-20.0, -20.0]).posterior(EVERY)
    equals = np.flatnonzero(np.isclose(belief.deviation, belief.deviation.max(), rtol=1e-12))
    assert len(equals) > 1
    picks = {made(seed=seed, design=2).pick(trials, []).order for seed in range(5)}
    assert picks == {int(equals[0])}


def test_orders_under_way_are_not_picked_again() -> None:
    strategy, trials = made(), good_trials([0, 23, 57, 88])
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
    alone = OrderGP(TYPES, [o.order for o in trials], [o.value for o in trials]).posterior(EVERY)
    assert with_failures[0].mean == pytest.approx(alone.mean[with_failures[0].order])


def test_a_failure_lowers_the_chance_of_its_neighbours() -> None:
    trials = [*good_trials([0, 23, 30]), failed(119, 0.3), failed(118, 0.35)]
    strategy = GpUcb(TYPES, 2.0, THRESHOLD, 4, 0)
    chance = compliance_chance(strategy.compliance_margin(trials, EVERY))
    assert chance.shape == (NUM_ORDERS,)
    assert ((chance > 0) & (chance < 1)).all()
    near = [o for o in range(NUM_ORDERS) if TYPES.distance(o, 119) == 2]
    far = [o for o in range(NUM_ORDERS) if TYPES.distance(o, 119) == 8]
    assert chance[near].max() < chance[far].min()
    assert chance[119] < 0.1
    assert (compliance_chance(strategy.compliance_margin(trials[:3], EVERY)) == 1.0).all()


def test_a_promising_region_that_fails_is_left_alone() -> None:
    best = int(np.argmax(PRECEDENCE @ WORTH))
    near = [o for o in range(NUM_ORDERS) if 0 < TYPES.distance(o, best) <= 2][:3]
    rest = [o for o in spread_out(TYPES, 12, 0) if TYPES.distance(o, best) > 4][:5]
    decision = made(design=0).pick([*good_trials(rest), *(failed(o, 0.2) for o in near)], [])
    free = made(design=0).pick(good_trials(rest), [])
    assert TYPES.distance(decision.order, near[0]) > TYPES.distance(free.order, near[0])


def test_while_everything_fails_it_goes_on_with_untried_orders() -> None:
    strategy = made(design=4)
    trials: list[Observation] = []
    for number in range(25):
        decision = strategy.pick(trials, [])
        assert decision.order not in {o.order for o in trials}
        assert decision.reason == ("design" if number < 4 else "explore")
        trials.append(failed(decision.order, 0.5 + 0.01 * (number % 7)))
    assert math.isnan(decision.ucb)
    assert 0 <= decision.compliance_chance < 0.5
    assert len(decision.top) == 3


def test_far_from_compliance_it_still_knows_which_way_is_up() -> None:
    # The chance is 0 to rounding everywhere; near order 0 compliance is better all the same.
    trials = [failed(o, 0.5 - 0.01 * TYPES.distance(o, 0)) for o in spread_out(TYPES, 30, 1)]
    decision = made().pick(trials, [])
    assert decision.compliance_chance < 1e-12
    assert TYPES.distance(decision.order, 0) <= 3


def test_when_everything_failed_it_still_picks() -> None:
    trials = [failed(order, 0.9 if order == 33 else 0.1) for order in range(NUM_ORDERS)]
    decision = made().pick(trials, [])
    assert TYPES.distance(decision.order, 33) <= 1


def test_a_first_success_leads_to_its_surroundings() -> None:
    trials = [failed(o, 0.2) for o in spread_out(TYPES, 12, 0) if o != 60] + [complied(60, -20.0)]
    decision = made().pick(trials, [])
    assert decision.reason == "explore"
    assert 0 < TYPES.distance(decision.order, 60) <= 2


@pytest.mark.parametrize("module", ["strategies", "recommend", "acquisition", "candidates"])
def test_the_library_is_only_imported_when_a_model_is_fitted(module: str) -> None:
    code = (
        f"import sys, workflow_rl.ordersearch.{module}\n"
        "print([name for name in ('torch', 'scipy') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
