"""What a run found, derived from what is in its directory."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.scoring import Score, Worth
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.report.beliefs import OrderBeliefs, fit_orders
from workflow_rl.report.path import Step, search_path
from workflow_rl.report.rundata import RunData
from workflow_rl.report.scores import GameScore, evaluated_scores, known_scores, shipped_scores
from workflow_rl.runs.trial import Trial
from workflow_rl.workflow.orders import Orders


@dataclass(frozen=True)
class Recommended:
    """The workflow to hand over, and its policy as measured."""

    order: int
    is_final: bool  # False: the search has not come to its end
    is_compliant: bool
    reason: str
    reward: Estimate  # on fresh games; else of the training's last episodes, drawing its actions
    episodes: int  # behind it
    compliance: float
    compliance_true: float
    polished: bool  # whether those are of the further training after the search
    fresh: tuple[Score, ...] = ()  # on fresh games, against each red agent


@dataclass(frozen=True)
class OrderRow:
    """One of the orders: what is believed of it and what was seen."""

    order: int
    workflow: str  # the same in words
    rank: int  # by belief, from 1
    believed: Estimate
    rewards: tuple[float, ...]  # of its trials
    compliance: float  # mean over its trials, NaN if there is none
    status: str  # compliant, below, failed, under way, interrupted or untried
    is_equal: bool  # whether it is among the best as far as is known, which are equal


@dataclass(frozen=True)
class Cost:
    """A run's updates one after the other; (U,) each."""

    training: list[str]
    clock: NDArray[np.float64]  # seconds of training up to each update, all processes added up
    speed: NDArray[np.float64]  # transitions per second of training
    cpu_percent: NDArray[np.float64]  # of one core
    rss_mb: NDArray[np.float64]
    transitions: float  # of all updates
    simulate_seconds: float
    infer_seconds: float  # choosing actions and judging them
    update_seconds: float

    @property
    def seconds(self) -> float:
        """Seconds of training, all processes added up."""
        return self.simulate_seconds + self.infer_seconds + self.update_seconds


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
    beliefs = fit_orders(run.orders, run.seen)
    finding = conclude(run.orders, run.seen, run.config.game.red_agent if run.config else "")
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
    if not run.seen:
        return None
    try:
        order = int(run.summary["recommendation"]["order"])
        reason = str(run.summary["recommendation"]["reason"])
    except (KeyError, TypeError, ValueError):
        so_far = recommend(run.orders, run.seen, finding.equals)
        order, reason = so_far.order, so_far.reason
    results = [asdict(t.result) for t in run.trials if t.order == order and t.result is not None]
    if not results:
        return None
    result = max(results, key=lambda r: (r["is_compliant"], _number(r, "best_env_reward")))
    polished = run.summary.get("polished")
    if isinstance(polished, dict) and polished.get("best_env_reward") == run.summary.get(
        "policy_env_reward"  # as runs of earlier versions tell that it was handed over
    ):
        mine = _recommended(order, polished, bool(run.summary), reason, polished=True)
    else:
        mine = _recommended(order, result, bool(run.summary), reason)
    return _with_fresh_scores(run, mine)


def _with_fresh_scores(run: RunData, mine: Recommended) -> Recommended:
    """Returns the recommendation as scored on fresh games, where the run tells of such."""
    try:
        fresh = tuple(Score.from_json(score) for score in run.summary["policy_scores"])
        games = int(run.summary["policy_score_games"])
        assert run.config is not None
        worth = Worth.of(fresh, run.config.game.red_weights, games)
    except (KeyError, TypeError, ValueError, AssertionError):  # a run of an earlier version
        return mine
    return replace(
        mine,
        reward=worth.reward,
        episodes=worth.games,
        compliance=worth.compliance,
        compliance_true=worth.compliance_true,
        is_compliant=worth.compliance >= run.config.train.compliance_threshold,
        fresh=fresh,
    )


def _trained(run: RunData) -> Recommended | None:
    """Returns the result of a training of one workflow."""
    try:
        order = run.orders.index(run.summary["workflow"])
        return _recommended(order, run.summary, True, "the workflow it was trained for")
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _recommended(
    order: int, result: Mapping[str, Any], is_final: bool, reason: str, *, polished: bool = False
) -> Recommended:
    return Recommended(
        order=order,
        is_final=is_final,
        is_compliant=bool(result.get("is_compliant")),
        reason=reason,
        reward=Estimate.from_error(
            _number(result, "env_reward"), _number(result, "env_reward_error")
        ),
        episodes=int(np.nan_to_num(_number(result, "objective_episodes"))),
        compliance=_number(result, "compliance"),
        compliance_true=_number(result, "compliance_true"),
        polished=polished,
    )


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, (int, float)) else math.nan


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
        seen = [o for trial in tried if (o := trial.observation) is not None]
        rows.append(
            OrderRow(
                order=order,
                workflow=run.orders.format(order),
                rank=rank + 1,
                believed=beliefs.of(order),
                rewards=tuple(o.value for o in seen),
                compliance=sum(o.compliance for o in seen) / len(seen) if seen else math.nan,
                status=_status(run, tried),
                is_equal=order in equals,
            )
        )
    return rows


def _status(run: RunData, tried: list[Trial]) -> str:
    """Says in a word or two what became of an order's trials."""
    seen = [o for trial in tried if (o := trial.observation) is not None]
    if seen:
        return "compliant" if any(o.is_compliant for o in seen) else "below"
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
    played = game.red_agent, game.episode_length
    own = [s for s in evaluated_scores(run.path) if (s.red_agent, s.steps) == played]
    untrained = [
        GameScore(
            "repairing by the order, untrained",
            game.rules,
            *played,
            score.untrained,
            "the same fresh games",
        )
        for score in (mine.fresh if mine else ())
        if score.red_agent == game.red_agent
    ]
    return own + untrained + [*shipped_scores(*played, game.rules), *known_scores(*played)]


def cost_of(run: RunData) -> Cost | None:
    """Returns what a run has cost so far; None before its first update."""
    if not sum(len(curve) for curve in run.curves):
        return None

    def joined(name: str) -> NDArray[np.float64]:
        return np.concatenate([curve.columns[name] for curve in run.curves])

    seconds = np.concatenate([curve.seconds for curve in run.curves])
    played = np.concatenate([curve.played for curve in run.curves])
    return Cost(
        training=[curve.name for curve in run.curves for _ in range(len(curve))],
        clock=seconds.cumsum(),
        speed=np.divide(played, seconds, out=np.full(len(played), np.nan), where=seconds > 0),
        cpu_percent=joined("cpu_percent"),
        rss_mb=joined("rss_mb"),
        transitions=float(played.sum()),
        simulate_seconds=float(np.nansum(joined("simulate_seconds"))),
        infer_seconds=float(np.nansum(joined("infer_seconds"))),
        update_seconds=float(np.nansum(joined("update_seconds"))),
    )
