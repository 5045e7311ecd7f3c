"""What a search found: which pairs matter, which orders are equal, and what is not known.

One computation, which the terminal, `summary.json` and the report tell in the same words.
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate, Floats
from workflow_rl.evaluation.pair_worth import PairWorth
from workflow_rl.ordersearch.effects import alternatives, clear_pairs, weigh_pairs
from workflow_rl.ordersearch.equivalence import MARGIN, PairFit
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import Indices, Orders
from workflow_rl.workflow.precedence import Requirements

FEWEST: Final = 4  # compliant trials, to say anything of pairs
_MOST_ALTERNATIVES: Final = 4  # more than so many say nothing
_DRAWN: Final = 4_096  # orders by which it is judged what one more trial tells, unless all are ...
_ASKED: Final = 720  # ... and of them, those to be told apart
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


class Contradiction(NamedTuple):
    """A pair whose better way round is clear against two attackers, and differs between them."""

    effect: PairEffect
    attacker: str
    reverse: PairEffect
    other: str

    def __str__(self) -> str:
        """Says both."""
        return (
            f"{self.effect} against {self.attacker}, worth {_interval(self.effect.worth)} points, "
            f"but {self.reverse} against {self.other}, worth {_interval(self.reverse.worth)}"
        )


@dataclass(frozen=True)
class Finding:
    """What the trials of a search tell of orders."""

    tried: int  # trials
    compliant: int  # of them; the rest of what is found is about these
    idle: tuple[str, ...]  # units whose places make no difference by the rules of the game
    best: tuple[int, ...]  # orders that nothing is shown to be better than, none of `unmet`: ...
    best_orders: int  # ... all of so many, or if these are too many to list, those tried
    equals: tuple[int, ...] = ()  # of these, those shown equal within the margin
    more_trials: int = 0  # that would tell the others apart from those, or show them equal
    effects: tuple[PairEffect, ...] = ()  # of every pair that can matter, the clear ones first
    either: tuple[PairEffect, ...] = ()  # at least one matters, the trials cannot tell which
    explained: float = math.nan  # share of the trials' variance that the pairs explain, if known
    unmet: tuple[UnmetPair, ...] = ()  # that were tried, and never complied with
    measured: tuple[PairWorth, ...] = ()  # what pairs are worth to a policy, where it was played
    by_attacker: tuple[tuple[str, "Finding"], ...] = ()  # of trials that are valued by attackers

    @property
    def clear(self) -> tuple[PairEffect, ...]:
        """The pairs with a clear effect."""
        return tuple(effect for effect in self.effects if effect.is_clear)

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """The pairs whose better way round depends on the attacker."""
        clear = [(name, effect) for name, found in self.by_attacker for effect in found.clear]
        return tuple(
            Contradiction(effect, name, reverse, other)
            for k, (name, effect) in enumerate(clear)
            for other, reverse in clear[k + 1 :]
            if (effect.first, effect.second) == (reverse.second, reverse.first)
        )

    @property
    def headline(self) -> str:
        """The finding in a sentence; first where attackers contradict each other."""
        against = "; ".join(map(str, self.contradictions))
        return (
            f"The attackers disagree: {against}; together: {self._alone}"
            if against
            else self._alone
        )

    @property
    def _alone(self) -> str:
        if not self.compliant:
            return (
                f"No workflow complied: none of the {self.tried} tried reached the compliance "
                "asked for, so no order can be recommended"
            )
        if self.best_orders == 1 and not self.effects and not self.unmet:
            return "One order alone is allowed: there is nothing to compare it with"
        if self.compliant < FEWEST:
            trials = "1 trial" if self.compliant == 1 else f"{self.compliant} trials"
            return f"Only {trials} complied: too few to tell orders apart"
        matters = _joined(self.clear)
        if self.either:
            which = " or ".join(map(str, self.either))
            matters += ", and " if matters else ""
            matters += f"either {which} matters, these trials cannot tell which"
        return f"{matters or 'no order is shown to be better than another'}; {self._about_equals}"

    @property
    def _about_equals(self) -> str:
        """How many orders are equal, and how many the trials cannot tell apart."""
        best, equal = self.best_orders, len(self.equals)
        orders = "best orders" if self.clear or self.either else "orders"
        within = f"equal within {MARGIN:g} point"
        if best == 1:
            return "this leaves one order"
        if equal == best:
            return f"the {best:,} {orders} are {within}"
        trials = f"{self.compliant} trials cannot tell"
        more = f"about {_rounded(self.more_trials):,} more would"
        if equal < 2 or len(self.best) < best:  # not all could be listed and compared
            return f"{trials} the {best:,} {orders} apart: {more}"
        shown = f"{equal:,} of the {best:,} {orders} are {within}"
        if not self.more_trials:
            return f"{shown}, the others are not"
        return f"{shown}; {trials} the others from them: {more}"

    @property
    def details(self) -> tuple[str, ...]:
        """What else there is to say, a sentence each."""
        told = []
        told += [f"{effect}: {self.worth_of(effect)}." for effect in self.clear]
        told += [f"{effect}: {self.worth_of(effect)}." for effect in self.either if self.measured]
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
        told += [f"Against {name}: {found.headline}." for name, found in self.by_attacker]
        return tuple(told)

    def worth_of(self, effect: PairEffect) -> str:
        """Says what a pair is worth: to the policy that was played, then between the trials."""
        trials = f"{_interval(effect.worth)} between the trainings of the trials"
        for one in self.measured:
            if (one.first, one.second) == (effect.first, effect.second):
                return f"worth {_interval(one.worth)} points an episode to {one.policy}; {trials}"
        return f"worth {_interval(effect.worth)} points an episode, between trainings"

    def as_json(self) -> dict[str, Any]:
        """Returns the finding as plain data."""
        return {
            "headline": self.headline,
            "details": list(self.details),
            "best_orders": self.best_orders,
            "equal_orders": len(self.equals),
            "equal_within": MARGIN,
            "more_trials_would_tell": self.more_trials,
            "clear": [[effect.first, effect.second] for effect in self.clear],
            "cannot_be_told_apart": [[effect.first, effect.second] for effect in self.either],
            "cannot_matter": list(self.idle),
            "none_complied": [[pair.first, pair.second] for pair in self.unmet],
            "explained": self.explained,
            "pairs": [asdict(effect) for effect in self.effects],
            "measured": [one.as_json() for one in self.measured],
            "by_attacker": {name: found.as_json() for name, found in self.by_attacker},
            "contradictions": [str(one) for one in self.contradictions],
        }


def conclude(orders: Orders, seen: Sequence[TriedOrder], red_agent: str) -> Finding:
    """Tells what trials against a red agent have found; only those that complied count.

    Trials that are valued by several attackers are told for each of them as well.
    """
    names = [result.red_agent for result in seen[0].by_attacker] if seen else []
    if len(names) < 2 or any(len(one.by_attacker) != len(names) for one in seen):
        return _conclude(orders, seen, red_agent)
    each = []
    for k, name in enumerate(names):
        mine = [replace(one, result=one.by_attacker[k], by_attacker=()) for one in seen]
        each.append((name, _conclude(orders, mine, name)))
    return replace(_conclude(orders, seen, red_agent), by_attacker=tuple(each))


def _conclude(orders: Orders, seen: Sequence[TriedOrder], red_agent: str) -> Finding:
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
    best, number = _best_by(known, {}, used)
    cannot_matter = tuple(names[unit] for unit in idle)
    finding = Finding(len(seen), len(used), cannot_matter, best, number, unmet=unmet)
    if len(used) < FEWEST:
        return finding
    features = _features(orders, [o.order for o in used], able)
    if not values.std() > 0 or not able:
        return _compared(finding, known, used, able, 0.0)
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
    best, number = _best_by(known, decisive, used)
    finding = replace(
        finding,
        best=best,
        best_orders=number,
        effects=tuple(sorted(effects, key=lambda e: (not e.is_clear, -e.worth.mean))),
        either=tuple(effects[k] for k in either),
        explained=weights.explained,
    )
    noise = float(values.std()) * math.sqrt(1 - weights.explained)
    return _compared(finding, _having(known, decisive), used, able, noise)


def space_of_best(orders: Orders, finding: Finding) -> Orders:
    """Returns the best orders of a finding as a space; all orders, if none has all that matters."""
    pairs = [(pair.second, pair.first) for pair in finding.unmet]
    pairs += [(pair.first, pair.second) for pair in (*finding.clear, *finding.either)]
    with contextlib.suppress(InvalidInputError):
        return _requiring(orders, pairs)
    return orders


def _features(orders: Orders, indices: Sequence[int] | Indices, able: Sequence[int]) -> Floats:
    return orders.precedence(indices)[:, able] / 2.0


def _compared(
    finding: Finding,
    best: Orders,
    used: Sequence[TriedOrder],
    able: Sequence[int],
    noise: float,
) -> Finding:
    """Returns a finding with the best orders that are shown equal, and how many trials would tell.

    Args:
        finding: without these.
        best: the orders that nothing is shown to be better than.
        used: the trials that complied.
        able: the pairs that can matter.
        noise: standard deviation of a trial, by the pairs that explain it best.
    """
    tried = [o.order for o in used]
    reached = [order for order in dict.fromkeys(tried) if order in finding.best]
    if not reached:
        return finding
    fit = PairFit(_features(best, tried, able), np.array([o.value for o in used]))
    reference = reached[fit.best(_features(best, reached, able))]
    own = _features(best, [reference], able)
    shown = fit.differences(_features(best, finding.best, able) - own).are_equal
    equals = tuple(np.array(finding.best)[shown].tolist())
    if len(equals) == finding.best_orders:
        return replace(finding, equals=equals)
    everywhere = best.draw(np.random.default_rng(0), _DRAWN)
    if best.is_listable:
        everywhere = best.listed()
    each = _features(best, everywhere, able)
    spread = np.atleast_2d(np.cov(each.T, bias=True))
    more = fit.more_trials(each[:_ASKED] - own, spread, noise)
    return replace(finding, equals=equals, more_trials=more)


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
    having = _having(orders, worth)
    is_counted = orders.is_listable or (worth and having is orders)
    return tuple(best), len(best) if is_counted else having.count


def _having(orders: Orders, worth: Mapping[int, float]) -> Orders:
    """Returns the orders with every one of some pairs the better way round; all, if none has."""
    names = orders.units.names
    ways = [orders.pairs[pair][:: 1 if by >= 0 else -1] for pair, by in worth.items()]
    with contextlib.suppress(InvalidInputError):
        return _requiring(orders, [(names[a], names[b]) for a, b in ways])
    return orders


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


def _interval(worth: Estimate) -> str:
    return f"{worth.mean:.1f} ({worth.low:.1f} to {worth.high:.1f})"


def _joined(effects: Sequence[PairEffect]) -> str:
    """Writes pairs, those with the same second unit together: `A and B before C, D before A`."""
    firsts: dict[str, list[str]] = {}
    for effect in effects:
        firsts.setdefault(effect.second, []).append(effect.first)
    return ", ".join(f"{listed(units)} before {second}" for second, units in firsts.items())


def _rounded(number: int) -> int:
    """Rounds a number up to two digits."""
    step: int = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // step) * step


def listed(words: Sequence[str]) -> str:
    """Writes words as `A, B and C`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
