"""How much a trial of each order promises, from what is believed of value and compliance."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # the library behind it takes seconds to import
    from workflow_rl.ordersearch.model import Posterior

Floats = NDArray[np.float64]


def upper_confidence_bound(value: "Posterior", beta: float) -> Floats:
    """Returns (k,) the value each order may be hoped to have."""
    return value.mean + beta * value.deviation


def constrained_improvement(bound: Floats, best: float, chance: Floats) -> Floats:
    """Returns (k,) what a bound promises beyond the best value, times the chance of compliance.

    Where it promises nothing, the chance cannot help. With equal chances the ranking is that of
    the bound.

    Args:
        bound: (k,) on the value of each order.
        best: believed value of the best order that complied.
        chance: (k,) of compliance.
    """
    promise = bound - best
    return np.where(promise > 0, chance * promise, promise)


def compliance_margin(compliance: "Posterior", threshold: float) -> Floats:
    """Returns (k,) by how many standard deviations each order may be hoped to comply.

    Hope, as in the upper confidence bound: compliance is taken one deviation higher than expected,
    or a search that has found some compliant orders would never leave them.
    """
    spread = np.hypot(compliance.deviation, compliance.noise)
    return (compliance.mean + compliance.deviation - threshold) / spread


def compliance_chance(margin: Floats) -> Floats:
    """Returns the chance of compliance: the standard normal distribution function of the margin."""
    return np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in margin])
