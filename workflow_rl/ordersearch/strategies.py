"""Ways to pick the next order, behind one interface."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import STRATEGIES, fraction, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.acquisition import (
    compliance_chance,
    compliance_margin,
    constrained_improvement,
    upper_confidence_bound,
)
from workflow_rl.ordersearch.candidates import DECIMALS, EVERY_ORDER, ranked, spread_out
from workflow_rl.workflow.orders import NUM_ORDERS

_TOP: Final = 3


@dataclass(frozen=True)
class Observation:
    """What trying an order gave."""

    order: int
    value: float
    compliance: float
    is_compliant: bool

    def __post_init__(self) -> None:
        """Refuses what no trial can give, before it spoils what is believed of every order."""
        whole_number("an observed order", self.order, 0, NUM_ORDERS - 1)
        if not math.isfinite(self.value):
            raise InvalidInputError(
                f"the value of order {self.order} must be a number, not {self.value}"
            )
        fraction(f"the compliance of order {self.order}", self.compliance)


@dataclass(frozen=True)
class Decision:
    """The next order to try, and why."""

    order: int
    reason: str  # design, explore, exploit, random, round-robin or exhaustive
    score: float = math.nan
    ucb: float = math.nan
    mean: float = math.nan
    deviation: float = math.nan
    compliance_chance: float = math.nan
    top: tuple[tuple[int, float], ...] = field(default=())  # the best three orders and their score


class Strategy(Protocol):
    """Picks orders."""

    def pick(self, seen: Sequence[Observation], pending: Sequence[int]) -> Decision:
        """Returns the next order, given what was seen and what is being tried."""
        ...


class GpUcb:
    """Gaussian-process upper confidence bound, weighed by the chance of compliance."""

    def __init__(self, beta: float, threshold: float, design: int, seed: int) -> None:
        """Plans the initial design; nothing is fitted before it is through.

        Raises:
            InvalidInputError: a number is out of range.
        """
        if not (math.isfinite(beta) and beta >= 0):
            raise InvalidInputError(f"beta must be a number of 0 or more, not {beta}")
        self._beta = beta
        self._threshold = fraction("the compliance threshold", threshold)
        whole_number("the initial design", design, 0, NUM_ORDERS)
        self._design = spread_out(design, seed)

    def pick(self, seen: Sequence[Observation], pending: Sequence[int]) -> Decision:
        """Returns the next order of the design, then the order that promises most.

        Only orders that complied tell of the value.
        """
        taken = {o.order for o in seen} | set(pending)
        if len(seen) + len(pending) < len(self._design):
            return Decision(next(o for o in self._design if o not in taken), "design")
        rewarding = [o for o in seen if o.is_compliant]
        margin = self.compliance_margin(seen)
        if len(rewarding) < 2:
            return _most_likely_to_comply(margin, taken)
        from workflow_rl.ordersearch.model import OrderGP

        orders = [o.order for o in rewarding]
        belief = OrderGP(orders, [o.value for o in rewarding]).posterior(pending)
        ucb = upper_confidence_bound(belief, self._beta)
        chance = compliance_chance(margin)
        score = constrained_improvement(ucb, float(belief.mean[orders].max()), chance)
        ranking = ranked(score)
        best = int(ranking[0])
        exploits = belief.mean[best] >= belief.mean.max() - 10.0**-DECIMALS
        return Decision(
            order=best,
            reason="exploit" if exploits else "explore",
            score=float(score[best]),
            ucb=float(ucb[best]),
            mean=float(belief.mean[best]),
            deviation=float(belief.deviation[best]),
            compliance_chance=float(chance[best]),
            top=_top(ranking, score),
        )

    def compliance_margin(self, seen: Sequence[Observation]) -> NDArray[np.float64]:
        """Returns (120,) how well each order may be hoped to comply; infinite if nothing failed."""
        if all(o.is_compliant for o in seen):
            return np.full(NUM_ORDERS, np.inf)
        from workflow_rl.ordersearch.model import OrderGP

        belief = OrderGP([o.order for o in seen], [o.compliance for o in seen]).posterior()
        return compliance_margin(belief, self._threshold)


def _most_likely_to_comply(margin: NDArray[np.float64], taken: Collection[int]) -> Decision:
    """Returns an untried order while there is one; among equals the farthest from the tried."""
    untried = ~np.isin(EVERY_ORDER, list(taken))
    # By margin: where compliance is far away all chances are 0 to rounding.
    ranking = ranked(np.where(untried | ~untried.any(), margin, -np.inf), list(taken))
    best, chance = int(ranking[0]), compliance_chance(margin)
    return Decision(
        best,
        "explore",
        score=float(chance[best]),
        compliance_chance=float(chance[best]),
        top=_top(ranking, chance),
    )


class Listed:
    """Goes through a list of orders, again from its start when it is through."""

    def __init__(self, orders: Sequence[int], reason: str) -> None:
        """Notes the list."""
        self._orders = list(orders)
        self._reason = reason

    def pick(self, seen: Sequence[Observation], pending: Sequence[int]) -> Decision:
        """Returns the next order of the list."""
        return Decision(self._orders[(len(seen) + len(pending)) % len(self._orders)], self._reason)


def make_strategy(name: str, *, beta: float, threshold: float, design: int, seed: int) -> Strategy:
    """Returns a strategy by its name.

    Args:
        name: one of `config.STRATEGIES`.
        beta: gp-ucb: how much uncertainty counts.
        threshold: gp-ucb: compliance that makes an order compliant.
        design: gp-ucb: spread-out orders tried before anything is fitted.
        seed: of the design, and of the sequence of random and round-robin.

    Raises:
        InvalidInputError: there is none of that name, or a number is out of range.
    """
    if name == "gp-ucb":
        return GpUcb(beta, threshold, design, seed)
    if name == "random":
        return Listed(np.random.default_rng([seed, 121]).permutation(NUM_ORDERS).tolist(), name)
    if name == "round-robin":  # one after the other, each as far as possible from the last ones
        return Listed(spread_out(NUM_ORDERS, seed), name)
    if name == "exhaustive":
        return Listed(range(NUM_ORDERS), name)
    raise InvalidInputError(f"unknown strategy {name!r}: choose one of {', '.join(STRATEGIES)}")


def _top(ranking: NDArray[np.int64], score: NDArray[np.float64]) -> tuple[tuple[int, float], ...]:
    return tuple((int(order), float(score[order])) for order in ranking[:_TOP])
