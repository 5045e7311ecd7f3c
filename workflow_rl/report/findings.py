"""What a run found, derived from what is in its directory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate, Floats
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.scoring import Score
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.report.course import Cost, Step, cost_of, search_path
from workflow_rl.report.rundata import RunData
from workflow_rl.report.scores import GameScore, evaluated_scores, known_scores, shipped_scores
from workflow_rl.runs.trials import Trial, tried_in
from workflow_rl.workflow.orders import Indices, Orders

_NEEDED: Final = 2  # compliant trials, to learn from them alone


@dataclass(frozen=True)
class Recommended:
    """The workflow to hand over, and its policy as measured."""

    order: int
    is_final: bool  # False: the search has not come to its end
    is_compliant: bool
    reason: str
    result: Result  # on fresh games; else of the training's last episodes, drawing its actions
    scores: tuple[Score, ...] = ()  # on fresh games, against each red agent


@dataclass(frozen=True)
class OrderRow:
    """One of the orders: what is believed of it and what was seen."""

    order: int
    workflow: str  # the same in words
    rank: int  # by belief, from 1
    believed: Estimate
    tried: tuple[TriedOrder, ...]
    status: str  # compliant, below, failed, under way, interrupted or untried
    is_equal: bool  # whether it is among the best as far as is known, which are equal

    @property
    def rewards(self) -> tuple[float, ...]:
        """Of its trials."""
        return tuple(one.value for one in self.tried)

    @property
    def compliance(self) -> float:
        """Mean over its trials, NaN if there is none."""
        if not self.tried:
            return math.nan
        return sum(one.compliance for one in self.tried) / len(self.tried)


@dataclass(frozen=True)
class OrderBeliefs:
    """What the search's Gaussian process believes of every order's value."""

    orders: Indices  # (k,) those believed of: all that are allowed, or if too many those tried
    mean: Floats  # (k,)
    deviation: Floats  # (k,)
    noise: float  # standard deviation of a trial around its order's value
    lengthscale: float  # pairs ordered differently
    trials: int  # it rests on
    only_compliant: bool  # whether those are the compliant ones; else all trials are used

    def of(self, order: int) -> Estimate:
        """Returns what is believed of one order."""
        place = int(np.searchsorted(self.orders, order))
        return Estimate.from_error(float(self.mean[place]), float(self.deviation[place]))


@dataclass(frozen=True)
class Findings:
    """Everything the report says of a run."""

    run: RunData
    finding: Finding  # about orders
    recommended: Recommended | None  # one order, as an example of those that are equal
    beliefs: OrderBeliefs | None
    orders: list[OrderRow]  # best first
    positions: NDArray[np.float64] | None  # (unit, position) by the clear pairs, if there are any
    path: list[Step]
    cost: Cost | None
    scores: list[GameScore]  # to set the recommended policy beside


def find(run: RunData) -> Findings:
    """Derives all findings of a run."""
    beliefs = fit_orders(run.orders, run.tried)
    finding = conclude(run.orders, run.tried, run.config.game.red_agent if run.config else "")
    mine = recommended_of(run, finding)
    return Findings(
        run=run,
        finding=finding,
        recommended=mine,
        beliefs=beliefs,
        orders=_order_rows(run, beliefs, finding),
        positions=position_effects(run.orders, finding),
        path=search_path(run),
        cost=cost_of(run),
        scores=_scores(run, mine),
    )


def position_effects(orders: Orders, finding: Finding) -> NDArray[np.float64] | None:
    """Returns (unit, position) what the orders with the unit there are worth over the mean of all.

    By the clear pairs alone: a place that none of them concerns is worth exactly 0. None without
    any, or where there are too many orders to list; NaN where no allowed order has the unit there.
    """
    if not finding.clear or not orders.is_listable:
        return None
    names, places = orders.units.names, orders.positions(orders.listed())
    worth = np.zeros(orders.count)
    for effect in finding.clear:
        first, second = names.index(effect.first), names.index(effect.second)
        worth += effect.worth.mean * (places[:, first] < places[:, second])
    found = np.full((orders.n, orders.n), np.nan)
    for unit in range(orders.n):
        for place in np.unique(places[:, unit]).tolist():
            found[unit, place] = worth[places[:, unit] == place].mean() - worth.mean()
    return found


def recommended_of(run: RunData, finding: Finding) -> Recommended | None:
    """Returns the recommendation of a search, or of what it has seen so far; None without any."""
    if not run.is_search:
        return _trained(run)
    if not run.tried:
        return None
    chosen = recommend(run.orders, run.tried, finding.equals)
    if run.policy is not None and run.config is not None:
        result = run.policy.result(run.config.game)
        complies = result.compliance.mean >= run.config.train.compliance_threshold
        return Recommended(
            chosen.order, run.is_finished, complies, chosen.reason, result, run.policy.scores
        )
    outcomes = [t.outcome for t in run.trials if t.order == chosen.order and t.outcome is not None]
    best = max(outcomes, key=lambda outcome: (outcome.is_compliant, outcome.best.reward.mean))
    return Recommended(
        chosen.order, run.is_finished, best.is_compliant, chosen.reason, best.objective
    )


def _trained(run: RunData) -> Recommended | None:
    """Returns the result of a training of one workflow."""
    found = run.trained
    if found is None or found.order is None:
        return None
    reason = "the workflow it was trained for"
    return Recommended(found.order, True, found.is_compliant, reason, found.objective)


def _order_rows(run: RunData, beliefs: OrderBeliefs | None, finding: Finding) -> list[OrderRow]:
    if beliefs is None:
        return []
    by_order: dict[int, list[Trial]] = {}
    for trial in run.trials:
        by_order.setdefault(trial.order, []).append(trial)
    rows, equals = [], set(finding.equals)
    for rank, place in enumerate(np.argsort(-beliefs.mean, kind="stable").tolist()):
        order = int(beliefs.orders[place])
        tried = by_order.get(order, [])
        rows.append(
            OrderRow(
                order=order,
                workflow=run.orders.format(order),
                rank=rank + 1,
                believed=beliefs.of(order),
                tried=tuple(tried_in(tried)),
                status=_status(run, tried),
                is_equal=order in equals,
            )
        )
    return rows


def _status(run: RunData, tried: list[Trial]) -> str:
    """Says in a word or two what became of an order's trials."""
    if seen := tried_in(tried):
        return "compliant" if any(one.is_compliant for one in seen) else "below"
    if not tried:
        return "untried"
    if tried[-1].status == "failed":
        return "failed"
    return "under way" if run.is_under_way else "interrupted"


def _scores(run: RunData, mine: Recommended | None) -> list[GameScore]:
    """Returns what others score in the run's game, those that played its own games first."""
    if run.config is None:
        return []
    game = run.config.game
    untrained = [
        GameScore(
            "repairing by the order, untrained",
            game.rules,
            game.episode_length,
            score.greedy,
            "the same fresh games",
        )
        for score in (mine.scores if mine else ())
        if score.red_agent == game.red_agent
    ]
    own = evaluated_scores(run.path, game)
    return own + untrained + shipped_scores(game) + known_scores(game)


def fit_orders(orders: Orders, seen: Sequence[TriedOrder]) -> OrderBeliefs | None:
    """Fits the Gaussian process of the search to its trials; None without any."""
    used = _worth_learning_from(seen)
    if not used:
        return None
    from workflow_rl.ordersearch.model import OrderGP

    at = orders.listed() if orders.is_listable else np.unique([o.order for o in seen])
    belief = OrderGP(orders, [o.order for o in used], [o.value for o in used]).posterior(at)
    return OrderBeliefs(
        orders=at,
        mean=belief.mean,
        deviation=belief.deviation,
        noise=belief.noise,
        lengthscale=belief.lengthscale,
        trials=len(used),
        only_compliant=sum(o.is_compliant for o in seen) >= _NEEDED,
    )


def _worth_learning_from(seen: Sequence[TriedOrder]) -> list[TriedOrder]:
    """Returns the compliant trials, as the search does; with fewer than two of those, all."""
    compliant = [o for o in seen if o.is_compliant]
    return compliant if len(compliant) >= _NEEDED else list(seen)
