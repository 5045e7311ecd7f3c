"""How well a strategy searches: replays of it on a stored landscape.

A trial of an order gives one of the stored trainings of that order or of an equal one, at random
and without its seed's level, since a real search has one base policy. Nothing is trained, so a
search of 40 trials takes as long as its 40 decisions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from workflow_rl.config import SearchConfig
from workflow_rl.config.search import StrategyName
from workflow_rl.estimates import Estimate, Floats, half_widths
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.recommendation import recommend
from workflow_rl.ordersearch.strategies import TriedOrder, make_strategy
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.order_effects import shrink_means
from workflow_rl.workflow.orders import Orders

CHECKPOINTS: Final = (5, 10, 20, 40)  # trials after which the recommended order is scored
REPLAYED_STRATEGIES: Final[tuple[StrategyName, ...]] = (
    "gp-ucb",
    "random",
    "round-robin",
    "local",
    "halving",
)
MEASURES: Final = {  # whose regret is told
    "recommended": "of the order handed over",
    "best_tried": "of the best order tried",
    "mean_tried": "of all orders tried, on average",
}


@dataclass(frozen=True)
class Regret:
    """By how much a strategy fell short of the best order; arrays are (replays, checkpoints)."""

    strategy: str
    recommended: Floats
    best_tried: Floats
    mean_tried: Floats

    def mean(self, measure: str) -> Floats:
        """Returns (checkpoints,) the mean over replays."""
        mean: Floats = getattr(self, measure).mean(axis=0)
        return mean

    def half_width(self, measure: str) -> Floats:
        """Returns (checkpoints,) half of the mean's 95 % interval."""
        return half_widths(getattr(self, measure))

    def as_json(self) -> dict[str, Any]:
        """Returns mean and interval of every measure as plain data."""
        return {
            measure: {
                "mean": self.mean(measure).tolist(),
                "half_width_95": self.half_width(measure).tolist(),
            }
            for measure in MEASURES
        }


def search_course(
    config: SearchConfig,
    orders: Orders,
    threshold: float,
    trial: Callable[[int, int], TriedOrder],
    checkpoints: Sequence[int],
    seed: int,
) -> Iterator[tuple[Sequence[TriedOrder], int]]:
    """Searches, and yields at each checkpoint the trials so far and the order it would hand over.

    Args:
        config: of the strategy.
        orders: those to pick from.
        threshold: compliance that makes an order compliant.
        trial: tries an order, given the order and the number of the trial.
        checkpoints: numbers of trials, rising.
        seed: of the strategy.
    """
    config = replace(config, n_workflows=max(checkpoints))
    strategy = make_strategy(config, orders, threshold=threshold, seed=seed)
    seen: list[TriedOrder] = []
    for number in checkpoints:
        while len(seen) < number:
            seen.append(trial(strategy.pick(seen, []).order, len(seen)))
        yield seen, recommend(orders, seen).order


class StoredOrders:
    """The orders of a landscape as a search meets them."""

    def __init__(self, landscape: Landscape) -> None:
        """Notes what a trial may give and the value of each order."""
        self.orders = landscape.orders
        self.threshold = landscape.threshold
        self._landscape = landscape
        self._values = landscape.levelled
        self._equals = [np.flatnonzero(landscape.classes == c) for c in landscape.classes]
        worth, _ = shrink_means(landscape)
        eligible = landscape.is_eligible
        if eligible.any():  # an order that does not comply is no better than the worst that does
            worth[~eligible] = worth[eligible].min()
        self._shortfall = worth.max() - worth
        self._place = {order: place for place, order in enumerate(landscape.listed.tolist())}

    def trial(self, order: int, rng: np.random.Generator) -> TriedOrder:
        """Returns what trying an order gives this time."""
        land = self._landscape
        seed = int(rng.integers(len(land.seeds)))
        cell = seed, int(rng.choice(self._equals[self._place[order]]))
        reward = Estimate.from_error(float(self._values[cell]), float(land.error[cell]))
        result = Result(land.red_agent, 1, reward, Estimate(float(land.compliance[cell])))
        return TriedOrder(order, result, bool(land.is_compliant[cell]))

    def shortfall(self, order: int) -> float:
        """Returns the difference between the mean return of the best order and of this one."""
        return float(self._shortfall[self._place[order]])


def replay_search(
    orders: StoredOrders, config: SearchConfig, checkpoints: Sequence[int], seed: int
) -> Floats:
    """Returns (measures, checkpoints) the regrets of one search, by `MEASURES`."""
    rng = np.random.default_rng([seed, 124])
    found = np.empty((len(MEASURES), len(checkpoints)))

    def trial(order: int, _: int) -> TriedOrder:
        return orders.trial(order, rng)

    course = search_course(config, orders.orders, orders.threshold, trial, checkpoints, seed)
    for k, (seen, recommended) in enumerate(course):
        tried = [orders.shortfall(one.order) for one in seen]
        found[:, k] = orders.shortfall(recommended), min(tried), np.mean(tried)
    return found


def regrets(
    landscape: Landscape,
    config: SearchConfig,
    *,
    replays: int,
    strategies: Sequence[StrategyName] = REPLAYED_STRATEGIES,
    checkpoints: Sequence[int] = CHECKPOINTS,
    seed: int = 0,
    on_replay: Callable[[], None] = lambda: None,
) -> list[Regret]:
    """Replays each strategy many times on a landscape.

    Args:
        landscape: what is searched.
        config: of the strategies.
        replays: of each strategy; 0 leaves them out.
        strategies: their names.
        checkpoints: numbers of trials after which a search is judged, rising.
        seed: of all replays.
        on_replay: called after each.
    """
    orders = StoredOrders(landscape)
    found = []
    for strategy in strategies if replays else ():
        runs = []
        chosen = replace(config, strategy=strategy)
        for number in range(replays):
            one = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            runs.append(replay_search(orders, chosen, checkpoints, one))
            on_replay()
        found.append(Regret(strategy, *np.stack(runs, axis=1)))
    return found
