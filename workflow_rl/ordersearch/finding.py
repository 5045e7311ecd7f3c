"""What a search found: which pairs matter, what cannot be told apart, and which orders are equal.

One computation, which the terminal, `summary.json` and the report tell in the same words.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate, Floats
from workflow_rl.ordersearch.effects import alternatives, clear_pairs, weigh_pairs
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, PRECEDENCE, classes_of_equals

FEWEST: Final = 4  # compliant trials, to say anything of pairs
_MOST_ALTERNATIVES: Final = 4  # more than so many say nothing
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class PairEffect:
    """What it is worth to put one type before another."""

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


@dataclass(frozen=True)
class Finding:
    """What the trials of a search tell of orders."""

    tried: int  # trials
    compliant: int  # of them; the rest of what is found is about these
    effects: tuple[PairEffect, ...]  # of every pair that can matter, the clear ones first
    either: tuple[PairEffect, ...]  # at least one of these matters, the trials cannot tell which
    idle: tuple[str, ...]  # types whose places make no difference by the rules of the game
    equals: tuple[int, ...]  # the orders that are best and equal, as far as is known
    explained: float  # share of the trials' variance that the pairs explain, NaN if unknown

    @property
    def clear(self) -> tuple[PairEffect, ...]:
        """The pairs with a clear effect."""
        return tuple(effect for effect in self.effects if effect.is_clear)

    @property
    def headline(self) -> str:
        """The finding in a sentence."""
        number = len(self.equals)
        if not self.compliant:
            return (
                f"No workflow complied: none of the {self.tried} tried reached the compliance "
                "asked for, so no order can be recommended"
            )
        if not self.effects:
            return f"{_complied(self.compliant)}: too few to tell orders apart"
        if self.clear and not self.either:
            return (
                f"{_joined(self.clear)}; the rest makes no difference that shows: "
                f"{number} equal orders"
            )
        if self.either:
            which = " or ".join(map(str, self.either))
            beside = f"{_joined(self.clear)}, and beside it " if self.clear else ""
            return (
                f"{beside}either {which} matters, these trials cannot tell which; the rest makes "
                f"no difference that shows: {number} equal orders"
            )
        return (
            f"no order is better than another as far as {self.compliant} trials can tell: "
            f"{number} equal orders"
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
        if self.idle:
            many = len(self.idle) > 1
            told.append(
                f"By the rules the {'places' if many else 'place'} of {_listed(self.idle)} cannot "
                "matter against this attacker."
            )
        return tuple(told)

    def as_json(self) -> dict[str, Any]:
        """Returns the finding as plain data."""
        return {
            "headline": self.headline,
            "details": list(self.details),
            "equal_orders": len(self.equals),
            "clear": [[effect.first, effect.second] for effect in self.clear],
            "cannot_be_told_apart": [[effect.first, effect.second] for effect in self.either],
            "cannot_matter": list(self.idle),
            "explained": self.explained,
            "pairs": [asdict(effect) for effect in self.effects],
        }


def conclude(seen: Sequence[Observation], red_agent: str) -> Finding:
    """Tells what trials against a red agent have found; only those that complied count."""
    used = [o for o in seen if o.is_compliant]
    able = _pairs_that_can_matter(red_agent)
    idle = tuple(unit for u, unit in enumerate(UNITS) if not any(u in PAIRS[pair] for pair in able))
    values = np.array([o.value for o in used])
    nothing = Finding(len(seen), len(used), (), (), idle, tuple(range(NUM_ORDERS)), math.nan)
    if len(used) < FEWEST or not values.std() > 0 or not len(able):
        return nothing
    features = PRECEDENCE[[o.order for o in used]][:, able] / 2.0
    weights = weigh_pairs(features, values)
    clear = clear_pairs(weights)
    either = alternatives(weights, clear)
    if len(either) > _MOST_ALTERNATIVES:
        either = []
    effects = {
        k: _effect(PAIRS[able[k]], weights.estimate(k), float(p), k in clear, features[:, k])
        for k, p in enumerate(weights.probability)
    }
    by_size = sorted(effects, key=lambda k: (k not in clear, -effects[k].worth.mean, k))
    return Finding(
        tried=len(seen),
        compliant=len(used),
        effects=tuple(effects[k] for k in by_size),
        either=tuple(effects[k] for k in either),
        idle=idle,
        equals=_best_by([*clear, *either], able, weights.worth),
        explained=weights.explained,
    )


def _pairs_that_can_matter(red_agent: str) -> NDArray[np.int64]:
    """Returns the pairs that all orders of each class of equals arrange alike."""
    classes = classes_of_equals(red_agent)
    sums = np.zeros((int(classes.max()) + 1, len(PAIRS)), np.int64)
    np.add.at(sums, classes, PRECEDENCE.astype(np.int64))
    sizes = np.bincount(classes)
    return np.flatnonzero((np.abs(sums) == sizes[:, None]).all(axis=0))


def _best_by(pairs: Sequence[int], able: NDArray[np.int64], worth: Floats) -> tuple[int, ...]:
    """Returns the orders that are best by some pairs: if they can, they have all of them."""
    value = PRECEDENCE[:, able[list(pairs)]] @ worth[list(pairs)]
    return tuple(np.flatnonzero(value >= value.max() - _ROUNDING).tolist())


def _effect(
    pair: tuple[int, int], worth: Estimate, probability: float, is_clear: bool, feature: Floats
) -> PairEffect:
    a, b = pair
    ahead = int((feature > 0).sum())
    counts = ahead, len(feature) - ahead
    if worth.mean < 0:
        a, b, counts = b, a, counts[::-1]
        worth = Estimate(-worth.mean, worth.half_width)
    return PairEffect(UNITS[a], UNITS[b], worth, probability, is_clear, *counts)


def _joined(effects: Sequence[PairEffect]) -> str:
    """Writes pairs, those with the same second type together: `A and B before C, D before A`."""
    firsts: dict[str, list[str]] = {}
    for effect in effects:
        firsts.setdefault(effect.second, []).append(effect.first)
    return ", ".join(f"{_listed(units)} before {second}" for second, units in firsts.items())


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _complied(number: int) -> str:
    return "Only 1 trial complied" if number == 1 else f"Only {number} trials complied"


def _points(worth: Estimate) -> str:
    return f"{worth.mean:.1f} points an episode ({worth.low:.1f} to {worth.high:.1f})"
