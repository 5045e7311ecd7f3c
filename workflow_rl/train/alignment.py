"""The alignment reward: the weight of compliance against reward, and its control variate."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.config import TrainConfig
from workflow_rl.jit import kernel
from workflow_rl.ppo.returns import discounted_returns
from workflow_rl.workflow.compliance import Shares, Tally
from workflow_rl.workflow.episode_orders import EpisodeOrders
from workflow_rl.workflow.orders import TYPES, Orders

LOWEST_WEIGHT: Final = 0.5
HIGHEST_WEIGHT: Final = 200.0
_MARGIN: Final = 0.015  # adaptive aims this far above the threshold, for noise not to cross it
_SPEED: Final = 3.0  # change of log weight per update and unit of missing compliance
_LARGEST_CHANGE: Final = 0.1  # of log weight, per update
# When all orders are trained at once each has but a few episodes in an update, so the weights move
# more slowly; and an untrained policy would drive them so high that it never learns.
_SPEED_OF_ALL: Final = 1.0
_LARGEST_CHANGE_OF_ALL: Final = 0.3
HIGHEST_WEIGHT_OF_ALL: Final = 50.0
_MOST_WEIGHTS: Final = 720  # orders that have a weight each; more are not sampled often enough

_COUNTS: Final = (0, 2**31 - 1)
MOST_FIXES: Final = 40  # steps after more counted fixes than this are taken together


class AlignmentWeight:
    """The weight of an episode's compliance, in units of reward; one for each order trained.

    `fixed` keeps it. `adaptive` treats "compliance is at least the threshold" as a constraint and
    the weight as its multiplier: dual ascent on its logarithm raises it while the constraint is
    violated and lowers it otherwise, so that a compliant policy optimises the reward.
    Orders differ in what complying costs, so when all are trained at once each has its own, up to
    those of six units; the orders of more units, or of any, share one.
    """

    def __init__(
        self, config: TrainConfig, order: int | None, orders: EpisodeOrders = TYPES
    ) -> None:
        """Starts at the configured weight; `order` None trains all of `orders` at once."""
        number = orders.total if isinstance(orders, Orders) and order is None else 1
        self.values = np.full(number if number <= _MOST_WEIGHTS else 1, config.alignment_lambda)
        self._start = config.alignment_lambda
        self._order = order
        self._adaptive = config.alignment == "adaptive" and config.alignment_lambda > 0
        self.target = min(config.compliance_threshold + _MARGIN, 1.0)

    @property
    def mean(self) -> float:
        """Their geometric mean."""
        if len(self.values) == 1:
            return float(self.values[0])
        return float(np.exp(np.log(self.values).mean())) if self.values.all() else 0.0

    def of(self, orders: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the weights of orders, in the shape they come in."""
        return self.values[self._places(orders)]

    def _places(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        return orders if len(self.values) > 1 else np.zeros_like(orders)

    def adapt(self, orders: NDArray[np.int64], compliance: NDArray[np.float64]) -> None:
        """Takes in the orders and the compliance of an update's episodes."""
        if not self._adaptive:
            return
        places, size = self._places(orders), len(self.values)
        number = np.bincount(places, minlength=size)
        sums = np.bincount(places, compliance, size)
        missing = np.where(number > 0, self.target - sums / np.maximum(number, 1), 0.0)
        speed, largest, highest = _SPEED, _LARGEST_CHANGE, HIGHEST_WEIGHT
        if self._order is None:
            speed, largest, highest = _SPEED_OF_ALL, _LARGEST_CHANGE_OF_ALL, HIGHEST_WEIGHT_OF_ALL
        change = np.clip(speed * missing, -largest, largest)
        highest = max(highest, self._start)
        self.values = np.clip(self.values * np.exp(change), LOWEST_WEIGHT, highest)


# --- a control variate of it
#
# The running compliance rate jumps at an episode's first fixes and hardly moves at its last ones,
# and neither the policy nor the critic sees how many fixes there were. The return of a step is
# therefore mostly made of where in its episode the step lies, not of what was done in it. The count
# of fixes and the running rate *before* a step do not depend on the step's action, so the return
# that they predict can be subtracted from the step's without changing the gradient's mean.


@kernel()
def _fit(
    returns: NDArray[Any], counted: NDArray[Any], rate: NDArray[Any], lines: NDArray[Any]
) -> None:
    steps, envs = returns.shape
    sums = np.zeros((len(lines), 5))
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
            lines[k, 0] = slope
            lines[k, 1] = mean_y - slope * mean_x
        elif k:  # no step came after so many fixes
            lines[k] = lines[k - 1]


@kernel()
def _evaluate(
    lines: NDArray[Any], counted: NDArray[Any], rate: NDArray[Any], out: NDArray[Any]
) -> None:
    steps, envs = out.shape
    for t in range(steps):
        for b in range(envs):
            line = lines[min(counted[t, b], MOST_FIXES)]
            out[t, b] = line[1] + line[0] * rate[t, b]


class Expectation:
    """The return of a step that the count of fixes and the rate before it predict."""

    def __init__(
        self, returns: NDArray[np.float32], counted: NDArray[np.int32], rate: NDArray[np.float32]
    ) -> None:
        """Fits, for each count of fixes, the straight line in the rate that fits returns best.

        Args:
            returns: (T, B) discounted sums of alignment shares from each step on.
            counted: (T, B) fixes of the episode that counted before the step.
            rate: (T, B) its compliance rate before the step.
        """
        rate = checked_array("rates", rate, (None, None), np.float32)
        counted = checked_array("fixes", counted, rate.shape, np.int32, _COUNTS)
        returns = checked_array("returns", returns, rate.shape, np.float32)
        self._lines = np.zeros((MOST_FIXES + 1, 2))  # slope, intercept
        _fit(returns, counted, rate, self._lines)

    def at(self, counted: NDArray[np.int32], rate: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns (T, B) the returns expected after so many fixes, at such a rate."""
        rate = checked_array("rates", rate, (None, None), np.float32)
        counted = checked_array("fixes", counted, rate.shape, np.int32, _COUNTS)
        out = np.empty_like(rate)
        _evaluate(self._lines, counted, rate, out)
        return out

    def after(self, tally: Tally) -> NDArray[np.float32]:
        """Returns (B,) the returns expected of episodes that go on."""
        rate = tally.compliant / np.maximum(tally.counted, 1)
        expected: NDArray[np.float32] = self.at(tally.counted[None], rate.astype(np.float32)[None])
        return expected.ravel()


def without_expected(
    scored: Shares, ends: NDArray[np.bool_], gamma: float, going_on: Tally | None = None
) -> NDArray[np.float32]:
    """Returns (T, B) shares whose discounted returns are those given minus the expected ones.

    It is potential-based shaping, r + gamma * e(s') - e(s), with the expectation e as potential,
    which is 0 after an episode's end. A critic of the shaped reward estimates V - e where one of
    the plain reward estimates V. What holds at the end of a batch depends on the returns:

    - Returns that are cut there (Monte-Carlo): e after the batch is 0, and every return loses
      exactly e(s), which does not depend on its action. The gradient's mean stays as it is.
    - Returns that go on by the critic's value (generalised advantages): e after the batch is that
      of the state reached. Every temporal difference is then that of the plain reward, whatever
      lambda is: r + gamma * e' - e + gamma * (V' - e') - (V - e) = r + gamma * V' - V. With 0 it
      would lack gamma * e', which earlier actions have brought about: the gradient would be biased.

    Where every episode ends with the batch, both are the same.

    Args:
        scored: the shares of the alignment reward, with counts and rates before each step.
        ends: (T, B) whether the step was its episode's last.
        gamma: discount.
        going_on: counts after the last step, of episodes whose returns go on after the batch; None
            if returns are cut there.
    """
    shares, _, counted, rate = scored
    expectation = Expectation(discounted_returns(shares, ends, gamma), counted, rate)
    expected = expectation.at(counted, rate)
    following = np.zeros_like(expected)
    following[:-1] = expected[1:]
    if going_on is not None:
        following[-1] = expectation.after(going_on)
    following[ends] = 0.0
    shaped: NDArray[np.float32] = shares - expected + np.float32(gamma) * following
    return shaped
