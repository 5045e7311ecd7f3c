"""Which order a search hands over, and why."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import Orders


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
