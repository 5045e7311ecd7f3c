"""What a search found: which pairs matter, which orders are equal, and which one to hand over.

One computation, which the terminal, `summary.json` and the report tell in the same words.
"""

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate, Floats
from workflow_rl.ordersearch.effects import alternatives, clear_pairs, weigh_pairs
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import Orders
from workflow_rl.workflow.precedence import Requirements

FEWEST: Final = 4  # compliant trials, to say anything of pairs
_MOST_ALTERNATIVES: Final = 4  # more than so many say nothing
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class PairEffect:
    """What it is worth to put one unit before another."""

    first: str  # the better way round, as far as is known
    second: str
    worth: Estimate  # of `first` before `second` over the reverse, all other pairs as they are
    probability: float  # that the pair matters, this way round
    is_clear: bool
    tried: int  # trials with `first` before `second`
    tried_reverse: int

    @property
    def at_most(self) -> float:
        """What the pair is worth at most, whichever way round, by its 95 % interval."""
        return max(abs(self.worth.low), abs(self.worth.high))

    def __str__(self) -> str:
        """Returns `A before B`."""
        return f"{self.first} before {self.second}"


class UnmetPair(NamedTuple):
    """A unit before another, in trials of which none complied."""

    first: str
    second: str
    trials: int

    def __str__(self) -> str:
        """Says so."""
        with_it = f"with {self.first} before {self.second}"
        if self.trials == 1:
            return f"The one trial {with_it} did not comply"
        return f"None of the {self.trials} trials {with_it} complied"


@dataclass(frozen=True)
class Finding:
    """What the trials of a search tell of orders."""

    tried: int  # trials
    compliant: int  # of them; the rest of what is found is about these
    idle: tuple[str, ...]  # units whose places make no difference by the rules of the game
    equals: tuple[int, ...]  # orders that are best and equal, none of `unmet`: all, or if ...
    equal_orders: int  # ... these are too many to list, those tried
    effects: tuple[PairEffect, ...] = ()  # of every pair that can matter, the clear ones first
    either: tuple[PairEffect, ...] = ()  # at least one matters, the trials cannot tell which
    explained: float = math.nan  # share of the trials' variance that the pairs explain, if known
    unmet: tuple[UnmetPair, ...] = ()  # that were tried, and never complied with

    @property
    def clear(self) -> tuple[PairEffect, ...]:
        """The pairs with a clear effect."""
        return tuple(effect for effect in self.effects if effect.is_clear)

    @property
    def headline(self) -> str:
        """The finding in a sentence."""
        equal = "one order" if self.equal_orders == 1 else f"{self.equal_orders:,} equal orders"
        if not self.compliant:
            return (
                f"No workflow complied: none of the {self.tried} tried reached the compliance "
                "asked for, so no order can be recommended"
            )
        if self.equal_orders == 1 and not self.effects and not self.unmet:
            return "One order alone is allowed: there is nothing to compare it with"
        if self.compliant < FEWEST:
            trials = "1 trial" if self.compliant == 1 else f"{self.compliant} trials"
            return f"Only {trials} complied: too few to tell orders apart"
        if self.clear and not self.either:
            return f"{_joined(self.clear)}; the rest makes no difference that shows: {equal}"
        if self.either:
            which = " or ".join(map(str, self.either))
            known = f"{_joined(self.clear)}, and besides " if self.clear else ""
            return (
                f"{known}either {which} matters, these trials cannot tell which; the rest makes "
                f"no difference that shows: {equal}"
            )
        return (
            f"no order is better than another as far as {self.compliant} trials can tell: {equal}"
        )

    @property
    def details(self) -> tuple[str, ...]:
        """What else there is to say, a sentence each."""
        told = []
        for effect in self.clear:
            interval = f"{effect.worth.low:.1f} to {effect.worth.high:.1f}"
            told.append(f"Worth {effect.worth.mean:.1f} points an episode ({interval}): {effect}.")
        rest = [effect for effect in self.effects if effect not in (*self.clear, *self.either)]
        if rest:
            most = max(effect.at_most for effect in rest)
            other = "other " if self.clear or self.either else ""
            told.append(f"No {other}pair is worth more than {most:.1f} points, by these trials.")
        told += [f"{pair}: what such orders are worth is not known." for pair in self.unmet]
        if self.idle:
            many = len(self.idle) > 1
            told.append(
                f"By the rules the {'places' if many else 'place'} of {listed(self.idle)} cannot "
                "matter against this attacker."
            )
        return tuple(told)

    def as_json(self) -> dict[str, Any]:
        """Returns the finding as plain data."""
        return {
            "headline": self.headline,
            "details": list(self.details),
            "equal_orders": self.equal_orders,
            "clear": [[effect.first, effect.second] for effect in self.clear],
            "cannot_be_told_apart": [[effect.first, effect.second] for effect in self.either],
            "cannot_matter": list(self.idle),
            "none_complied": [[pair.first, pair.second] for pair in self.unmet],
            "explained": self.explained,
            "pairs": [asdict(effect) for effect in self.effects],
        }


def conclude(orders: Orders, seen: Sequence[TriedOrder], red_agent: str) -> Finding:
    """Tells what trials against a red agent have found; only those that complied count."""
    used = [o for o in seen if o.is_compliant]
    names, idle = orders.units.names, orders.idle_units(red_agent)
    # Only pairs that may be arranged either way, of units whose places can matter.
    able = [
        pair
        for pair, units in enumerate(orders.pairs)
        if not set(units) & set(idle) and orders.is_free(*units)
    ]
    values = np.array([o.value for o in used])
    unmet = _unmet(orders, seen, able)
    known = _requiring(orders, [(pair.second, pair.first) for pair in unmet])
    equals, number = _best_by(known, {}, used)
    cannot_matter = tuple(names[unit] for unit in idle)
    finding = Finding(len(seen), len(used), cannot_matter, equals, number, unmet=unmet)
    if len(used) < FEWEST or not values.std() > 0 or not able:
        return finding
    features = orders.precedence([o.order for o in used])[:, able] / 2.0
    weights = weigh_pairs(features, values)
    clear = clear_pairs(weights)
    either = alternatives(weights, clear)
    if len(either) > _MOST_ALTERNATIVES:
        either = []
    effects = [
        _effect(
            [names[unit] for unit in orders.pairs[pair]],
            weights.estimate(k),
            float(weights.probability[k]),
            k in clear,
            features[:, k],
        )
        for k, pair in enumerate(able)
    ]
    decisive = {able[k]: float(weights.worth[k]) for k in (*clear, *either)}
    equals, number = _best_by(known, decisive, used)
    return replace(
        finding,
        equals=equals,
        equal_orders=number,
        effects=tuple(sorted(effects, key=lambda e: (not e.is_clear, -e.worth.mean))),
        either=tuple(effects[k] for k in either),
        explained=weights.explained,
    )


def _unmet(
    orders: Orders, seen: Sequence[TriedOrder], able: Sequence[int]
) -> tuple[UnmetPair, ...]:
    """Returns the pairs that only trials which did not comply have; none if they are many."""
    complied, failed = (
        orders.precedence([o.order for o in seen if o.is_compliant is kind])[:, able]
        for kind in (True, False)
    )
    names = orders.units.names
    found = [
        UnmetPair(names[units[0]], names[units[1]], int((failed[:, k] == way).sum()))
        for k, pair in enumerate(able)
        for way, units in ((1, orders.pairs[pair]), (-1, orders.pairs[pair][::-1]))
        if (failed[:, k] == way).any() and not (complied[:, k] == way).any()
    ]
    return tuple(found) if len(complied) and len(found) <= _MOST_ALTERNATIVES else ()


def _requiring(orders: Orders, pairs: Sequence[tuple[str, str]]) -> Orders:
    """Returns the orders that also have the first unit of each pair before the second."""
    return Orders(orders.units, Requirements.of([*orders.required.pairs, *pairs]))


def _best_by(
    orders: Orders, worth: Mapping[int, float], used: Sequence[TriedOrder]
) -> tuple[tuple[int, ...], int]:
    """Returns the orders that are best by some pairs, and how many: if they can, they have all.

    Of orders too many to list those tried are returned, and the number is that of the orders which
    have every one of the pairs the better way round. `worth` is that of a pair's first before its
    second over the reverse.
    """
    candidates = orders.listed() if orders.is_listable else np.unique([o.order for o in used])
    value = orders.precedence(candidates)[:, list(worth)] @ np.array(list(worth.values()))
    best = candidates[value >= value.max(initial=-np.inf) - _ROUNDING].tolist()
    number = len(best)
    if not orders.is_listable:
        names = orders.units.names
        ways = [orders.pairs[pair][:: 1 if by >= 0 else -1] for pair, by in worth.items()]
        with contextlib.suppress(InvalidInputError):  # no order has all of them
            number = _requiring(orders, [(names[a], names[b]) for a, b in ways]).count
    return tuple(best), number


def _effect(
    pair: Sequence[str], worth: Estimate, probability: float, is_clear: bool, feature: Floats
) -> PairEffect:
    a, b = pair
    ahead = int((feature > 0).sum())
    counts = ahead, len(feature) - ahead
    if worth.mean < 0:
        a, b, counts = b, a, counts[::-1]
        worth = Estimate(-worth.mean, worth.half_width)
    return PairEffect(a, b, worth, probability, is_clear, *counts)


def _joined(effects: Sequence[PairEffect]) -> str:
    """Writes pairs, those with the same second unit together: `A and B before C, D before A`."""
    firsts: dict[str, list[str]] = {}
    for effect in effects:
        firsts.setdefault(effect.second, []).append(effect.first)
    return ", ".join(f"{listed(units)} before {second}" for second, units in firsts.items())


def listed(words: Sequence[str]) -> str:
    """Writes words as `A, B and C`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


@dataclass(frozen=True)
class Recommendation:
    """The order to hand over, and why."""

    tried: tuple[TriedOrder, ...]  # its trials, those that complied if it did; at least one
    mean: float  # believed value of the order: luck of a single trial is taken out
    deviation: float  # of that belief; NaN if it rests on trials of this order alone
    reason: str

    @property
    def order(self) -> int:
        """The order."""
        return self.tried[0].order

    @property
    def is_compliant(self) -> bool:
        """Whether it complied."""
        return self.tried[0].is_compliant

    @property
    def observed(self) -> float:
        """Mean of the values observed."""
        return math.fsum(one.value for one in self.tried) / len(self.tried)

    def as_json(self) -> dict[str, Any]:
        """Returns the recommendation as plain data."""
        return {
            "order": self.order,
            "is_compliant": self.is_compliant,
            "mean": self.mean,
            "deviation": self.deviation,
            "observed": self.observed,
            "trials": len(self.tried),
            "reason": self.reason,
        }


def recommend(
    orders: Orders, seen: Sequence[TriedOrder], among: Collection[int] = ()
) -> Recommendation:
    """Returns the compliant tried order with the highest believed value.

    With fewer than two compliant trials there is nothing to believe beyond what was observed; if
    no order complied, it is the one that came closest.

    Args:
        orders: the search space.
        seen: the trials, at least one.
        among: orders that are better than others, as far as is known; if one of them complied, it
            is one of them.
    """
    compliant = [o for o in seen if o.is_compliant]
    if not compliant:
        closest = max(seen, key=lambda o: (o.compliance, o.value, -o.order))
        return _alone(closest, "no order complied; this one came closest")
    if len(compliant) < 2:
        return _alone(compliant[0], "the only one that complied")
    from workflow_rl.ordersearch.model import OrderGP

    tried = list(dict.fromkeys(o.order for o in compliant))
    gp = OrderGP(orders, [o.order for o in compliant], [o.value for o in compliant])
    belief = gp.posterior(tried)
    place = {order: k for k, order in enumerate(tried)}
    preferred = [order for order in tried if order in among] or tried
    best = max(preferred, key=lambda order: (round(float(belief.mean[place[order]]), 9), -order))
    return Recommendation(
        tuple(o for o in compliant if o.order == best),
        float(belief.mean[place[best]]),
        float(belief.deviation[place[best]]),
        "highest believed value of those that complied",
    )


def _alone(only: TriedOrder, reason: str) -> Recommendation:
    return Recommendation((only,), only.value, math.nan, reason)
