"""What is said of searches on landscapes whose truth is known."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ordersearch.quick import (
    EVERY,
    PAIRS,
    SUBNETS,
    complied,
    failed,
    made,
    quick_search,
    searched,
    trials_of,
)
from tests.pages.runs import pairwise
from tests.studies.lands import recorded
from workflow_rl.config import TrainConfig
from workflow_rl.files import json_text
from workflow_rl.ordersearch.finding import Finding, PairEffect, conclude
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES, Orders, orders_of
from workflow_rl.workflow.units import TYPE_UNITS

POSITIONS = TYPES.positions(range(NUM_ORDERS))

PLACE = {unit: POSITIONS[:, u].astype(int) for u, unit in enumerate(TYPE_UNITS.names)}
NOTHING = np.full(NUM_ORDERS, -20.0)


def worth_of(**pairs: float) -> list[float]:
    """What each pair is worth: `enterprise__user=6.0`, the rest nothing."""
    named = {tuple(name.split("__")): worth for name, worth in pairs.items()}
    return [named.get((TYPE_UNITS.names[a], TYPE_UNITS.names[b]), 0.0) for a, b in PAIRS]


def every_order(values: NDArray[np.float64], noise: float = 0.0, seed: int = 0) -> list[TriedOrder]:
    return trials_of(EVERY, values + noise * np.random.default_rng(seed).normal(size=NUM_ORDERS))


def swaps(values: NDArray[np.float64], first: str, second: str) -> float:
    """What `first` right before `second` is truly worth over the reverse, on average."""
    gains = []
    for order, units in enumerate(ORDERS):
        if PLACE[second][order] == PLACE[first][order] + 1:
            other = [{first: second, second: first}.get(unit, unit) for unit in units]
            gains.append(values[order] - values[ORDERS.index(tuple(other))])
    return float(np.mean(gains))


def true_worth(effect: PairEffect, worth: list[float]) -> float:
    """What an effect's first before its second is worth, by the worth of each of PAIRS."""
    pair = TYPE_UNITS.names.index(effect.first), TYPE_UNITS.names.index(effect.second)
    return worth[PAIRS.index(pair)] if pair in PAIRS else -worth[PAIRS.index(pair[::-1])]


def falsely_clear(found: Finding, values: NDArray[np.float64]) -> bool:
    """Whether anything is called clear that is worth nothing, or the other way round."""
    return any(swaps(values, e.first, e.second) < 1e-9 for e in found.clear)


ENTERPRISE_FIRST = 6.0 * (PLACE["enterprise"] == 0)  # no sum of pairs
BEFORE_USER = pairwise(worth_of(enterprise__user=10.0))
LANDS: dict[str, tuple[NDArray[np.float64], NDArray[np.float64] | float]] = {
    "nothing": (NOTHING, 1.0),
    "one small pair": (pairwise(worth_of(enterprise__user=3.0)), 1.0),
    "one large pair": (BEFORE_USER, 1.0),
    "noisier where it is worse": (
        BEFORE_USER,
        np.where(PLACE["enterprise"] < PLACE["user"], 0.5, 1.5),
    ),
    "two pairs": (pairwise(worth_of(enterprise__user=6.0, defender__op_host=-4.0)), 1.0),
    "no sum of pairs": (ENTERPRISE_FIRST, 1.0),
}


@pytest.mark.parametrize(
    ("name", "searches"),
    [
        *((name, 20) for name in list(LANDS)[:3]),
        *(pytest.param(name, 400, marks=pytest.mark.slow) for name in LANDS),
    ],
)
def test_a_false_effect_is_called_clear_in_at_most_5_percent_of_searches(
    name: str, searches: int
) -> None:
    truth, noise = LANDS[name]
    false = sum(
        falsely_clear(conclude(TYPES, quick_search(truth, noise, seed), "meander"), truth)
        for seed in range(searches)
    )
    assert false <= searches // 20


def by_the_real_strategy(truth: NDArray[np.float64], noise: float, seed: int) -> list[TriedOrder]:
    rng, strategy = np.random.default_rng([seed, 7]), made(initial_design=5, seed=seed)
    return searched(strategy, 20, lambda order, _: float(truth[order] + noise * rng.normal()))


@pytest.mark.parametrize(
    ("search", "searches", "fewest"),
    [(quick_search, 20, 5), pytest.param(by_the_real_strategy, 8, 4, marks=pytest.mark.slow)],
)
def test_a_true_effect_is_found_or_among_what_cannot_be_told_apart(
    search: Callable[[NDArray[np.float64], float, int], list[TriedOrder]],
    searches: int,
    fewest: int,
) -> None:
    clear = 0
    for seed in range(searches):
        found = conclude(TYPES, search(BEFORE_USER, 1.0, seed), "bline")
        assert "enterprise before user" in [str(e) for e in (*found.clear, *found.either)]
        assert not falsely_clear(found, BEFORE_USER)
        clear += "enterprise before user" in map(str, found.clear)
    assert clear >= fewest  # where the trials went together with nothing else


def test_against_bline_searches_of_the_recorded_landscape_find_what_matters() -> None:
    land = recorded("bline")
    values = land.levelled.mean(axis=0)
    noise = np.array([land.levelled[:, land.classes == c].std() for c in land.classes])
    worth = []
    for seed in range(100):
        found = conclude(TYPES, quick_search(values, noise, seed), "bline")
        assert "enterprise before user" in [str(e) for e in (*found.clear, *found.either)]
        assert found.idle == ("defender", "op_host")
        assert not any({e.first, e.second} & set(found.idle) for e in found.effects)
        if found.headline.startswith("enterprise before user; "):
            worth.append(found.clear[0].worth.mean)
            assert len(found.best) == 60
    assert len(worth) >= 60
    assert np.median(worth) == pytest.approx(9.9, abs=1.0)


def test_when_every_order_is_known_each_effect_is_recovered_with_all_others_held() -> None:
    worth = np.random.default_rng(3).normal(scale=4.0, size=len(PAIRS)).tolist()
    found = conclude(TYPES, every_order(pairwise(worth), noise=0.3), "meander")
    assert len(found.effects) == len(PAIRS)
    for effect in found.effects:  # told the better way round
        assert effect.worth.mean == pytest.approx(true_worth(effect, worth), abs=0.25)
        assert effect.is_clear
        assert effect.tried == effect.tried_reverse == NUM_ORDERS // 2
    means = [effect.worth.mean for effect in found.effects]
    assert means == sorted(means, reverse=True)
    assert found.explained > 0.98


@pytest.mark.parametrize("seed", [1, 4])
def test_effects_are_counted_and_sorted_clear_ones_first(seed: int) -> None:
    seen = quick_search(BEFORE_USER, 1.0, seed)
    found = conclude(TYPES, seen, "meander")
    assert found.clear == found.effects[: len(found.clear)]
    for some in (found.clear, found.effects[len(found.clear) :]):
        means = [effect.worth.mean for effect in some]
        assert means == sorted(means, reverse=True)
    for effect in found.effects:
        ahead = [PLACE[effect.first][o.order] < PLACE[effect.second][o.order] for o in seen]
        assert (effect.tried, effect.tried_reverse) == (sum(ahead), len(seen) - sum(ahead))
    assert any(effect.tried != effect.tried_reverse for effect in found.effects)
    assert found.clear or seed == 1


def test_in_other_units_of_reward_the_finding_is_the_same() -> None:
    seen = quick_search(pairwise(worth_of(enterprise__user=6.0, defender__op_host=-4.0)), 1.0, 0)
    scale = 2.0**-6  # exact
    smaller = [complied(o.order, o.value * scale) for o in seen]
    found, same = conclude(TYPES, seen, "meander"), conclude(TYPES, smaller, "meander")
    assert found.effects
    assert list(map(str, same.effects)) == list(map(str, found.effects))
    assert [e.worth.mean for e in same.effects] == [e.worth.mean * scale for e in found.effects]
    assert all(effect.worth.mean >= 0 for effect in same.effects)
    assert [e.is_clear for e in same.effects] == [e.is_clear for e in found.effects]
    assert list(map(str, same.either)) == list(map(str, found.either))
    assert same.best == found.best


@pytest.mark.parametrize("number", [8, 20, 40])
def test_intervals_hold_the_truth_about_as_often_as_they_say(number: int) -> None:
    held = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        worth = rng.normal(scale=1.5, size=len(PAIRS)).tolist()
        seen = quick_search(pairwise(worth), 0.5, seed, number)
        for effect in conclude(TYPES, seen, "meander").effects:
            held.append(effect.worth.low <= true_worth(effect, worth) <= effect.worth.high)
    assert np.mean(held) >= 0.85


def test_pairs_that_always_went_together_are_not_told_apart() -> None:
    together = (PLACE["enterprise"] < PLACE["user"]) == (PLACE["defender"] < PLACE["op_host"])
    rng = np.random.default_rng(0)
    orders = np.flatnonzero(together)[::2].tolist()
    seen = trials_of(orders, BEFORE_USER[orders] + rng.normal(size=len(orders)))
    found = conclude(TYPES, seen, "meander")
    assert found.clear == ()
    assert {str(e) for e in found.either} == {"enterprise before user", "defender before op_host"}
    assert "these trials cannot tell which" in found.headline
    assert len(found.best) == 30
    assert all(
        PLACE["enterprise"][o] < PLACE["user"][o] and PLACE["defender"][o] < PLACE["op_host"][o]
        for o in found.best
    )


ONLY = orders_of(TrainConfig(require=(" > ".join(ORDERS[33]),)))


@pytest.mark.parametrize(
    ("orders", "seen", "begins", "best"),
    [
        (TYPES, [failed(k, 0.3) for k in range(7)], "No workflow complied: none of the 7", 120),
        (TYPES, list(map(complied, range(3), range(3))), "Only 3 trials complied: too few", 120),
        (ONLY, [complied(33)], "One order alone is allowed", 1),
        (ONLY, [failed(33)], "No workflow complied", 1),
        (SUBNETS, [complied(0), failed(5)], "Only 1 trial complied", 1),  # the reverse failed
        (
            TYPES,
            list(map(complied, EVERY.tolist())),
            "no order is shown to be better than another",
            120,
        ),
    ],
)
def test_where_orders_cannot_be_compared_that_is_all_that_is_said(
    orders: Orders, seen: list[TriedOrder], begins: str, best: int
) -> None:
    found = conclude(orders, seen, "meander")
    assert found.headline.startswith(begins)
    assert (found.effects, len(found.best)) == ((), best)


def test_four_trials_are_enough_to_weigh_pairs() -> None:
    found = conclude(TYPES, list(map(complied, range(4), range(4))), "meander")
    assert len(found.effects) == len(PAIRS)


def test_what_is_written_down_is_what_was_found() -> None:
    seen = quick_search(BEFORE_USER, 1.0, 1)
    found = conclude(TYPES, seen, "bline")
    data = json.loads(json_text(found.as_json()))
    assert data["headline"] == found.headline
    assert (data["best_orders"], data["equal_orders"]) == (len(found.best), len(found.equals))
    assert data["clear"] == [[e.first, e.second] for e in found.clear]
    assert len(data["pairs"]) == len(found.effects) == 3
    assert not math.isnan(data["explained"])
    more = conclude(TYPES, [*seen, *(failed(k, 0.2, -500.0) for k in range(5))], "bline")
    assert (more.tried, more.compliant) == (25, 20)  # those that failed do not count
    assert more.headline == found.headline


def test_effects_that_no_order_can_have_together_are_weighed_against_each_other() -> None:
    circle = worth_of(enterprise__op_server=6.0, op_server__user=6.0, enterprise__user=-3.0)
    found = conclude(TYPES, every_order(pairwise(circle), noise=0.5), "meander")
    assert len(found.clear) == 3
    assert len(found.best) == 20
    assert all(
        PLACE["enterprise"][o] < PLACE["op_server"][o] < PLACE["user"][o] for o in found.best
    )


def unmet_by_hand(seen: list[TriedOrder], units: tuple[str, ...]) -> set[tuple[str, str, int]]:
    """Pairs in trials of which none complied; nothing where those are more than four, or all."""
    found = set()
    for first, second in itertools.permutations(units, 2):
        having = [o for o in seen if ORDERS[o.order].index(first) < ORDERS[o.order].index(second)]
        if having and not any(o.is_compliant for o in having):
            found.add((first, second, len(having)))
    return found if len(found) <= 4 and any(o.is_compliant for o in seen) else set()


def test_what_never_complied_is_what_no_compliant_trial_has() -> None:
    rng, numbers = np.random.default_rng(0), set()
    for _ in range(120):
        orders = rng.integers(0, NUM_ORDERS, rng.integers(1, 12))
        kinds = rng.random(len(orders)) < rng.choice([0.2, 0.6])
        seen = [
            (complied if good else failed)(int(order))
            for order, good in zip(orders, kinds, strict=True)
        ]
        for red, units in (
            ("meander", TYPE_UNITS.names),
            ("bline", ("enterprise", "op_server", "user")),
        ):
            found = conclude(TYPES, seen, red)
            assert set(found.unmet) == unmet_by_hand(seen, units)
            assert set(found.best) == {
                order
                for order, names in enumerate(ORDERS)
                if all(names.index(p.second) < names.index(p.first) for p in found.unmet)
            }
            assert found.best_orders == len(found.best)
            assert found.as_json()["none_complied"] == [[p.first, p.second] for p in found.unmet]
            numbers.add(len(found.unmet))
    assert numbers == {0, 1, 2, 3, 4}


def trials_of_hosts(orders: Orders, worth: dict[str, float], noise: float) -> list[TriedOrder]:
    """Drawn orders of hosts; `A before B` is worth so much over the reverse."""
    tried = orders.draw(np.random.default_rng(0), 60)
    places, names = orders.positions(tried), orders.units.names
    values = noise * np.random.default_rng(1).normal(size=len(tried))
    for text, points in worth.items():
        first, second = map(names.index, text.split(" before "))
        values += np.where(places[:, first] < places[:, second], points / 2, -points / 2)
    return trials_of(tried, values)


@pytest.mark.parametrize(("clear", "share"), [("User1 before User2", 6), ("User2 before User1", 3)])
@pytest.mark.parametrize("scale", [0.05, 10.0])
def test_orders_too_many_to_list_are_counted_with_the_pair_the_better_way_round(
    clear: str, share: int, scale: float
) -> None:
    orders = orders_of(TrainConfig(units="hosts", require=("User2 > User3",)))
    seen = trials_of_hosts(orders, {clear: 5.0 * scale}, noise=scale)
    found = conclude(orders, seen, "meander")
    assert [str(effect) for effect in found.clear] == [clear]
    assert found.best_orders == math.factorial(12) // share  # User1 > User2 > User3 is a sixth
    first, second = clear.split(" before ")
    assert set(found.best) == {
        o.order for o in seen if orders[o.order].index(first) < orders[o.order].index(second)
    }


def test_where_no_order_has_all_that_is_clear_the_best_tried_are_counted() -> None:
    last = " > ".join(["User4", "User3", "Enterprise2", "Op_Server0", "Enterprise1"])
    rules = [f"{unit} > {last}" for unit in ("Enterprise0", "User1", "User2")]
    orders = orders_of(TrainConfig(units="hosts", require=tuple(rules)))
    circle = dict.fromkeys(("Enterprise0 before User1", "User1 before User2"), 6.0)
    circle["User2 before Enterprise0"] = 3.0
    seen = trials_of_hosts(orders, circle, noise=0.3)
    found = conclude(orders, seen, "bline")
    assert {str(effect) for effect in found.clear} == set(circle)
    best = {o.order for o in seen if o.value > 3.0}  # the first two: 4.5, another two: 1.5
    assert set(found.best) == best
    assert found.best_orders == len(best)


def test_the_best_tried_are_told_even_if_they_lack_more_than_they_have() -> None:
    stages = ["User1 User2", "User3 User4", "Enterprise0 Enterprise1", "Enterprise2", "Op_Server0"]
    rules = [
        f"{before} > {after}"
        for some, others in itertools.pairwise(map(str.split, stages))
        for before, after in itertools.product(some, others)
    ]
    orders = orders_of(TrainConfig(units="hosts", require=tuple(rules)))
    worth = dict.fromkeys(("User4 before User3", "Enterprise0 before Enterprise1"), 4.0)
    worth["User1 before User2"] = 6.0
    seen = [o for o in trials_of_hosts(orders, worth, noise=0.1) if o.value < 0.0]
    found = conclude(orders, seen, "bline")
    assert {str(effect) for effect in found.clear} == set(worth)
    assert set(found.best) == {o.order for o in seen if o.value > -2.0}  # the first pair alone
    assert found.best_orders == math.factorial(12) // math.factorial(8)


def by_two_attackers(reverses: bool) -> Finding:
    """Trials of enterprise before user: worth 3 against bline, and -7 or 7 against bait."""
    rng, seen = np.random.default_rng(0), []
    for order in rng.integers(0, NUM_ORDERS, 20).tolist():
        names = list(TYPES[order])
        ahead = names.index("enterprise") < names.index("user")
        means = {"bline": -14 + 3 * ahead, "bait": -80 + (-7 if reverses else 7) * ahead}
        each = tuple(
            replace(complied(order, mean + rng.normal(0, 0.2)).result, red_agent=red)
            for red, mean in means.items()
        )
        seen.append(TriedOrder(order, each[1], is_compliant=True, by_attacker=each))
    return conclude(TYPES, seen, "bline=1,bait=1")


def test_attackers_that_contradict_each_other_are_told_first() -> None:
    found = by_two_attackers(reverses=True)
    assert found.headline.startswith(
        "The attackers disagree: enterprise before user against bline, worth 3.0"
    )
    assert "but user before enterprise against bait, worth 6.9" in found.headline
    assert any(text.startswith("Against bline: enterprise before user") for text in found.details)
    assert found.as_json()["by_attacker"]["bait"]["clear"] == [["user", "enterprise"]]
    assert json.loads(json_text(found.as_json()))["contradictions"]
    agreed = by_two_attackers(reverses=False)
    assert not agreed.contradictions
    assert "disagree" not in agreed.headline
    assert [name for name, _ in agreed.by_attacker] == ["bline", "bait"]
