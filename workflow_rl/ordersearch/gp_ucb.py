"""GP-UCB: the highest upper confidence bound, weighted by the probability of compliance."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from workflow_rl.estimates import Floats
from workflow_rl.ordersearch.candidates import DECIMALS, Scorer, promising, ranked, spread_out
from workflow_rl.ordersearch.fitting import Fits
from workflow_rl.ordersearch.model import OrderGP, Posterior
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.workflow.orders import Indices, Orders

_TOP: Final = 3
_MOST_LOOKS: Final = (
    4_000  # evaluations of the acquisition function, where orders cannot be listed ...
)
_WORK: Final = 2e9  # ... as long as they times the square of the orders tried are no more


# --- acquisition function


def upper_confidence_bound(value: Posterior, beta: float) -> Floats:
    """Returns (k,) the upper confidence bound of each order."""
    return value.mean + beta * value.deviation


def constrained_improvement(bound: Floats, best: float, chance: Floats) -> Floats:
    """Returns (k,) the improvement of the bound, times the probability of compliance.

    Without an improvement the probability has no effect. With equal probabilities the ranking is
    that of the bound.

    Args:
        bound: (k,) on the value of each order.
        best: believed value of the best order that complied.
        chance: (k,) of compliance.
    """
    promise = bound - best
    return np.where(promise > 0, chance * promise, promise)


def compliance_margin(compliance: Posterior, threshold: float) -> Floats:
    """Returns (k,) an optimistic margin of compliance, in standard deviations.

    Optimistic as an upper confidence bound: one deviation above the posterior mean, or a search
    that has found some compliant orders would never leave them.
    """
    spread = np.hypot(compliance.deviation, compliance.noise)
    return (compliance.mean + compliance.deviation - threshold) / spread


def compliance_chance(margin: Floats) -> Floats:
    """Returns the chance of compliance: the standard normal distribution function of the margin."""
    return np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in margin])


# --- the strategy


class GpUcb:
    """Gaussian-process upper confidence bound, weighted by the probability of compliance."""

    def __init__(
        self, orders: Orders, beta: float, threshold: float, design: int, seed: int
    ) -> None:
        """Plans the initial design; nothing is fitted before it is finished."""
        self._orders = orders
        self._beta = beta
        self._threshold = threshold
        self._design = spread_out(orders, design, seed)
        self._seed = seed
        self._values, self._compliances = Fits(), Fits()

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        """Returns the next order of the design, then the maximiser of the acquisition function.

        The value is modelled from compliant trials alone.
        """
        taken = sorted({o.order for o in seen} | set(pending))
        if len(seen) + len(pending) < len(self._design):
            return Decision(next(o for o in self._design if o not in taken), "design")
        rewarding = [o for o in seen if o.is_compliant]
        compliance = self._compliance(seen)
        if len(rewarding) < 2:
            return self._most_likely_to_comply(compliance, taken)
        tried = [o.order for o in rewarding]
        gp = OrderGP(self._orders, tried, [o.value for o in rewarding], self._values)
        known = gp.posterior(np.unique(tried))
        best_known = float(known.mean.max())

        def score(candidates: Indices) -> Floats:
            ucb = upper_confidence_bound(gp.posterior(candidates, pending), self._beta)
            chance = compliance_chance(self._margin(compliance, candidates))
            return constrained_improvement(ucb, best_known, chance)

        starts = np.unique(tried)[np.argsort(-known.mean, kind="stable")].tolist()
        candidates, scores = self._promising(score, starts, len(seen), len(taken))
        ranking = ranked(self._orders, candidates, scores)[:_TOP]
        top, scores = candidates[ranking], scores[ranking]
        best = top[:1]
        belief = gp.posterior(best, pending)
        highest = gp.posterior(candidates).mean.max() if self._orders.is_listable else best_known
        exploits = belief.mean[0] >= highest - 10.0**-DECIMALS
        return Decision(
            order=int(best[0]),
            reason="exploit" if exploits else "explore",
            score=float(scores[0]),
            ucb=float(upper_confidence_bound(belief, self._beta)[0]),
            mean=float(belief.mean[0]),
            deviation=float(belief.deviation[0]),
            compliance_chance=float(compliance_chance(self._margin(compliance, best))[0]),
            top=_paired(top, scores),
        )

    def _promising(
        self, score: Scorer, starts: Sequence[int], number: int, points: int
    ) -> tuple[Indices, Floats]:
        most = int(min(_MOST_LOOKS, max(_WORK / max(points, 1) ** 2, 4)))
        return promising(self._orders, score, starts, [self._seed, 129, number], most)

    def _compliance(self, seen: Sequence[TriedOrder]) -> OrderGP | None:
        """Returns the posterior of compliance; None if every trial complied."""
        if all(o.is_compliant for o in seen):
            return None
        orders, values = [o.order for o in seen], [o.compliance for o in seen]
        return OrderGP(self._orders, orders, values, self._compliances)

    def _margin(self, compliance: OrderGP | None, candidates: Indices) -> Floats:
        if compliance is None:
            return np.full(len(candidates), np.inf)
        return compliance_margin(compliance.posterior(candidates), self._threshold)

    def _most_likely_to_comply(self, compliance: OrderGP | None, taken: Sequence[int]) -> Decision:
        """Returns an untried order while there is one; among equals the farthest from the tried."""
        is_any_new = len(taken) < self._orders.count

        # By margin: where compliance is far away all chances are 0 to rounding.
        def score(candidates: Indices) -> Floats:
            margin = self._margin(compliance, candidates)
            return np.where(np.isin(candidates, taken) & is_any_new, -np.inf, margin)

        candidates, scores = self._promising(score, taken, len(taken), len(taken))
        top = candidates[ranked(self._orders, candidates, scores, taken)[:_TOP]]
        chances = compliance_chance(self._margin(compliance, top))
        return Decision(
            int(top[0]),
            "explore",
            score=float(chances[0]),
            compliance_chance=float(chances[0]),
            top=_paired(top, chances),
        )


def _paired(orders: Indices, scores: Floats) -> tuple[tuple[int, float], ...]:
    return tuple(zip(orders.tolist(), scores.tolist(), strict=True))
