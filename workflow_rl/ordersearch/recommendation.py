"""Which order a search hands over, and why."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import Orders


@dataclass(frozen=True)
class Recommendation:
    """The order to hand over, and why."""

    order: int
    tried: tuple[TriedOrder, ...]  # its trials, those that complied if it did
    mean: float  # believed value of the order: luck of a single trial is taken out
    deviation: float  # of that belief; NaN if it rests on trials of this order alone
    reason: str
    by_hand: float = math.nan  # its score by hand, the mean over all attackers, if known

    @property
    def is_compliant(self) -> bool:
        """Whether no trial of it failed to comply."""
        return all(one.is_compliant for one in self.tried)

    @property
    def observed(self) -> float:
        """Mean of the values observed; NaN if it was not tried."""
        values = [one.value for one in self.tried]
        return math.fsum(values) / len(values) if values else math.nan

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
            "by_hand": self.by_hand,
        }


def recommend(
    orders: Orders,
    seen: Sequence[TriedOrder],
    among: Collection[int] = (),
    by_hand: Mapping[int, float] | None = None,
) -> Recommendation:
    """Returns the order that scores best by hand, or the one with the highest believed value.

    With fewer than two compliant trials there is nothing to believe beyond what was observed; if
    no order complied, it is the one that came closest.

    Args:
        orders: the search space.
        seen: the trials, at least one.
        among: orders that are better than others, as far as is known; if one of them complied, it
            is one of them.
        by_hand: what orders score by hand that nothing is shown to be better than, tried or not;
            without any, the order is one that was tried and complied.
    """
    compliant = [o for o in seen if o.is_compliant]
    if not compliant:
        closest = max(seen, key=lambda o: (o.compliance, o.value, -o.order))
        return _alone(closest, "no order complied; this one came closest")
    if len(compliant) < 2:
        return _alone(compliant[0], "the only one that complied")
    from workflow_rl.ordersearch.model import OrderGP

    tried = list(dict.fromkeys(o.order for o in compliant))
    scores = by_hand or {}
    preferred = list(scores) or [order for order in tried if order in among] or tried
    gp = OrderGP(orders, [o.order for o in compliant], [o.value for o in compliant])
    belief = gp.posterior(preferred)

    def rank(place: int) -> tuple[float, float, int]:
        order = preferred[place]
        return scores.get(order, 0.0), round(float(belief.mean[place]), 9), -order

    place = max(range(len(preferred)), key=rank)
    best = preferred[place]
    reason = "highest believed value of those that complied"
    if scores:
        which = f"of {len(scores):,} orders that nothing is shown to be better than, the best"
        worst = f"the worst of them {min(scores.values()):.1f}"
        reason = f"{which} by hand ({scores[best]:.1f} on average over all attackers, {worst})"
    return Recommendation(
        best,
        tuple(o for o in compliant if o.order == best),
        float(belief.mean[place]),
        float(belief.deviation[place]),
        reason,
        scores.get(best, math.nan),
    )


def _alone(only: TriedOrder, reason: str) -> Recommendation:
    return Recommendation(only.order, (only,), only.value, math.nan, reason)
