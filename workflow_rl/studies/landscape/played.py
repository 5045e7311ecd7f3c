"""Orders compared without training any: one policy that follows them all plays each.

Of orders that can be listed that gives a landscape like the trained one, a seed being games of its
own; of more, a sample of them, and what strategies find by letting the policy play.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, SearchConfig
from workflow_rl.config.search import StrategyName
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.ordersearch.finding import Finding, conclude, recommend
from workflow_rl.ordersearch.strategies import TriedOrder, make_strategy
from workflow_rl.studies.landscape.regret import searched
from workflow_rl.workflow.orders import Orders

_TRIAL_GAMES: Final = 50  # of a trial of a search by playing
_JUDGING_GAMES: Final = 1_000  # by which the order that such a search hands over is judged
_ORDERS, _TRIALS, _JUDGING = range(3)  # what games are for
SEARCHES_ASKED: Final = (20, 60, 200)  # trials after which a search by playing is asked
Searches = Mapping[str, Sequence[Sequence[TriedOrder]]]  # strategy -> search -> when it was asked


class OrderPlayer:
    """A policy that plays under any of some orders."""

    def __init__(
        self, policy: Policy, name: str, orders: Orders, game: GameConfig, threshold: float
    ) -> None:
        """Notes what is played.

        Args:
            policy: who plays.
            name: what it is called.
            orders: those it may play under.
            game: what it plays.
            threshold: compliance that makes an order compliant.

        Raises:
            InvalidInputError: the policy cannot be told these orders, or any.
        """
        if not policy.is_conditioned or policy.order is not None:
            raise InvalidInputError(
                f"{name} does not follow any order it is told, so it cannot compare orders"
            )
        self.name = name
        self.orders = orders
        self.game = game
        self.threshold = threshold
        self._policy = policy
        policy.read_order(orders[int(orders.nth(np.zeros(1, np.int64))[0])])

    def play(self, order: int, seed: int, games: int) -> TriedOrder:
        """Plays so many games under one order."""
        return self._play(order, (_ORDERS, seed), games)

    def trial(self, order: int, seed: int, number: int) -> TriedOrder:
        """Plays the few games of a search's trial."""
        return self._play(order, (_TRIALS, seed, number), _TRIAL_GAMES)

    def judge(self, order: int, seed: int) -> TriedOrder:
        """Plays games by which nothing was chosen."""
        return self._play(order, (_JUDGING, seed), _JUDGING_GAMES)

    def _play(self, order: int, purpose: Sequence[int], games: int) -> TriedOrder:
        """Plays games that are of this order alone: those of others are independent."""
        seed = np.random.SeedSequence([*purpose, order]).generate_state(1, np.uint64)[0]
        told = self.orders[order]
        agent = PolicyAgent(self._policy, "policy", told)
        result = play_batch(agent, self.game, int(seed), games, told).result
        return TriedOrder(order, result, result.compliance.mean >= self.threshold)


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
    played: Sequence[TriedOrder]
    searches: Searches = field(default_factory=dict)

    @cached_property
    def finding(self) -> Finding:
        """What the orders tell together."""
        return conclude(self.player.orders, self.played, self.player.game.red_agent)

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
            "orders": [_as_json(one, player.orders) for one in self.played],
            "finding": self.finding.as_json(),
            "searches": self._searches_as_json(),
        }

    def _searches_as_json(self) -> dict[str, Any]:
        orders = self.player.orders
        strategies = {
            strategy: [[_as_json(one, orders) for one in search] for search in searches]
            for strategy, searches in self.searches.items()
        }
        return {"asked": list(SEARCHES_ASKED), "strategies": strategies} if strategies else {}


def _as_json(one: TriedOrder, orders: Orders) -> dict[str, Any]:
    result = one.result
    return {
        "workflow": orders.format(one.order),
        "mean": result.reward.mean,
        "half_width_95": result.reward.half_width,
        "compliance": result.compliance.mean,
        "compliance_true": result.compliance_true.mean,
        "is_compliant": one.is_compliant,
    }


def search_by_playing(
    player: OrderPlayer,
    strategy: StrategyName,
    config: SearchConfig,
    seed: int,
    asked: Sequence[int] = SEARCHES_ASKED,
) -> Iterator[TriedOrder]:
    """Searches, every trial a few games, and yields what it would hand over each time it is asked.

    Args:
        player: plays the orders.
        strategy: its name.
        config: of the strategy.
        seed: of the strategy and of the games.
        asked: numbers of trials, rising.
    """
    config = replace(config, strategy=strategy, n_workflows=max(asked))
    chooser = make_strategy(config, player.orders, threshold=player.threshold, seed=seed)
    trials = searched(chooser, lambda order, k: player.trial(order, seed, k), asked)
    for seen in trials:
        yield player.judge(recommend(player.orders, seen).order, seed)
