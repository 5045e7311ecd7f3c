"""Some of the orders, played by one policy: what they tell together, and searches by playing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from workflow_rl.config import SearchConfig
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.ordersearch.strategies import make_strategy
from workflow_rl.studies.landscape.played import OrderPlayer, PlayedOrder
from workflow_rl.studies.landscape.regret import searched
from workflow_rl.workflow.orders import Orders

SEARCHES_ASKED: Final = (20, 60, 200)  # trials after which a search by playing is asked
Searches = Mapping[str, Sequence[Sequence[PlayedOrder]]]  # strategy -> search -> when it was asked


def sampled_orders(orders: Orders, number: int, seed: int) -> list[int]:
    """Returns so many different orders, drawn evenly, or all if there are no more."""
    rng = np.random.default_rng([seed, 128])
    if orders.is_listable:
        number = min(number, orders.count)
        return sorted(rng.choice(orders.listed(), number, replace=False).tolist())
    found: dict[int, None] = {}
    while len(found) < number:
        found |= dict.fromkeys(orders.draw(rng, number - len(found)).tolist())
    return sorted(found)


@dataclass(frozen=True)
class PlayedSample:
    """Orders that a policy played, and what strategies found by letting it play."""

    player: OrderPlayer
    played: Sequence[PlayedOrder]
    searches: Searches = field(default_factory=dict)

    @cached_property
    def finding(self) -> Finding:
        """What the orders tell together."""
        seen = [one.observation for one in self.played]
        return conclude(self.player.orders, seen, self.player.game.red_agent)

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        player = self.player
        return {
            "red_agent": player.game.red_agent,
            "rules": player.game.rules,
            "policy": player.name,
            "compliance_threshold": player.threshold,
            "units": player.orders.units.setting,
            "required": player.orders.required.texts,
            "orders": [one.as_json(player.orders) for one in self.played],
            "finding": self.finding.as_json(),
            "searches": self._searches_as_json(),
        }

    def _searches_as_json(self) -> dict[str, Any]:
        orders = self.player.orders
        strategies = {
            strategy: [[one.as_json(orders) for one in search] for search in searches]
            for strategy, searches in self.searches.items()
        }
        return {"asked": list(SEARCHES_ASKED), "strategies": strategies} if strategies else {}


def search_by_playing(
    player: OrderPlayer,
    strategy: str,
    config: SearchConfig,
    seed: int,
    asked: Sequence[int] = SEARCHES_ASKED,
) -> Iterator[PlayedOrder]:
    """Searches, every trial a few games, and yields what it would hand over each time it is asked.

    Args:
        player: plays the orders.
        strategy: its name.
        config: of the strategy.
        seed: of the strategy and of the games.
        asked: numbers of trials, rising.
    """
    chooser = make_strategy(
        strategy,
        player.orders,
        beta=config.gp_beta,
        threshold=player.threshold,
        design=config.initial_design,
        seed=seed,
        trials=max(asked),
    )
    trials = searched(chooser, lambda order, k: player.trial(order, seed, k).observation, asked)
    for seen in trials:
        yield player.judge(recommend(player.orders, seen).order, seed)
