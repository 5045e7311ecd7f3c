"""Ways to pick the next order, behind one interface."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import STRATEGIES, fraction, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, PRECEDENCE

_TOP: Final = 3
_DECIMALS: Final = 9  # scores that agree to so many are ties
_EVERY_ORDER: Final = np.arange(NUM_ORDERS)


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


def spread_out(number: int, seed: int) -> list[int]:
    """Returns orders far from each other: each the farthest from those before, ties by index."""
    chosen = [int(np.random.default_rng([seed, 120]).integers(NUM_ORDERS))]
    while len(chosen) < min(number, NUM_ORDERS):
        chosen.append(int(_ranked(-np.isin(_EVERY_ORDER, chosen).astype(float), chosen)[0]))
    return chosen[:number]


def normal_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the standard normal distribution function."""
    return np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in z])


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
        """Returns the next order of the design, then the order with the highest score.

        The score is what the upper confidence bound promises beyond the best order that complied,
        times the chance of compliance; where it promises nothing, the chance cannot help. With
        equal chances the ranking is that of the bound. Only orders that complied tell of the value.
        """
        taken = {o.order for o in seen} | set(pending)
        if len(seen) + len(pending) < len(self._design):
            return Decision(next(o for o in self._design if o not in taken), "design")
        rewarding = [o for o in seen if o.is_compliant]
        margin = self.compliance_margin(seen)
        if len(rewarding) < 2:
            return _most_likely_to_comply(margin, taken)
        from workflow_rl.ordersearch.model import OrderGP

        model = OrderGP([o.order for o in rewarding], [o.value for o in rewarding])
        belief = model.posterior(pending)
        ucb = belief.mean + self._beta * belief.deviation
        promise = ucb - belief.mean[[o.order for o in rewarding]].max()
        chance = normal_cdf(margin)
        score = np.where(promise > 0, chance * promise, promise)
        ranking = _ranked(score)
        best = int(ranking[0])
        exploits = belief.mean[best] >= belief.mean.max() - 10.0**-_DECIMALS
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
        """Returns (120,) by how many standard deviations each order may be hoped to comply.

        The chance of compliance is the normal distribution function of it. Hope, as in the upper
        confidence bound: compliance is taken one deviation higher than expected, or a search that
        has found some compliant orders would never leave them. Infinite while nothing failed.
        """
        if all(o.is_compliant for o in seen):
            return np.full(NUM_ORDERS, np.inf)
        from workflow_rl.ordersearch.model import OrderGP

        belief = OrderGP([o.order for o in seen], [o.compliance for o in seen]).posterior()
        spread = np.hypot(belief.deviation, belief.noise)
        return (belief.mean + belief.deviation - self._threshold) / spread


def _most_likely_to_comply(margin: NDArray[np.float64], taken: Collection[int]) -> Decision:
    """Returns an untried order while there is one; among equals the farthest from the tried."""
    untried = ~np.isin(_EVERY_ORDER, list(taken))
    # By margin: where compliance is far away all chances are 0 to rounding.
    ranking = _ranked(np.where(untried | ~untried.any(), margin, -np.inf), list(taken))
    best, chance = int(ranking[0]), normal_cdf(margin)
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


def _ranked(score: NDArray[np.float64], far_from: Sequence[int] = ()) -> NDArray[np.int64]:
    """Returns (120,) the orders by falling score; ties by distance, if asked for, then by index.

    Args:
        score: (120,).
        far_from: orders from which equals had better be far: first from the nearest of them, then
            from all together.
    """
    keys = [-np.round(score, _DECIMALS)]
    if far_from:
        precedence = PRECEDENCE.astype(np.int64)
        distance = (len(PAIRS) - precedence @ precedence[list(far_from)].T) // 2
        keys += [-distance.min(axis=1), -distance.sum(axis=1)]
    return np.lexsort((_EVERY_ORDER, *reversed(keys)))


def _top(ranking: NDArray[np.int64], score: NDArray[np.float64]) -> tuple[tuple[int, float], ...]:
    return tuple((int(order), float(score[order])) for order in ranking[:_TOP])
