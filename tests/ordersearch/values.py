"""Synthetic values of all orders: a search of them takes as long as its decisions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workflow_rl.ordersearch.strategies import Observation, Strategy, make_strategy
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, PRECEDENCE

Objective = Callable[[int, int], Observation]  # of an order and how often it was tried before


def landscape(kind: str, seed: int) -> NDArray[np.float64]:
    """Values of all orders with mean -30 and standard deviation 3.

    "pairs" adds up what each pair's arrangement is worth; "peak" falls off from one order.
    """
    rng = np.random.default_rng([seed, 7])
    if kind == "pairs":
        values = PRECEDENCE @ rng.normal(size=len(PAIRS))
    else:
        peak = PRECEDENCE[rng.integers(NUM_ORDERS)].astype(int)
        values = np.exp(-(len(PAIRS) - PRECEDENCE @ peak) / 2 / 3.0)
    return np.asarray(-30.0 + 3.0 * (values - values.mean()) / values.std())


def objective(kind: str, seed: int, noise: float = 1.0) -> Objective:
    """A landscape seen through noise that depends on the trial alone, as a training's does."""
    values = landscape(kind, seed)

    def value(order: int, repeat: int) -> Observation:
        rng = np.random.default_rng([seed, order, repeat])
        return Observation(order, float(values[order] + noise * rng.normal()), 1, True)

    return value


def strategy(name: str = "gp-ucb", seed: int = 0) -> Strategy:
    return make_strategy(name, beta=2.0, threshold=0.95, design=4, seed=seed)
