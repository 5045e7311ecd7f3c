"""What a search answers: its finding, what orders score by hand, and the order it recommends.

A recommended order is followed by people, too. So of the orders that nothing is shown to be better
than, the one is recommended that scores best by hand: played by the agent `greedy`, which follows
rules that a person can follow, on average over all attackers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.config import MIXED, ExperimentConfig, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import UNKNOWN, Result
from workflow_rl.evaluation.selection import CHOOSING_SEED
from workflow_rl.files import read_json, write_json
from workflow_rl.ordersearch.finding import FEWEST, Finding, conclude, space_of_best
from workflow_rl.ordersearch.recommendation import Recommendation, recommend
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.runs.store import BY_HAND_FILE
from workflow_rl.workflow.orders import NUM_ORDERS, Orders

BY_HAND_GAMES: Final = 400  # of each order against each attacker, at most
_MOST_SCORED: Final = NUM_ORDERS  # orders that are all scored; of more, those tried and ...
_SAMPLE: Final = 60  # ... so many drawn from the best


@dataclass(frozen=True)
class ByHand:
    """What orders score by hand, against each attacker in the game of a search."""

    results: Mapping[int, tuple[Result, ...]]  # by the order

    def reward(self, order: int) -> Estimate:
        """Returns the mean reward of an order over the attackers; NaN if it was not played."""
        against = self.results.get(order)
        if not against:
            return UNKNOWN
        return Result.pooled(against, [1 / len(against)] * len(against), MIXED).reward

    def save(self, run: Path, orders: Orders) -> None:
        """Writes it into a run's directory."""
        rows = {
            orders.format(order): [result.as_json() for result in against]
            for order, against in self.results.items()
        }
        write_json(run / BY_HAND_FILE, {"orders": rows})

    @classmethod
    def load(cls, run: Path, orders: Orders) -> Self:
        """Reads what a run's directory holds, which may be nothing yet.

        Raises:
            InvalidInputError: it is damaged.
        """
        path = run / BY_HAND_FILE
        if not path.exists():
            return cls({})
        data = read_json(path)
        try:
            return cls(
                {
                    orders.index(name): tuple(map(Result.from_json, against))
                    for name, against in data["orders"].items()
                }
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInputError(
                f"{path} is damaged: remove it, and --resume makes it again"
            ) from error


def score_by_hand(
    run: Path, config: ExperimentConfig, orders: Orders, seen: Sequence[TriedOrder]
) -> ByHand:
    """Returns what the orders of a search score by hand; plays those that are not yet in its file.

    All orders are played if there are at most 120; of more, those that complied and a sample of
    the best. With too few trials to compare orders, none is.
    """
    known = dict(ByHand.load(run, orders).results)
    finding = conclude(orders, seen, config.game.red_agent)
    games = min(BY_HAND_GAMES, config.search.score_games)
    missing = [order for order in _asked(orders, finding, seen) if order not in known]
    for order in missing:
        known[order] = tuple(_played(orders, order, config.game, games))
    found = ByHand(known)
    if missing:
        found.save(run, orders)
    return found


def _asked(orders: Orders, finding: Finding, seen: Sequence[TriedOrder]) -> list[int]:
    if finding.compliant < FEWEST or orders.count == 1:
        return []
    if orders.count <= _MOST_SCORED:
        return [int(order) for order in orders.listed()]
    drawn = space_of_best(orders, finding).draw(np.random.default_rng(CHOOSING_SEED), _SAMPLE)
    return list(dict.fromkeys([*(o.order for o in seen if o.is_compliant), *drawn.tolist()]))


def _played(orders: Orders, order: int, game: GameConfig, games: int) -> Iterator[Result]:
    """Plays an order against each attacker; compliance is not judged, which halves the time."""
    agent = GreedyAgent(orders[order], network=game.network)
    for attacker in (red for red in game.scored_reds if red != "sleep"):
        against = game.changed(red_agent=attacker)
        yield play_batch(agent, against, CHOOSING_SEED, games).result


def answer_of(
    config: ExperimentConfig, orders: Orders, seen: Sequence[TriedOrder], by_hand: ByHand
) -> tuple[Finding, Recommendation]:
    """Returns what trials found, and the order to hand over.

    Where the policy that is handed over comes from a trial, it is an order that was tried.
    """
    finding = conclude(orders, seen, config.game.red_agent)
    complied = {one.order for one in seen if one.is_compliant}
    failed = {one.order for one in seen} - complied
    best = set(finding.best)
    space = space_of_best(orders, finding)
    is_sampled = not orders.is_listable and space.count == finding.best_orders
    scores = {
        order: mean
        for order in by_hand.results
        if order not in failed
        and (order in complied or config.follows_any)
        and (order in best or (is_sampled and space.holds(order)))
        and not math.isnan(mean := by_hand.reward(order).mean)
    }
    return finding, recommend(orders, seen, finding.best, scores)
