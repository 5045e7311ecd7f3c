"""The alignment reward: what complying with the order is worth, beside the environment's reward."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.jit import kernel
from workflow_rl.workflow.compliance import COMPLIANT, VIOLATION
from workflow_rl.workflow.orders import NUM_ORDERS

LOWEST_WEIGHT: Final = 0.5
HIGHEST_WEIGHT: Final = 200.0
_MARGIN: Final = 0.015  # adaptive aims this far above the threshold: noise shall not cross it
_SPEED: Final = 3.0  # change of log weight per update and unit of missing compliance
_LARGEST_CHANGE: Final = 0.1  # of log weight, per update
# When all orders are trained at once each has but a few episodes in an update, so the weights move
# more slowly; and a policy that knows nothing yet would drive them so high that it never learns.
_SPEED_OF_ALL: Final = 1.0
_LARGEST_CHANGE_OF_ALL: Final = 0.3
HIGHEST_WEIGHT_OF_ALL: Final = 50.0


@dataclass
class Tally:
    """Each environment's counts in its running episode, in one view."""

    compliant: NDArray[np.int32]  # (B,)
    counted: NDArray[np.int32]  # (B,)
    ever_open: NDArray[np.bool_]  # (B,)

    @classmethod
    def zeros(cls, num_envs: int) -> "Tally":
        """Returns the tally of environments whose episode has just begun."""
        return cls(
            np.zeros(num_envs, np.int32), np.zeros(num_envs, np.int32), np.zeros(num_envs, np.bool_)
        )


class Shares(NamedTuple):
    """Episodes' compliance, spread over their steps; (T, B) each."""

    shares: NDArray[np.float32]  # they sum to the episode's compliance
    rates: NDArray[np.float64]  # the compliance of an episode where it ends, else NaN
    counted_before: NDArray[np.int32]  # its fixes that counted before the step
    rate_before: NDArray[np.float32]  # its running rate before the step, 0 if none counted


@kernel()
def _shares(
    verdict: NDArray[Any],
    any_open: NDArray[Any],
    ends: NDArray[Any],
    compliant: NDArray[Any],
    counted: NDArray[Any],
    ever_open: NDArray[Any],
    out: NDArray[Any],
    rates: NDArray[Any],
    counted_before: NDArray[Any],
    rate_before: NDArray[Any],
) -> None:
    for b in range(verdict.shape[1]):
        for t in range(verdict.shape[0]):
            ever_open[b] |= any_open[t, b]
            share = 0.0
            before = compliant[b] / counted[b] if counted[b] else 0.0
            counted_before[t, b] = counted[b]
            rate_before[t, b] = before
            if verdict[t, b] >= VIOLATION:
                counted[b] += 1
                compliant[b] += verdict[t, b] == COMPLIANT
                share = compliant[b] / counted[b] - before
            if ends[t, b]:
                rate = compliant[b] / counted[b] if counted[b] else 0.0
                if counted[b] == 0 and not ever_open[b]:
                    rate = 1.0
                    share = 1.0
                rates[t, b] = rate
                compliant[b] = 0
                counted[b] = 0
                ever_open[b] = False
            out[t, b] = share


def alignment_shares(
    verdict: NDArray[np.int8],
    any_open: NDArray[np.bool_],
    ends: NDArray[np.bool_],
    tally: Tally,
) -> Shares:
    """Spreads each episode's compliance over its steps.

    An episode's compliance is its compliant fixes over its counted ones; 1 if no host was ever
    open; 0 if one was and no fix counted. At each counted fix the share is the change of the
    running rate; at the end of an episode in which no host was ever open it is the whole 1. The
    shares of an episode sum to its compliance.

    Args:
        verdict: (T, B) of each action, in one view.
        any_open: (T, B) whether a host was open, in that view.
        ends: (T, B) whether the step was its episode's last.
        tally: carried from batch to batch, for episodes that go on.
    """
    shape = verdict.shape
    shares = Shares(
        shares=np.zeros(shape, np.float32),
        rates=np.full(shape, np.nan),
        counted_before=np.zeros(shape, np.int32),
        rate_before=np.zeros(shape, np.float32),
    )
    _shares(verdict, any_open, ends, tally.compliant, tally.counted, tally.ever_open, *shares)
    return shares


class AlignmentWeight:
    """What an episode's compliance is worth, in units of reward; one for each order trained.

    `fixed` keeps it. `adaptive` treats "compliance is at least the threshold" as a constraint and
    the weight as its multiplier: dual ascent on its logarithm raises it while the constraint is
    violated and lowers it otherwise, so that a policy that complies spends the rest on reward.
    Orders differ in what complying costs, so when all are trained at once each has its own.
    """

    def __init__(self, config: TrainConfig, order: int | None) -> None:
        """Starts at the configured weight.

        Args:
            config: says how.
            order: the one that is trained; None: all of them.
        """
        self.values = np.full(NUM_ORDERS, config.alignment_lambda)
        self._start = config.alignment_lambda
        self._order = order
        self._adaptive = config.alignment == "adaptive" and config.alignment_lambda > 0
        self.target = min(config.compliance_threshold + _MARGIN, 1.0)

    @property
    def trained(self) -> NDArray[np.float64]:
        """The weights of the orders trained: (1,) or (120,)."""
        return self.values if self._order is None else self.values[self._order : self._order + 1]

    @property
    def mean(self) -> float:
        """Their geometric mean."""
        if self._order is not None:
            return float(self.values[self._order])
        return float(np.exp(np.log(self.values).mean())) if self.values.all() else 0.0

    def adapt(self, orders: NDArray[np.int16], compliance: NDArray[np.float64]) -> None:
        """Takes in the orders and the compliance of an update's episodes."""
        if not self._adaptive:
            return
        number = np.bincount(orders, minlength=NUM_ORDERS)
        sums = np.bincount(orders, compliance, NUM_ORDERS)
        missing = np.where(number > 0, self.target - sums / np.maximum(number, 1), 0.0)
        speed, largest, highest = _SPEED, _LARGEST_CHANGE, HIGHEST_WEIGHT
        if self._order is None:
            speed, largest, highest = _SPEED_OF_ALL, _LARGEST_CHANGE_OF_ALL, HIGHEST_WEIGHT_OF_ALL
        change = np.clip(speed * missing, -largest, largest)
        highest = max(highest, self._start)
        self.values = np.clip(self.values * np.exp(change), LOWEST_WEIGHT, highest)
