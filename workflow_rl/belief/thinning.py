"""Unbiased reduction of the number of states: the likely ones stay, the others are sampled.

After Fearnhead and Clifford, "On-line inference for hidden Markov models via particle filters",
2003: of M weighted states N are kept such that each keeps its weight on average, and no other
such choice changes the weights less.
"""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule


@rule
def thin(weights: NDArray[np.float64], number: int, limit: int, uniform: float) -> None:
    """Makes the weights of all but `limit` states 0.

    States above a threshold keep their weight. The others are sampled systematically: in their
    order, one per threshold of cumulated weight, and each gets the threshold as its weight.

    Args:
        weights: (number or more,) above 0; changed in place.
        number: how many states there are, more than `limit`.
        limit: how many may stay, 1 or more.
        uniform: what decides, in (0, 1).
    """
    above, rest = 0, 0.0
    for state in range(number):
        rest += weights[state]
    threshold = rest / limit
    while True:  # what lies above leaves less to the others, which lowers the threshold
        likely, others = 0, 0.0
        for state in range(number):
            if weights[state] >= threshold:
                likely += 1
            else:
                others += weights[state]
        if likely == above or likely >= limit:
            break
        above, threshold = likely, min(threshold, others / (limit - likely))  # not up by rounding
    left = limit - above
    passed = uniform
    for state in range(number):
        weight = weights[state]
        if weight >= threshold and above:
            above -= 1
            continue
        passed += weight / threshold
        if passed >= 1.0 and left:
            passed -= 1.0
            left -= 1
            weights[state] = threshold
        else:
            weights[state] = 0.0
