"""Landscapes to test with: made up, so that the truth about them is known."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))


def truth(deviation: float, seed: int = 0) -> NDArray[np.float64]:
    """Values of all orders: what each pair's arrangement is worth, added up."""
    worth = PRECEDENCE @ np.random.default_rng([seed, 1]).normal(size=len(PAIRS))
    return np.asarray(-30 + deviation * (worth - worth.mean()) / worth.std())


def made_up(
    values: NDArray[np.float64],
    seeds: int = 3,
    *,
    noise: float = 0.0,
    level: float = 0.0,
    red_agent: str = "meander",
    seed: int = 0,
    compliance: NDArray[np.float64] | None = None,
) -> Landscape:
    """A landscape of given true values.

    Args:
        values: (120,).
        seeds: trainings of each order.
        noise: standard deviation of a training.
        level: standard deviation of what a seed adds to all orders.
        red_agent: decides which orders are equal.
        seed: of chance.
        compliance: (120,) of each order; all comply if not given.
    """
    rng = np.random.default_rng([seed, 2])
    shape = (seeds, NUM_ORDERS)
    reward = values + level * rng.normal(size=(seeds, 1)) + noise * rng.normal(size=shape)
    rates = np.broadcast_to(0.97 if compliance is None else compliance, shape).copy()
    return Landscape(
        red_agent=red_agent,
        rules="main",
        threshold=0.95,
        seeds=tuple(range(seeds)),
        reward=reward,
        error=np.full(shape, 0.2),
        compliance=rates,
        compliance_true=rates - 0.05,
        is_compliant=rates >= 0.95,
    )
