"""Orders compared without training any: one policy that follows them all plays each.

Of orders that can be listed that gives a landscape like the trained one, a seed being games of its
own; of more, a sample of them. Strategies can search by playing, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import GameConfig, SearchConfig
from workflow_rl.estimates import Estimate, Floats
from workflow_rl.evaluation.playing import Game, play_batch
from workflow_rl.evaluation.results import Cell
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.ordersearch.strategies import Observation, make_strategy
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.regret import searched
from workflow_rl.workflow.orders import Orders

SEARCHES_ASKED: Final = (20, 60, 200)  # trials after which a search by playing is asked
SEARCH_GAMES: Final = 50  # of a trial of such a search
_JUDGING_GAMES: Final = 1_000  # by which the order that it hands over is judged
_ORDERS, _TRIALS, _JUDGING = range(3)  # what games are for


@dataclass(frozen=True)
class PlayedOrder:
    """What a policy's games under one order gave."""

    order: int
    seed: int
    reward: Estimate
    compliance: float
    compliance_true: float

    def as_json(self, orders: Orders) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "workflow": orders.format(self.order),
            "mean": self.reward.mean,
            "half_width_95": self.reward.half_width,
            "compliance": self.compliance,
            "compliance_true": self.compliance_true,
        }


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
            game: its red agent, rule set and length.
            threshold: compliance that makes an order compliant.

        Raises:
            InvalidInputError: the policy cannot be told these orders.
        """
        self.name = name
        self.orders = orders
        self.game = game
        self.threshold = threshold
        self._policy = policy
        policy.read_order(orders[int(orders.nth(np.zeros(1, np.int64))[0])])

    def play(self, order: int, seed: int, games: int) -> PlayedOrder:
        """Plays so many games under one order."""
        return self._told(order, seed, self._cell(order, (_ORDERS, seed), games))

    def trial(self, order: int, seed: int, number: int) -> Observation:
        """Plays the few games of a search's trial."""
        cell = self._cell(order, (_TRIALS, seed, number), SEARCH_GAMES)
        told = self._told(order, seed, cell)
        complies = told.compliance >= self.threshold
        return Observation(order, told.reward.mean, told.compliance, complies)

    def judge(self, order: int, seed: int) -> PlayedOrder:
        """Plays games by which nothing was chosen."""
        return self._told(order, seed, self._cell(order, (_JUDGING, seed), _JUDGING_GAMES))

    def _cell(self, order: int, purpose: Sequence[int], games: int) -> Cell:
        """Plays games that are of this order alone: those of others are independent."""
        seed = np.random.SeedSequence([*purpose, order]).generate_state(1, np.uint64)[0]
        told = self.orders[order]
        game = Game(self.game.episode_length, self.game.red_agent, self.game.rules, int(seed), told)
        return play_batch(policy_agent(self._policy, "policy", told), game, games, logged=0)

    def _told(self, order: int, seed: int, cell: Cell) -> PlayedOrder:
        seen, true = (cell.mean_compliance(view) or 0.0 for view in ("observed", "true"))
        return PlayedOrder(order, seed, cell.estimate, seen, true)


def landscape_of(player: OrderPlayer, played: Sequence[PlayedOrder]) -> Landscape:
    """Returns the landscape of orders that were all played for the same seeds.

    Raises:
        InvalidInputError: an order is missing.
    """
    trials: dict[int, list[dict[str, Any]]] = {}
    for one in played:
        entry = one.as_json(player.orders) | {
            "env_reward": one.reward.mean,
            "env_reward_error": one.reward.error,
            "is_compliant": one.compliance >= player.threshold,
            "updates": 0,
        }
        trials.setdefault(one.seed, []).append(entry)
    game = player.game
    return Landscape.of_trials(
        game.red_agent, game.rules, player.threshold, trials, player.orders, player.name
    )


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
    for seen in searched(chooser, lambda order, k: player.trial(order, seed, k), asked):
        yield player.judge(recommend(player.orders, seen).order, seed)


def rank_agreement(one: Landscape, other: Landscape) -> float:
    """Returns the rank correlation (Spearman) of two landscapes' mean rewards.

    Equal orders share the mean of their class, so that only differences that can be real count.
    """
    a, b = (_ranks(_class_means(land, one)) for land in (one, other))
    return float(np.corrcoef(a, b)[0, 1])


def _class_means(land: Landscape, by: Landscape) -> Floats:
    """Returns (orders,) the mean reward of each order's class."""
    classes = np.unique(by.classes, return_inverse=True)[1]
    means = np.bincount(classes, land.reward.mean(axis=0)) / np.bincount(classes)
    return np.asarray(means[classes])


def _ranks(values: Floats) -> Floats:
    """Returns the rank of each value, that of ties their mean."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[group], np.float64)
