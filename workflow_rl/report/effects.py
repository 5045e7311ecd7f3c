"""What the Gaussian process believes, and what matters in an order according to it.

Effects are linear in the values of the 120 orders, and the belief about those is Gaussian, so each
effect has an exact mean and interval: uncertainty about orders never tried is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.report.intervals import Estimate
from workflow_rl.scenario.units import NUM_UNITS, UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, POSITIONS, PRECEDENCE

_NEEDED: Final = 2  # compliant trials, for the belief to rest on them alone


@dataclass(frozen=True)
class Beliefs:
    """What is believed of every order's value."""

    mean: NDArray[np.float64]  # (120,)
    covariance: NDArray[np.float64]  # (120, 120)
    noise: float  # standard deviation of a trial around its order's value
    lengthscale: float  # pairs ordered differently
    orders: tuple[int, ...]  # of the trials it rests on
    only_compliant: bool  # whether those are the compliant ones; else all trials are used

    @property
    def deviation(self) -> NDArray[np.float64]:
        """(120,) standard deviation of each order's value."""
        return np.sqrt(np.clip(np.diag(self.covariance), 0, None))

    def of(self, order: int) -> Estimate:
        """Returns what is believed of one order."""
        return Estimate(float(self.mean[order]), float(self.deviation[order]))

    def combined(self, weights: NDArray[np.float64]) -> Estimate:
        """Returns what is believed of a weighted sum of the orders' values."""
        variance = float(weights @ self.covariance @ weights)
        return Estimate(float(weights @ self.mean), max(variance, 0.0) ** 0.5)


def believe(seen: Sequence[Observation]) -> Beliefs | None:
    """Fits the Gaussian process of the search to its trials; None without any.

    As the search itself does, it learns the value from compliant trials only; with fewer than two
    of those from all, which the report then says.
    """
    compliant = [o for o in seen if o.is_compliant]
    used = compliant if len(compliant) >= _NEEDED else list(seen)
    if not used:
        return None
    from workflow_rl.ordersearch.gp import OrderGP

    model = OrderGP([o.order for o in used], [o.value for o in used])
    fitted = model.hyperparameters
    return Beliefs(
        mean=model.posterior().mean,
        covariance=model.covariance(),
        noise=fitted.noise,
        lengthscale=fitted.lengthscale,
        orders=tuple(o.order for o in used),
        only_compliant=len(compliant) >= _NEEDED,
    )


@dataclass(frozen=True)
class PairEffect:
    """What it is worth to put one type before another."""

    first: str  # the better way round, as far as is known
    second: str
    worth: Estimate  # of `first` before `second` over the reverse, all other pairs as they are
    tried: int  # trials with `first` before `second`
    tried_reverse: int


def pair_effects(beliefs: Beliefs) -> list[PairEffect]:
    """Returns the effect of each of the ten pairs, the largest first.

    The values of all 120 orders are projected on the ten precedence features by least squares:
    a pair's coefficient is what its arrangement is worth with all other pairs held. A plain
    difference of means would also credit a pair with what goes along with it: orders that have A
    before B more often have A before C, too.
    """
    design = np.hstack([np.ones((NUM_ORDERS, 1)), PRECEDENCE.astype(np.float64)])
    projection = np.linalg.pinv(design)[1:]  # (pair, order)
    effects = []
    for pair, (a, b) in enumerate(PAIRS):
        worth = beliefs.combined(2 * projection[pair])  # a feature goes from -1 to +1
        ahead = sum(int(PRECEDENCE[order, pair] > 0) for order in beliefs.orders)
        counts = (ahead, len(beliefs.orders) - ahead)
        if worth.mean < 0:
            a, b, counts = b, a, counts[::-1]
            worth = Estimate(-worth.mean, worth.error)
        effects.append(PairEffect(UNITS[a], UNITS[b], worth, *counts))
    return sorted(effects, key=lambda effect: -effect.worth.mean)


def share_of_pairs(beliefs: Beliefs) -> float:
    """Returns the share of the believed differences between orders that the ten pairs explain."""
    design = np.hstack([np.ones((NUM_ORDERS, 1)), PRECEDENCE.astype(np.float64)])
    fitted = design @ (np.linalg.pinv(design) @ beliefs.mean)
    total = float(np.var(beliefs.mean))
    return float(np.var(fitted)) / total if total > 0 else float("nan")


def position_effects(beliefs: Beliefs) -> list[list[Estimate]]:
    """Returns, for each type and position, what its 24 orders are worth over the mean of all."""
    everywhere = np.full(NUM_ORDERS, 1 / NUM_ORDERS)
    table = []
    for unit in range(NUM_UNITS):
        row = []
        for position in range(NUM_UNITS):
            here = (POSITIONS[:, unit] == position).astype(np.float64)
            row.append(beliefs.combined(here / here.sum() - everywhere))
        table.append(row)
    return table
