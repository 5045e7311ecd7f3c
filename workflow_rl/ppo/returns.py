"""Returns and advantages: pure functions of arrays of shape (T, B)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.jit import kernel

Floats = NDArray[np.float32]


@kernel()
def _discounted(rewards: NDArray[Any], ends: NDArray[Any], gamma: float, out: NDArray[Any]) -> None:
    for b in range(rewards.shape[1]):
        running = 0.0
        for t in range(rewards.shape[0] - 1, -1, -1):
            if ends[t, b]:
                running = 0.0
            running = rewards[t, b] + gamma * running
            out[t, b] = running


@kernel()
def _gae(
    rewards: NDArray[Any],
    values: NDArray[Any],
    last_values: NDArray[Any],
    ends: NDArray[Any],
    gamma: float,
    lam: float,
    out: NDArray[Any],
) -> None:
    for b in range(rewards.shape[1]):
        running = 0.0
        next_value = last_values[b]
        for t in range(rewards.shape[0] - 1, -1, -1):
            if ends[t, b]:
                running = 0.0
                next_value = 0.0
            delta = rewards[t, b] + gamma * next_value - values[t, b]
            running = delta + gamma * lam * running
            out[t, b] = running
            next_value = values[t, b]


def discounted_returns(rewards: Floats, ends: NDArray[np.bool_], gamma: float) -> Floats:
    """Returns (T, B) the Monte-Carlo returns, cut at episode ends and at the end of the batch.

    Args:
        rewards: (T, B) reward of each step.
        ends: (T, B) whether the step was its episode's last.
        gamma: discount.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    rewards = checked_array("rewards", rewards, (None, None), np.float32)
    ends = checked_array("ends", ends, rewards.shape, np.bool_)
    out = np.empty_like(rewards)
    _discounted(rewards, ends, gamma, out)
    return out


def generalised_advantages(
    rewards: Floats,
    values: Floats,
    last_values: Floats,
    ends: NDArray[np.bool_],
    gamma: float,
    lam: float,
) -> Floats:
    """Returns (T, B) generalised advantage estimates.

    The horizon is part of the game (scores are sums over a fixed number of steps), so the value
    after an episode's last step is 0; an episode that goes on after the batch is bootstrapped.

    Args:
        rewards: (T, B) reward of each step.
        values: (T, B) critic's value before each step.
        last_values: (B,) critic's value after the last step.
        ends: (T, B) whether the step was its episode's last.
        gamma: discount.
        lam: 1 gives Monte-Carlo advantages, 0 one-step ones.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    rewards = checked_array("rewards", rewards, (None, None), np.float32)
    values = checked_array("values", values, rewards.shape, np.float32)
    last_values = checked_array("last values", last_values, rewards.shape[1:], np.float32)
    ends = checked_array("ends", ends, rewards.shape, np.bool_)
    out = np.empty_like(rewards)
    _gae(rewards, values, last_values, ends, gamma, lam, out)
    return out


def standardised(values: Floats, epsilon: float = 1e-5) -> Floats:
    """Returns the values with mean 0 and (population) standard deviation 1."""
    deviation = values.std() + epsilon
    result: Floats = ((values - values.mean()) / deviation).astype(np.float32)
    return result
