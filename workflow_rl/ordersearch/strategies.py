"""Ways to pick the next order, behind one interface."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from workflow_rl.config import STRATEGIES, fraction, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.candidates import farthest, spread_out
from workflow_rl.workflow.orders import LISTABLE, Orders
from workflow_rl.workflow.units import MOST

_MOST_ORDERS: Final = math.factorial(MOST)
_SPREAD_AT_ONCE: Final = 720  # orders, up to which they are put in a row in advance
_TRIES: Final = 1_000  # draws in which an order that was not tried yet is looked for


@dataclass(frozen=True)
class TriedOrder:
    """What trying an order gave."""

    order: int
    result: Result
    is_compliant: bool

    def __post_init__(self) -> None:
        """Refuses what no trial can give, before it spoils what is believed of every order."""
        whole_number("an observed order", self.order, 0, _MOST_ORDERS - 1)
        if not math.isfinite(self.value):
            raise InvalidInputError(
                f"the value of order {self.order} must be a number, not {self.value}"
            )
        fraction(f"the compliance of order {self.order}", self.compliance)

    @property
    def value(self) -> float:
        """What it is compared by: its mean reward."""
        return self.result.reward.mean

    @property
    def compliance(self) -> float:
        """Its mean compliance."""
        return self.result.compliance.mean


@dataclass(frozen=True)
class Decision:
    """The next order to try, and why."""

    order: int
    reason: str  # design, explore, exploit, random, round-robin, exhaustive, local or halving
    score: float = math.nan
    ucb: float = math.nan
    mean: float = math.nan
    deviation: float = math.nan
    compliance_chance: float = math.nan
    top: tuple[tuple[int, float], ...] = field(default=())  # the best three orders and their score


class Strategy(Protocol):
    """Picks orders."""

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order, given what was seen and what is being tried."""
        ...


class Listed:
    """Goes through a list of orders, again from its start when it is through."""

    def __init__(self, orders: Sequence[int], reason: str) -> None:
        """Notes the list."""
        self._orders = list(orders)
        self._reason = reason

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order of the list."""
        return Decision(self._orders[(len(seen) + len(pending)) % len(self._orders)], self._reason)


class Drawn:
    """Draws orders of which there are too many to list."""

    def __init__(self, orders: Orders, seed: int) -> None:
        """Notes what to draw from."""
        self._orders = orders
        self._seed = seed

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns an order that depends on the number of picks before alone."""
        number = len(seen) + len(pending)
        return Decision(drawn(self._orders, (), [self._seed, 121, number]), "random")


class Farthest:
    """Picks an order far from all before, where there are many."""

    def __init__(self, orders: Orders, seed: int) -> None:
        """Notes what to pick from."""
        self._orders = orders
        self._seed = seed

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order."""
        taken = [*(o.order for o in seen), *pending]
        if not taken:
            return Decision(spread_out(self._orders, 1, self._seed)[0], "round-robin")
        return Decision(farthest(self._orders, taken, self._seed), "round-robin")


class Local:
    """Climbs from the best order so far to its neighbours, after a spread-out design."""

    def __init__(self, orders: Orders, design: int, seed: int) -> None:
        """Plans the design."""
        self._orders = orders
        self._design = spread_out(orders, design, seed)
        self._seed = seed

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns an untried order one swap or insertion from the best; else any untried one."""
        number = len(seen) + len(pending)
        if number < len(self._design):
            return Decision(self._design[number], "design")
        taken = {o.order for o in seen} | set(pending)
        rng = np.random.default_rng([self._seed, 126, number])
        for best in by_merit(seen)[:1]:
            near = np.setdiff1d(self._orders.neighbours(best), list(taken))
            if len(near):
                return Decision(int(rng.choice(near)), "local")
        return Decision(drawn(self._orders, taken, [self._seed, 127, number]), "random")


class Halving:
    """Successive halving over trials.

    Half of the trials try an order each, drawn at random; the better half of those orders is tried
    once more, and so on, so that trials go to orders that stay good. A trial is as long as any
    other: what is cheap at first is that an order has but one.
    """

    def __init__(self, orders: Orders, trials: int, seed: int) -> None:
        """Plans the rounds.

        Args:
            orders: to draw from.
            trials: of the whole search.
            seed: of the draw.
        """
        first = min(max(1, math.ceil(trials / 2)), orders.count)
        drawn_first: list[int] = []
        while len(drawn_first) < first:
            number = len(drawn_first)
            drawn_first.append(drawn(orders, drawn_first, [seed, 128, number]))
        self._first = drawn_first

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order of the round that is under way."""
        number, arms, level = len(seen) + len(pending), self._first, 1
        while number >= len(arms) > 1:
            number -= len(arms)
            told = [o for order in arms for o in [o for o in seen if o.order == order][:level]]
            arms = (by_merit(told) or arms)[: math.ceil(len(arms) / 2)]
            level += 1
        return Decision(arms[number % len(arms)], "halving")


def by_merit(seen: Sequence[TriedOrder]) -> list[int]:
    """Returns the orders seen, best first: those that complied by mean value, then by compliance.

    An order complies if most of its trials did.
    """
    trials: dict[int, list[TriedOrder]] = {}
    for one in seen:
        trials.setdefault(one.order, []).append(one)

    def merit(order: int) -> tuple[bool, float, int]:
        those = trials[order]
        complies = 2 * sum(o.is_compliant for o in those) > len(those)
        told = [o.value if complies else o.compliance for o in those]
        return complies, math.fsum(told) / len(told), -order

    return sorted(trials, key=merit, reverse=True)


def drawn(orders: Orders, taken: Sequence[int] | set[int], seed: Sequence[int]) -> int:
    """Returns an order drawn at random, one that is not taken if such a one is met."""
    some: list[int] = orders.draw(np.random.default_rng(seed), _TRIES).tolist()
    return next((order for order in some if order not in taken), some[0])


def make_strategy(
    name: str,
    orders: Orders,
    *,
    beta: float,
    threshold: float,
    design: int,
    seed: int,
    trials: int = 20,
) -> Strategy:
    """Returns a strategy by its name.

    Args:
        name: one of `config.STRATEGIES`.
        orders: those to pick from.
        beta: gp-ucb: how much uncertainty counts.
        threshold: gp-ucb: compliance that makes an order compliant.
        design: gp-ucb and local: spread-out orders tried before anything else.
        seed: of the design, and of everything drawn.
        trials: halving: of the whole search.

    Raises:
        InvalidInputError: there is none of that name, a number is out of range, or the orders are
            too many to try all.
    """
    if name == "gp-ucb":
        from workflow_rl.ordersearch.gp_ucb import GpUcb  # the networks' library takes seconds

        return GpUcb(orders, beta, threshold, design, seed)
    if name == "local":
        return Local(orders, design, seed)
    if name == "halving":
        return Halving(orders, trials, seed)
    if name == "random" and not orders.is_listable:
        return Drawn(orders, seed)
    if name == "round-robin" and orders.count > _SPREAD_AT_ONCE:
        return Farthest(orders, seed)
    if name == "random":
        places = np.random.default_rng([seed, 121]).permutation(orders.count)
        return Listed(orders.listed()[places].tolist(), name)
    if name == "round-robin":  # one after the other, each as far as possible from the last ones
        return Listed(spread_out(orders, orders.count, seed), name)
    if name == "exhaustive" and not orders.is_listable:
        raise InvalidInputError(
            f"the strategy exhaustive tries at most {LISTABLE:,} orders, not {orders.count:,}: "
            "choose another strategy, or require more"
        )
    if name == "exhaustive":
        return Listed(orders.listed().tolist(), name)
    raise InvalidInputError(f"unknown strategy {name!r}: choose one of {', '.join(STRATEGIES)}")
