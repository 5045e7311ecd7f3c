"""Which of the tried orders to hand over."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import Orders


@dataclass(frozen=True)
class Recommendation:
    """The order to hand over, and what is believed of it."""

    order: int
    is_compliant: bool
    mean: float  # believed value of the order: luck of a single trial is taken out
    deviation: float  # of that belief; NaN if it rests on observations of this order alone
    observed: float  # mean of the values observed when it counted
    trials: int  # behind `observed`
    reason: str


def recommend(
    orders: Orders, seen: Sequence[Observation], among: Collection[int] = ()
) -> Recommendation:
    """Returns the compliant tried order with the highest believed value.

    With fewer than two compliant trials there is nothing to believe beyond what was observed; if
    no order complied, it is the one that came closest.

    Args:
        orders: those there are.
        seen: the trials, at least one.
        among: orders that are better than others, as far as is known; if one of them complied, it
            is one of them.

    Raises:
        InvalidInputError: nothing was tried.
    """
    if not seen:
        raise InvalidInputError("nothing was tried, so there is no order to recommend")
    compliant = [o for o in seen if o.is_compliant]
    if not compliant:
        closest = max(seen, key=lambda o: (o.compliance, o.value, -o.order))
        return Recommendation(
            closest.order,
            False,
            closest.value,
            math.nan,
            closest.value,
            1,
            "no order complied; this one came closest",
        )
    if len(compliant) < 2:
        only = compliant[0]
        return Recommendation(
            only.order, True, only.value, math.nan, only.value, 1, "the only one that complied"
        )
    from workflow_rl.ordersearch.model import OrderGP

    values: dict[int, list[float]] = {}
    for observation in compliant:
        values.setdefault(observation.order, []).append(observation.value)
    gp = OrderGP(orders, [o.order for o in compliant], [o.value for o in compliant])
    belief = gp.posterior(list(values))
    place = {order: k for k, order in enumerate(values)}
    preferred = [order for order in values if order in among] or list(values)
    best = max(preferred, key=lambda order: (round(float(belief.mean[place[order]]), 9), -order))
    return Recommendation(
        best,
        True,
        float(belief.mean[place[best]]),
        float(belief.deviation[place[best]]),
        math.fsum(values[best]) / len(values[best]),
        len(values[best]),
        "highest believed value of those that complied",
    )
