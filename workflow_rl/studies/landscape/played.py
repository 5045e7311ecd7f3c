"""Orders compared without training any: one policy that follows them all plays each.

Of orders that can be listed that gives a landscape like the trained one, a seed being games of its
own; of more, a sample of them (`sample`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.playing import Game, play_batch
from workflow_rl.evaluation.results import Cell
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.workflow.orders import Orders

_TRIAL_GAMES: Final = 50  # of a trial of a search by playing
_JUDGING_GAMES: Final = 1_000  # by which the order that such a search hands over is judged
_ORDERS, _TRIALS, _JUDGING = range(3)  # what games are for


@dataclass(frozen=True)
class PlayedOrder:
    """What a policy's games under one order gave."""

    order: int
    seed: int
    reward: Estimate
    compliance: float
    compliance_true: float
    is_compliant: bool

    @property
    def observation(self) -> Observation:
        """What a search sees of it."""
        return Observation(self.order, self.reward.mean, self.compliance, self.is_compliant)

    def as_json(self, orders: Orders) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "workflow": orders.format(self.order),
            "mean": self.reward.mean,
            "half_width_95": self.reward.half_width,
            "compliance": self.compliance,
            "compliance_true": self.compliance_true,
            "is_compliant": self.is_compliant,
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

    def play(self, order: int, seed: int, games: int) -> PlayedOrder:
        """Plays so many games under one order."""
        return self._told(order, seed, self._cell(order, (_ORDERS, seed), games))

    def trial(self, order: int, seed: int, number: int) -> PlayedOrder:
        """Plays the few games of a search's trial."""
        return self._told(order, seed, self._cell(order, (_TRIALS, seed, number), _TRIAL_GAMES))

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
        seen, true = (float(cell.compliance[view].mean()) for view in ("observed", "true"))
        complies = seen >= self.threshold
        return PlayedOrder(order, seed, cell.estimate, seen, true, complies)


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
            "updates": 0,
        }
        trials.setdefault(one.seed, []).append(entry)
    game = player.game
    return Landscape.of_trials(
        game.red_agent, game.rules, player.threshold, trials, player.orders, player.name
    )
