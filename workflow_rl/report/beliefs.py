"""What the search's Gaussian process believes of every order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from workflow_rl.estimates import Estimate, Floats
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import Indices, Orders

_NEEDED: Final = 2  # compliant trials, to learn from them alone


def worth_learning_from(seen: Sequence[Observation]) -> list[Observation]:
    """Returns the compliant trials, as the search does; with fewer than two of those, all."""
    compliant = [o for o in seen if o.is_compliant]
    return compliant if len(compliant) >= _NEEDED else list(seen)


@dataclass(frozen=True)
class OrderBeliefs:
    """What the search's Gaussian process believes of every order's value."""

    orders: Indices  # (k,) those believed of: all that are allowed, or if too many those tried
    mean: Floats  # (k,)
    deviation: Floats  # (k,)
    noise: float  # standard deviation of a trial around its order's value
    lengthscale: float  # pairs ordered differently
    trials: int  # it rests on
    only_compliant: bool  # whether those are the compliant ones; else all trials are used

    def of(self, order: int) -> Estimate:
        """Returns what is believed of one order."""
        place = int(np.searchsorted(self.orders, order))
        return Estimate.from_error(float(self.mean[place]), float(self.deviation[place]))


def fit_orders(orders: Orders, seen: Sequence[Observation]) -> OrderBeliefs | None:
    """Fits the Gaussian process of the search to its trials; None without any."""
    used = worth_learning_from(seen)
    if not used:
        return None
    from workflow_rl.ordersearch.model import OrderGP

    at = orders.listed() if orders.is_listable else np.unique([o.order for o in seen])
    belief = OrderGP(orders, [o.order for o in used], [o.value for o in used]).posterior(at)
    return OrderBeliefs(
        orders=at,
        mean=belief.mean,
        deviation=belief.deviation,
        noise=belief.noise,
        lengthscale=belief.lengthscale,
        trials=len(used),
        only_compliant=sum(o.is_compliant for o in seen) >= _NEEDED,
    )
