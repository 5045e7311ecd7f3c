"""Ways to pick the next order, behind one interface."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np

from workflow_rl.config import SearchConfig, fraction, whole_number
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
    by_attacker: tuple[Result, ...] = ()  # against each attacker, if it is valued by them

    def __post_init__(self) -> None:
        """Refuses what no trial can give, before it reaches the model of all orders."""
        whole_number("an observed order", self.order, 0, _MOST_ORDERS - 1)
        if not math.isfinite(self.value):
            raise InvalidInputError(
                f"the value of order {self.order} must be a number, not {self.value}"
            )
        fraction(f"the compliance of order {self.order}", self.compliance)

    @property
    def value(self) -> float:
        """Its mean reward, by which orders are compared."""
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
    top: tuple[tuple[int, float], ...] = ()  # the best three orders and their score


class Strategy(Protocol):
    """Picks orders."""

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order, given what was seen and what is being tried."""
        ...


@dataclass(frozen=True)
class Listed:
    """Cycles through a list of orders."""

    orders: Sequence[int]
    reason: str

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order of the list."""
        return Decision(self.orders[(len(seen) + len(pending)) % len(self.orders)], self.reason)


@dataclass(frozen=True)
class Drawn:
    """Samples orders where there are too many to list."""

    orders: Orders
    seed: int

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns an order that depends on the number of picks before alone."""
        number = len(seen) + len(pending)
        return Decision(drawn(self.orders, (), [self.seed, 121, number]), "random")


@dataclass(frozen=True)
class Farthest:
    """Picks an order far from all before, where there are many."""

    orders: Orders
    seed: int

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order."""
        taken = [*(o.order for o in seen), *pending]
        if not taken:
            return Decision(spread_out(self.orders, 1, self.seed)[0], "round-robin")
        return Decision(farthest(self.orders, taken, self.seed), "round-robin")


@dataclass(frozen=True)
class Local:
    """Climbs from the best order so far to its neighbours, after a spread-out design."""

    orders: Orders
    design: Sequence[int]
    seed: int

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns an untried order one swap or insertion from the best; else any untried one."""
        number = len(seen) + len(pending)
        if number < len(self.design):
            return Decision(self.design[number], "design")
        taken = {o.order for o in seen} | set(pending)
        rng = np.random.default_rng([self.seed, 126, number])
        for best in by_merit(seen)[:1]:
            near = np.setdiff1d(self.orders.neighbours(best), list(taken))
            if len(near):
                return Decision(int(rng.choice(near)), "local")
        return Decision(drawn(self.orders, taken, [self.seed, 127, number]), "random")


@dataclass(frozen=True)
class Halving:
    """Successive halving over trials.

    Half of the trials try an order each, drawn at random; the better half of those orders is tried
    once more, and so on, so that trials go to orders that stay good. All
    trials are equally long; the first round is cheap because every order has one trial.
    """

    first: Sequence[int]  # the orders of the first round

    @classmethod
    def planned(cls, orders: Orders, trials: int, seed: int) -> Self:
        """Samples the orders of a search of that many trials."""
        first: list[int] = []
        for number in range(min(max(1, math.ceil(trials / 2)), orders.count)):
            first.append(drawn(orders, first, [seed, 128, number]))
        return cls(first)

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order of the round that is under way."""
        number, arms, level = len(seen) + len(pending), self.first, 1
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


def make_strategy(config: SearchConfig, orders: Orders, *, threshold: float, seed: int) -> Strategy:
    """Returns the strategy that a search is configured to have.

    Args:
        config: the strategy's name and settings.
        orders: those to pick from.
        threshold: gp-ucb: compliance that makes an order compliant.
        seed: of the design, and of everything drawn.

    Raises:
        InvalidInputError: the orders are too many to try all.
    """
    name, trials = config.strategy, config.n_workflows
    design = min(config.initial_design, trials)
    if name == "gp-ucb":
        from workflow_rl.ordersearch.gp_ucb import GpUcb  # the networks' library takes seconds

        return GpUcb(orders, config.gp_beta, threshold, design, seed)
    if name == "local":
        return Local(orders, spread_out(orders, design, seed), seed)
    if name == "halving":
        return Halving.planned(orders, trials, seed)
    if name == "random":
        if not orders.is_listable:
            return Drawn(orders, seed)
        places = np.random.default_rng([seed, 121]).permutation(orders.count)
        return Listed(orders.listed()[places].tolist(), name)
    if name == "round-robin":  # one after the other, each as far as possible from the last ones
        if orders.count > _SPREAD_AT_ONCE:
            return Farthest(orders, seed)
        return Listed(spread_out(orders, orders.count, seed), name)
    if not orders.is_listable:
        raise InvalidInputError(
            f"the strategy {name} tries at most {LISTABLE:,} orders, not {orders.count:,}: "
            "choose another strategy, or require more"
        )
    return Listed(orders.listed().tolist(), name)
