"""What a search found: which pairs matter, what cannot be told apart, and which orders are equal.

One computation, which the terminal, `summary.json` and the report tell in the same words.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    effects: tuple[PairEffect, ...]  # of every pair that can matter, the clear ones first
    either: tuple[PairEffect, ...]  # at least one of these matters, the trials cannot tell which
    idle: tuple[str, ...]  # units whose places make no difference by the rules of the game
    equals: tuple[int, ...]  # orders that are best and equal, none of `unmet`: all, or if ...
    equal_orders: int  # ... these are too many to list, those tried
    explained: float  # share of the trials' variance that the pairs explain, NaN if unknown
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
            return f"{_complied(self.compliant)}: too few to tell orders apart"
        if self.clear and not self.either:
            return f"{_joined(self.clear)}; the rest makes no difference that shows: {equal}"
        if self.either:
            which = " or ".join(map(str, self.either))
            beside = f"{_joined(self.clear)}, and besides " if self.clear else ""
            return (
                f"{beside}either {which} matters, these trials cannot tell which; the rest makes "
                f"no difference that shows: {equal}"
            )
        return (
            f"no order is better than another as far as {self.compliant} trials can tell: {equal}"
        )

    @property
    def details(self) -> tuple[str, ...]:
        """What else there is to say, a sentence each."""
        told = [f"Worth {_points(effect.worth)}: {effect}." for effect in self.clear]
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
    """Tells what trials against a red agent have found; only those that complied count.

    Args:
        orders: those that were searched.
        seen: the trials.
        red_agent: who attacked.
    """
    used = [o for o in seen if o.is_compliant]
    able = _pairs_that_can_matter(orders, red_agent)
    idle = tuple(orders.units.names[unit] for unit in orders.idle_units(red_agent))
    values = np.array([o.value for o in used])
    unmet = _unmet(orders, seen, able)
    known = _without(orders, unmet)
    all_equal = _best_by(known, {}, used)
    nothing = Finding(len(seen), len(used), (), (), idle, *all_equal, math.nan, unmet)
    if len(used) < FEWEST or not values.std() > 0 or not len(able):
        return nothing
    features = orders.precedence([o.order for o in used])[:, able] / 2.0
    weights = weigh_pairs(features, values)
    clear = clear_pairs(weights)
    either = alternatives(weights, clear)
    if len(either) > _MOST_ALTERNATIVES:
        either = []
    effects = {
        k: _effect(
            [orders.units.names[unit] for unit in orders.pairs[able[k]]],
            weights.estimate(k),
            float(p),
            k in clear,
            features[:, k],
        )
        for k, p in enumerate(weights.probability)
    }
    by_size = sorted(effects, key=lambda k: (k not in clear, -effects[k].worth.mean, k))
    decisive = {int(able[k]): float(weights.worth[k]) for k in (*clear, *either)}
    equals, number = _best_by(known, decisive, used)
    return Finding(
        tried=len(seen),
        compliant=len(used),
        effects=tuple(effects[k] for k in by_size),
        either=tuple(effects[k] for k in either),
        idle=idle,
        equals=equals,
        equal_orders=number,
        explained=weights.explained,
        unmet=unmet,
    )


def _pairs_that_can_matter(orders: Orders, red_agent: str) -> NDArray[np.int64]:
    """Returns the pairs that may be arranged either way, of units whose places can matter."""
    idle = orders.idle_units(red_agent)
    free = [
        pair
        for pair, units in enumerate(orders.pairs)
        if not set(units) & set(idle) and orders.is_free(*units)
    ]
    return np.array(free, np.int64)


def _unmet(
    orders: Orders, seen: Sequence[TriedOrder], able: NDArray[np.int64]
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


def _without(orders: Orders, unmet: Sequence[UnmetPair]) -> Orders:
    """Returns the orders without those of which only is known that none complied."""
    if not unmet:
        return orders
    met = [(pair.second, pair.first) for pair in unmet]
    return Orders(orders.units, Requirements.of([*orders.required.pairs, *met], orders.units))


def _best_by(
    orders: Orders, worth: Mapping[int, float], used: Sequence[TriedOrder]
) -> tuple[tuple[int, ...], int]:
    """Returns the orders that are best by some pairs, and how many: if they can, they have all.

    Of orders too many to list those tried are returned, and the number is that of the orders which
    have every one of the pairs the better way round.

    Args:
        orders: those there are.
        worth: of pairs, the first before the second over the reverse.
        used: trials of some of them.
    """
    pairs, values = list(worth), np.array(list(worth.values()))
    candidates = orders.listed() if orders.is_listable else np.unique([o.order for o in used])
    value = orders.precedence(candidates)[:, pairs] @ values
    best = candidates[value >= value.max(initial=-np.inf) - _ROUNDING].tolist()
    if orders.is_listable:
        return tuple(best), len(best)
    names = orders.units.names
    ways = [orders.pairs[pair][:: 1 if worth[pair] >= 0 else -1] for pair in pairs]
    told = [(names[first], names[second]) for first, second in ways]
    try:
        required = Requirements.of([*orders.required.pairs, *told], orders.units)
    except InvalidInputError:  # no order has all of them
        return tuple(best), len(best)
    return tuple(best), Orders(orders.units, required).count


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


def _complied(number: int) -> str:
    return "Only 1 trial complied" if number == 1 else f"Only {number} trials complied"


def _points(worth: Estimate) -> str:
    return f"{worth.mean:.1f} points an episode ({worth.low:.1f} to {worth.high:.1f})"
