"""Searches on values that are known: GP-UCB with fixed hyper-parameters, some milliseconds."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.ordersearch.candidates import ranked, spread_out
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))

Floats = NDArray[np.float64]
_LENGTHSCALE = 5.0  # pairs ordered differently
_NOISE = 0.2  # variance of a trial, of all trials'
_BETA = 2.0
_APART = (len(PAIRS) - PRECEDENCE.astype(np.int64) @ PRECEDENCE.T.astype(np.int64)) / 2
_KERNEL = np.exp(-_APART / _LENGTHSCALE)


def quick_search(
    truth: Floats, noise: Floats | float, seed: int, trials: int = 20
) -> list[Observation]:
    """The trials of a search that is drawn to what looks good.

    Args:
        truth: (120,) the value of every order.
        noise: standard deviation of a trial, of every order or of all.
        seed: of the design and of chance.
        trials: how many.
    """
    rng = np.random.default_rng([seed, 7])
    spread = np.broadcast_to(noise, NUM_ORDERS)
    orders: list[int] = []
    values: list[float] = []
    for order in spread_out(TYPES, 5, seed):
        orders.append(order)
        values.append(truth[order] + spread[order] * rng.normal())
    while len(orders) < trials:
        seen = np.array(values)
        scaled = (seen - seen.mean()) / (seen.std() + 1e-9)
        among = _KERNEL[np.ix_(orders, orders)] + _NOISE * np.eye(len(orders))
        weights = np.linalg.solve(among, _KERNEL[orders])
        variance = 1 - np.sum(_KERNEL[orders] * weights, axis=0)
        bound = weights.T @ scaled + _BETA * np.sqrt(np.maximum(variance, 0))
        order = int(ranked(TYPES, np.arange(NUM_ORDERS), bound)[0])
        orders.append(order)
        values.append(truth[order] + spread[order] * rng.normal())
    return [Observation(o, float(v), 0.97, True) for o, v in zip(orders, values, strict=True)]
