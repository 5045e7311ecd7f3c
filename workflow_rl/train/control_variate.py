"""A control variate of the alignment reward: what it brings anyway, and most of its noise.

The running compliance rate jumps at an episode's first fixes and hardly moves at its last ones, and
neither the policy nor the critic sees how many fixes there were. The return of a step is therefore
mostly made of where in its episode the step lies, not of what was done in it. The number of fixes
counted and the running rate *before* a step do not depend on the step's action, so what they let
one expect can be subtracted from its return without changing the gradient's mean.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import kernel
from workflow_rl.ppo.returns import discounted_returns

MOST_FIXES: Final = 40  # steps after more counted fixes than this are taken together


@kernel()
def _fit(
    returns: NDArray[Any],
    counted: NDArray[Any],
    rate: NDArray[Any],
    sums: NDArray[Any],
    out: NDArray[Any],
) -> None:
    steps, envs = returns.shape
    for t in range(steps):
        for b in range(envs):
            x, y = rate[t, b], returns[t, b]
            row = sums[min(counted[t, b], MOST_FIXES)]
            row[0] += 1
            row[1] += x
            row[2] += y
            row[3] += x * x
            row[4] += x * y
    for k in range(len(sums)):
        row = sums[k]
        if row[0]:
            mean_x, mean_y = row[1] / row[0], row[2] / row[0]
            spread = row[3] / row[0] - mean_x * mean_x
            slope = (row[4] / row[0] - mean_x * mean_y) / spread if spread > 1e-9 else 0.0
            row[5] = slope
            row[6] = mean_y - slope * mean_x
    for t in range(steps):
        for b in range(envs):
            row = sums[min(counted[t, b], MOST_FIXES)]
            out[t, b] = row[6] + row[5] * rate[t, b]


def expected_returns(
    returns: NDArray[np.float32], counted: NDArray[np.int32], rate: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Returns (T, B) the straight line in the rate that fits the returns best, per count of fixes.

    Args:
        returns: (T, B) discounted sums of alignment shares from each step on.
        counted: (T, B) fixes of the episode that counted before the step.
        rate: (T, B) its compliance rate before the step.
    """
    out = np.empty(returns.shape, np.float32)
    _fit(returns, counted, rate, np.zeros((MOST_FIXES + 1, 7)), out)
    return out


def without_expected(
    shares: NDArray[np.float32],
    counted: NDArray[np.int32],
    rate: NDArray[np.float32],
    ends: NDArray[np.bool_],
    gamma: float,
) -> NDArray[np.float32]:
    """Returns (T, B) shares whose discounted returns are those given minus what was to be expected.

    It is potential-based shaping with the negative expectation as the potential, which is 0 after
    an episode's end and, as returns are cut there, after the batch's.

    Args:
        shares: (T, B) of the alignment reward.
        counted: (T, B) fixes of the episode that counted before the step.
        rate: (T, B) its compliance rate before the step.
        ends: (T, B) whether the step was its episode's last.
        gamma: discount.
    """
    expected = expected_returns(discounted_returns(shares, ends, gamma), counted, rate)
    following = np.zeros_like(expected)
    following[:-1] = np.where(ends[:-1], np.float32(0), expected[1:])
    shaped: NDArray[np.float32] = shares - expected + np.float32(gamma) * following
    return shaped
