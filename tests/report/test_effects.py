import numpy as np
import pytest
from numpy.typing import NDArray

from tests.report.runs import pairwise
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.report.effects import (
    OrderBeliefs,
    PairModel,
    fit_orders,
    fit_pairs,
    pair_effects,
    position_effects,
)
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

PAIRS = TYPES.pairs

ENTERPRISE_BEFORE_USER = [
    6.0 if (UNITS[a], UNITS[b]) == ("enterprise", "user") else 0.0 for a, b in PAIRS
]


def tries(seed: int, number: int, values: NDArray[np.float64], noise: float) -> list[Observation]:
    rng = np.random.default_rng(seed)
    orders = rng.choice(NUM_ORDERS, number, replace=False).tolist()
    return [Observation(o, float(values[o] + noise * rng.normal()), 0.97, True) for o in orders]


def fitted(seen: list[Observation]) -> PairModel:
    model = fit_pairs(TYPES, seen)
    assert model is not None
    return model


@pytest.mark.parametrize("seed", range(5))
def test_what_each_pair_is_worth_is_recovered_when_every_order_is_known(seed: int) -> None:
    worth = np.random.default_rng(seed).normal(scale=4.0, size=len(PAIRS))
    model = fitted(tries(seed, NUM_ORDERS, pairwise(worth.tolist()), noise=0.0))
    assert model.mean == pytest.approx(worth, abs=0.05)
    assert model.explained > 0.99
    truth = {(UNITS[a], UNITS[b]): w for (a, b), w in zip(PAIRS, worth, strict=True)}
    effects = pair_effects(model)
    assert len(effects) == len(PAIRS)
    for effect in effects:  # told the better way round, the largest first
        pair = effect.first, effect.second
        expected = truth[pair] if pair in truth else -truth[pair[::-1]]
        assert effect.worth.mean == pytest.approx(expected, abs=0.05)
        assert effect.worth.mean >= 0
    means = [effect.worth.mean for effect in effects]
    assert means == sorted(means, reverse=True)


def test_a_pair_is_not_credited_with_what_goes_along_with_it() -> None:
    values = pairwise(ENTERPRISE_BEFORE_USER)
    effects = pair_effects(fitted(tries(0, NUM_ORDERS, values, noise=0.1)))
    assert (effects[0].first, effects[0].second) == ("enterprise", "user")
    assert effects[0].worth.mean == pytest.approx(6.0, abs=0.1)
    assert max(effect.worth.mean for effect in effects[1:]) < 0.1
    ahead = np.array([order.index("enterprise") < order.index("op_host") for order in ORDERS])
    naive = values[ahead].mean() - values[~ahead].mean()
    assert naive == pytest.approx(2.0)  # what a difference of means would have said of another pair


def test_twenty_noisy_trials_find_the_pair_that_matters_and_no_other() -> None:
    seen = tries(3, 20, pairwise(ENTERPRISE_BEFORE_USER, -18.0), noise=0.5)
    clear = [effect for effect in pair_effects(fitted(seen)) if effect.is_clear]
    assert [(effect.first, effect.second) for effect in clear] == [("enterprise", "user")]
    assert clear[0].worth.low < 6.0 < clear[0].worth.high
    assert clear[0].tried + clear[0].tried_reverse == 20


@pytest.mark.parametrize(("number", "least"), [(8, 0.85), (20, 0.9), (40, 0.9)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(number: int, least: float) -> None:
    held = []
    for seed in range(15):
        worth = np.random.default_rng(seed).normal(scale=1.5, size=len(PAIRS))
        model = fitted(tries(seed, number, pairwise(worth.tolist()), noise=0.5))
        for pair, truth in enumerate(worth):
            estimate = model.combined(np.eye(len(PAIRS))[pair])
            held.append(estimate.low <= truth <= estimate.high)
    assert np.mean(held) >= least


def test_where_nothing_matters_nothing_is_said_to() -> None:
    clear = 0
    for seed in range(15):
        model = fitted(tries(seed, 20, np.full(NUM_ORDERS, -20.0), noise=0.5))
        clear += sum(effect.is_clear for effect in pair_effects(model))
    assert clear <= 1  # of 150


def test_more_trials_narrow_the_intervals() -> None:
    values = pairwise(ENTERPRISE_BEFORE_USER)
    widths = [
        np.mean([e.worth.half_width for e in pair_effects(fitted(tries(1, n, values, noise=0.5)))])
        for n in (6, 20, 80)
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_places_are_worth_the_mean_of_their_orders_over_the_mean_of_all() -> None:
    values = np.random.default_rng(7).normal(size=NUM_ORDERS)
    worth = position_effects(
        TYPES, OrderBeliefs(np.arange(NUM_ORDERS), values, np.ones(NUM_ORDERS), 0.1, 5.0, 20, True)
    )
    assert worth is not None
    for unit, row in zip(UNITS, worth, strict=True):
        for place, mean in enumerate(row):
            here = [v for v, order in zip(values, ORDERS, strict=True) if order[place] == unit]
            assert len(here) == 24
            assert mean == pytest.approx(np.mean(here) - values.mean())
        assert row.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("values", [[], [-10.0], [-10.0, -12.0], [-10.0] * 6])
def test_from_too_little_nothing_is_concluded(values: list[float]) -> None:
    assert fit_pairs(TYPES, [Observation(k, v, 0.97, True) for k, v in enumerate(values)]) is None


def test_only_compliant_trials_count_while_there_are_two() -> None:
    good = [Observation(0, -10.0, 0.97, True), Observation(50, -12.0, 0.96, True)]
    bad = [Observation(100, -90.0, 0.2, False)]
    beliefs = fit_orders(TYPES, good + bad)
    assert beliefs is not None
    assert beliefs.only_compliant
    assert beliefs.trials == 2
    assert beliefs.mean.min() > -20
    beliefs = fit_orders(TYPES, good[:1] + bad)
    assert beliefs is not None
    assert not beliefs.only_compliant
    assert beliefs.trials == 2
    assert fit_orders(TYPES, []) is None


def test_beliefs_are_those_of_the_search() -> None:
    from workflow_rl.ordersearch.recommend import recommend

    seen = tries(5, 12, pairwise(ENTERPRISE_BEFORE_USER), noise=0.5)
    beliefs, chosen = fit_orders(TYPES, seen), recommend(TYPES, seen)
    assert beliefs is not None
    assert beliefs.of(chosen.order).mean == pytest.approx(chosen.mean)
    assert beliefs.of(chosen.order).error == pytest.approx(chosen.deviation)
