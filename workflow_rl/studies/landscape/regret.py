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
from workflow_rl.ordersearch.finding import recommend
from workflow_rl.ordersearch.strategies import Strategy, TriedOrder, make_strategy
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.ranking import shrink_means
from workflow_rl.workflow.orders import Orders

CHECKPOINTS: Final = (5, 10, 20, 40)  # trials after which a search is asked for its order
REPLAYED_STRATEGIES: Final[tuple[StrategyName, ...]] = (
    "gp-ucb",
    "random",
    "round-robin",
    "local",
    "halving",
)
MEASURES: Final = ("recommended", "best_tried", "mean_tried")


@dataclass(frozen=True)
class Regret:
    """What strategies fell short of the best order by; arrays are (replays, checkpoints)."""

    strategy: str
    recommended: Floats  # of the order it would hand over
    best_tried: Floats  # of the best order it has tried
    mean_tried: Floats  # of the orders it has tried, on average

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


class StoredOrders:
    """The orders of a landscape as a search meets them."""

    def __init__(self, landscape: Landscape) -> None:
        """Notes what a trial may give and what each order is really worth."""
        self._landscape = landscape
        self._values = landscape.levelled
        classes = landscape.classes
        self._equals = [np.flatnonzero(classes == c) for c in classes]
        worth = shrink_means(landscape).mean.copy()
        eligible = landscape.is_eligible
        if eligible.any():  # an order that does not comply is no better than the worst that does
            worth[~eligible] = worth[eligible].min()
        self._shortfall = worth.max() - worth
        self._place = {order: place for place, order in enumerate(landscape.listed.tolist())}

    @property
    def orders(self) -> Orders:
        """What is searched."""
        return self._landscape.orders

    def trial(self, order: int, rng: np.random.Generator) -> TriedOrder:
        """Returns what trying an order gives this time."""
        land = self._landscape
        seed = int(rng.integers(len(land.seeds)))
        equal = int(rng.choice(self._equals[self._place[order]]))
        reward = Estimate.from_error(
            float(self._values[seed, equal]), float(land.error[seed, equal])
        )
        compliance = Estimate(float(land.compliance[seed, equal]))
        result = Result(land.red_agent, 1, reward, compliance)
        return TriedOrder(order, result, bool(land.is_compliant[seed, equal]))

    def shortfall(self, order: int) -> float:
        """Returns by how much an order is worth less than the best."""
        return float(self._shortfall[self._place[order]])


def searched(
    chooser: Strategy, trial: Callable[[int, int], TriedOrder], checkpoints: Sequence[int]
) -> Iterator[Sequence[TriedOrder]]:
    """Searches, and yields what was seen up to each checkpoint.

    Args:
        chooser: picks the orders.
        trial: gives what trying an order finds, told the order and the number of the trial.
        checkpoints: numbers of trials, rising.
    """
    seen: list[TriedOrder] = []
    for number in checkpoints:
        while len(seen) < number:
            seen.append(trial(chooser.pick(seen, []).order, len(seen)))
        yield seen


def replay_search(
    orders: StoredOrders,
    strategy: StrategyName,
    config: SearchConfig,
    threshold: float,
    checkpoints: Sequence[int],
    seed: int,
) -> Floats:
    """Returns (3, checkpoints) the regrets of one search, by `MEASURES`.

    Args:
        orders: what is searched.
        strategy: its name.
        config: of the strategy.
        threshold: compliance that makes an order compliant.
        checkpoints: numbers of trials, rising.
        seed: of the strategy and of the trials.
    """
    config = replace(config, strategy=strategy, n_workflows=max(checkpoints))
    chooser = make_strategy(config, orders.orders, threshold=threshold, seed=seed)
    rng = np.random.default_rng([seed, 124])
    found = np.empty((len(MEASURES), len(checkpoints)))
    searching = searched(chooser, lambda order, _: orders.trial(order, rng), checkpoints)
    for k, seen in enumerate(searching):
        tried = [orders.shortfall(one.order) for one in seen]
        found[:, k] = (
            orders.shortfall(recommend(orders.orders, seen).order),
            min(tried),
            np.mean(tried),
        )
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
    """Replays each strategy many times.

    Args:
        landscape: what is searched.
        config: of the strategies.
        replays: searches of each strategy.
        strategies: their names.
        checkpoints: numbers of trials, rising.
        seed: of all replays.
        on_replay: told after each.
    """
    orders = StoredOrders(landscape)
    found = []
    for strategy in strategies:
        runs = []
        for number in range(replays):
            one = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            runs.append(
                replay_search(orders, strategy, config, landscape.threshold, checkpoints, one)
            )
            on_replay()
        found.append(Regret(strategy, *np.stack(runs, axis=1)))
    return found
