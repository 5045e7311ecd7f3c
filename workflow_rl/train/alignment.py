"""The alignment reward: what complying with the order is worth, beside the environment's reward."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.sim.jit import kernel
from workflow_rl.workflow.compliance import COMPLIANT, VIOLATION

LOWEST_WEIGHT: Final = 0.5
HIGHEST_WEIGHT: Final = 50.0
_MARGIN: Final = (
    0.015  # adaptive aims this far above the threshold, so that noise does not cross it
)
_SPEED: Final = 3.0  # change of log weight per update and unit of missing compliance
_LARGEST_CHANGE: Final = 0.1  # of log weight, per update


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
) -> None:
    for b in range(verdict.shape[1]):
        for t in range(verdict.shape[0]):
            ever_open[b] |= any_open[t, b]
            share = 0.0
            if verdict[t, b] >= VIOLATION:
                before = compliant[b] / counted[b] if counted[b] else 0.0
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
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
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

    Returns:
        (T, B) the shares, and (T, B) the compliance of episodes where they end, else NaN.
    """
    shares = np.zeros(verdict.shape, np.float32)
    rates = np.full(verdict.shape, np.nan)
    _shares(verdict, any_open, ends, tally.compliant, tally.counted, tally.ever_open, shares, rates)
    return shares, rates


class AlignmentWeight:
    """What an episode's compliance is worth, in units of reward.

    `fixed` keeps it. `adaptive` treats "compliance is at least the threshold" as a constraint and
    the weight as its multiplier: dual ascent on its logarithm raises it while the constraint is
    violated and lowers it otherwise, so that a policy that complies spends the rest on reward.
    """

    def __init__(self, config: TrainConfig) -> None:
        """Starts at the configured weight."""
        self.value = config.alignment_lambda
        self._adaptive = config.alignment == "adaptive"
        self._target = min(config.compliance_threshold + _MARGIN, 1.0)

    def adapt(self, compliance: float) -> None:
        """Takes in the mean compliance of an update's episodes."""
        if self._adaptive and self.value > 0:
            change = _SPEED * (self._target - compliance)
            change = min(max(change, -_LARGEST_CHANGE), _LARGEST_CHANGE)
            self.value = min(max(self.value * math.exp(change), LOWEST_WEIGHT), HIGHEST_WEIGHT)
