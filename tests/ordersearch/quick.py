"""Orders, trials of them, and a GP-UCB with fixed hyper-parameters that takes milliseconds."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import SearchConfig, TrainConfig
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.candidates import ranked, spread_out
from workflow_rl.ordersearch.strategies import Strategy, TriedOrder, make_strategy
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES, Orders, orders_of
from workflow_rl.workflow.units import units_of

EVERY = np.arange(NUM_ORDERS)
PAIRS = TYPES.pairs
PRECEDENCE = TYPES.precedence(EVERY)
HOSTS = Orders(units_of("hosts"))  # too many to list
SUBNETS = Orders(units_of("subnets"))  # six, each a neighbour of every other
FEW = orders_of(TrainConfig(require=("user > op_host > enterprise > op_server",)))  # five

Floats = NDArray[np.float64]
_LENGTHSCALE = 5.0  # pairs ordered differently
_NOISE = 0.2  # variance of a trial, of all trials'
_BETA = 2.0
_APART = (len(PAIRS) - PRECEDENCE.astype(np.int64) @ PRECEDENCE.T.astype(np.int64)) / 2
_KERNEL = np.exp(-_APART / _LENGTHSCALE)


def made(name: str = "gp-ucb", orders: Orders = TYPES, **settings: Any) -> Strategy:
    seed = settings.pop("seed", 0)
    given: dict[str, Any] = {"strategy": name, "initial_design": 4} | settings
    config = SearchConfig(**given)
    return make_strategy(config, orders, threshold=0.95, seed=seed)


def tried(order: int, value: float, compliance: float, is_compliant: bool) -> TriedOrder:
    result = Result("bline", 12, Estimate(value), Estimate(compliance))
    return TriedOrder(order, result, is_compliant)


def complied(order: int, value: float = 0.0) -> TriedOrder:
    return tried(order, value, 0.97, True)


def failed(order: int, compliance: float = 0.6, value: float = -300.0) -> TriedOrder:
    return tried(order, value, compliance, False)


def trials_of(orders: Iterable[int], values: Iterable[float]) -> list[TriedOrder]:
    """Trials that complied."""
    return [complied(int(o), float(v)) for o, v in zip(orders, values, strict=True)]


def searched(
    strategy: Strategy, trials: int, value: Callable[[int, int], float]
) -> list[TriedOrder]:
    """Trials that complied, of a value by the order and the number of its earlier trials."""
    seen: list[TriedOrder] = []
    for _ in range(trials):
        order = strategy.pick(seen, []).order
        seen.append(complied(order, value(order, [o.order for o in seen].count(order))))
    return seen


def quick_search(
    truth: Floats, noise: Floats | float, seed: int, trials: int = 20
) -> list[TriedOrder]:
    """The trials of a search that is drawn to what looks good; `noise` is a trial's deviation."""
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
    return trials_of(orders, values)
