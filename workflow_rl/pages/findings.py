"""What a run found, derived from what is in its directory: the answer, the path, the cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.behaviour import Behaviour
from workflow_rl.evaluation.payoffs import Payoffs
from workflow_rl.evaluation.result import UNKNOWN, Result
from workflow_rl.evaluation.selection import Score
from workflow_rl.ordersearch.finding import Finding, conclude
from workflow_rl.ordersearch.recommendation import recommend
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.pages.rundata import RunData
from workflow_rl.pages.scores import GameScore, evaluated_scores, known_scores, shipped_scores
from workflow_rl.runs.answer import answer_of
from workflow_rl.runs.holding import BEST_RESPONSE, Holding
from workflow_rl.runs.trials import Trial, tried_in
from workflow_rl.workflow.orders import Indices, Orders

if TYPE_CHECKING:
    from workflow_rl.ordersearch.model import Posterior

HANDED_OVER: Final = "the policy handed over"  # its row among those of orders
_NEEDED: Final = 2  # compliant trials, to learn from them alone
_PLAIN_REASONS: Final[Mapping[str, str]] = {
    "design": "initial design, spread over all orders before the model is fitted",
    "random": "sampled at random",
    "round-robin": "next in a list of orders that are far from each other",
    "exhaustive": "next in the list of all orders",
    "local": "one swap or insertion from the best order so far",
    "halving": "in the better half so far and tried again; in the first round sampled at random",
}


@dataclass(frozen=True)
class Recommended:
    """The workflow to hand over, and its policy as measured."""

    order: int
    is_compliant: bool
    reason: str
    result: Result  # on held-out games; else of the training's last episodes, sampled
    scores: tuple[Score, ...] = ()  # on held-out games, against each red agent, and by hand
    behaviour: Behaviour | None = None  # what the policy does, in the game of the run
    holding: Holding | None = None  # against whom the policy holds, if the search asked


@dataclass(frozen=True)
class OrderBeliefs:
    """What the search's Gaussian process believes of every order's value."""

    orders: Indices  # (k,) those believed of: all that are allowed, or if too many those tried
    posterior: "Posterior"  # of their values
    trials: int  # it rests on
    only_compliant: bool  # whether those are the compliant ones; else all trials are used

    def of(self, order: int) -> Estimate:
        """Returns what is believed of one order."""
        place = int(np.searchsorted(self.orders, order))
        mean, deviation = self.posterior.mean[place], self.posterior.deviation[place]
        return Estimate.from_error(float(mean), float(deviation))


@dataclass(frozen=True)
class OrderRow:
    """One of the orders: what is believed of it and what was seen."""

    order: int
    workflow: str  # the same in words
    rank: int  # by belief, from 1
    believed: Estimate
    by_hand: Estimate  # mean over all attackers; NaN if it was not played
    tried: tuple[TriedOrder, ...]
    status: str  # compliant, below, failed, under way, interrupted or untried
    is_best: bool  # whether nothing is shown to be better
    is_equal: bool  # whether it is shown equal to the best within the margin

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
class Step:
    """One trial on the path of a search."""

    trial: Trial
    workflow: str  # the order tried, in words
    why: str
    expected: Estimate  # before it was tried; NaN where nothing was fitted
    best: float  # highest reward of a compliant trial up to here, NaN before the first
    regret: float  # of the best up to here, by the landscape; NaN if that is not known

    @property
    def got(self) -> Estimate:
        """What it gave; NaN while it is under way."""
        return UNKNOWN if self.trial.tried is None else self.trial.tried.result.reward

    @property
    def is_compliant(self) -> bool:
        """Whether it complied."""
        return self.trial.tried is not None and self.trial.tried.is_compliant


@dataclass(frozen=True)
class Cost:
    """A run's updates one after the other; (U,) each."""

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
    recommended: Recommended | None
    beliefs: OrderBeliefs | None
    orders: list[OrderRow]  # best first
    positions: NDArray[np.float64] | None  # (unit, position) by the clear pairs, if there are any
    path: list[Step]
    cost: Cost | None
    scores: list[GameScore]  # to compare the recommended policy with
    payoffs: Payoffs | None  # of orders, or of a population's rounds, against each attacker

    @property
    def best_tried(self) -> tuple[str, float] | None:
        """Of the orders in the matrix the best against its own worst attacker, and that score."""
        if self.payoffs is None:
            return None
        scores = zip(self.payoffs.rows, self.payoffs.worst.tolist(), strict=True)
        tried = [(name, score) for name, score in scores if name != HANDED_OVER]
        return max(tried, key=lambda row: row[1], default=None)


def find(run: RunData) -> Findings:
    """Derives all findings of a run."""
    finding, mine = answer_in(run)
    beliefs = fit_orders(run.orders, run.tried, () if mine is None else (mine.order,))
    return Findings(
        run=run,
        finding=finding,
        recommended=mine,
        beliefs=beliefs,
        orders=_order_rows(run, beliefs, finding),
        positions=_position_effects(run.orders, finding),
        path=search_path(run),
        cost=cost_of(run),
        scores=_scores(run, mine),
        payoffs=payoffs_in(run),
    )


def payoffs_in(run: RunData) -> Payoffs | None:
    """Returns who did how well against whom; None if no attackers were told apart."""
    if run.rounds:
        return Payoffs.of(run.rounds)
    rows: dict[str, dict[str, float]] = {}
    holding = None
    if run.policy is not None and run.config is not None:
        holding = run.policy.holding(run.config)
    if holding is not None and (holding.response is not None or len(holding.attackers) > 1):
        rows[HANDED_OVER] = {one.red_agent: one.reward.mean for one in holding.attackers}
    if holding is not None and holding.response is not None:
        rows[HANDED_OVER][BEST_RESPONSE] = holding.response.reward.mean
    for one in sorted(run.tried, key=lambda one: -one.value):
        scores = {result.red_agent: result.reward.mean for result in one.by_attacker}
        if len(scores) > 1:
            rows.setdefault(run.orders.format(one.order), scores)
    return Payoffs.of(rows) if rows else None


# --- the answer


def answer_in(run: RunData) -> tuple[Finding, Recommended | None]:
    """Returns what a run found about orders, so far, and the order it recommends, if any."""
    config, orders, seen = run.config, run.orders, run.tried
    if config is not None and seen:
        finding, chosen = answer_of(config, orders, seen, run.by_hand)
    else:
        finding = conclude(orders, seen, config.game.red_agent if config else "")
        if not seen:
            return finding, _trained(run)
        chosen = recommend(orders, seen, finding.best)
    if run.policy is not None and config is not None:
        finding = replace(finding, measured=run.policy.worth)
        result = run.policy.result(config.game)
        complies = result.compliance.mean >= config.train.compliance_threshold
        scores, does = run.policy.scores, run.policy.behaviour(config.game)
        holding = run.policy.holding(config)
        return finding, Recommended(
            chosen.order, complies, chosen.reason, result, scores, does, holding
        )
    outcomes = [t.outcome for t in run.trials if t.order == chosen.order and t.outcome is not None]
    best = max(outcomes, key=lambda outcome: (outcome.is_compliant, outcome.best.reward.mean))
    return finding, Recommended(chosen.order, best.is_compliant, chosen.reason, best.objective)


def _trained(run: RunData) -> Recommended | None:
    """Returns the workflow of a training of one."""
    if not run.is_search:
        found = run.trained
        if found is None or found.order is None:
            return None
        reason = "the workflow it was trained for"
        return Recommended(found.order, found.is_compliant, reason, found.objective)
    return None


def _scores(run: RunData, mine: Recommended | None) -> list[GameScore]:
    """Returns what others score in the run's game, those that played its own games first."""
    if run.config is None:
        return []
    game = run.config.game
    who, source = "by hand", "the same held-out games"
    untrained = [
        GameScore(who, game.rules, game.episode_length, score.greedy, source)
        for score in (mine.scores if mine else ())
        if score.red_agent == game.red_agent
    ]
    own = evaluated_scores(run.path, game)
    return own + untrained + shipped_scores(game) + known_scores(game)


# --- all orders


def fit_orders(
    orders: Orders, seen: Sequence[TriedOrder], besides: Sequence[int] = ()
) -> OrderBeliefs | None:
    """Fits the Gaussian process of the search to its compliant trials; None without any trial.

    With fewer than two compliant ones it is fitted to all.
    """
    if not seen:
        return None
    from workflow_rl.ordersearch.model import OrderGP

    compliant = [o for o in seen if o.is_compliant]
    only_compliant = len(compliant) >= _NEEDED
    used = compliant if only_compliant else seen
    tried = [o.order for o in seen]
    at = orders.listed() if orders.is_listable else np.unique([*tried, *besides])
    gp = OrderGP(orders, [o.order for o in used], [o.value for o in used])
    return OrderBeliefs(at, gp.posterior(at), len(used), only_compliant)


def _order_rows(run: RunData, beliefs: OrderBeliefs | None, finding: Finding) -> list[OrderRow]:
    if beliefs is None:
        return []
    by_order: dict[int, list[Trial]] = {}
    for trial in run.trials:
        by_order.setdefault(trial.order, []).append(trial)
    best, equals = set(finding.best), set(finding.equals)
    ranked = beliefs.orders[np.argsort(-beliefs.posterior.mean, kind="stable")].tolist()
    return [
        OrderRow(
            order=order,
            workflow=run.orders.format(order),
            rank=rank,
            believed=beliefs.of(order),
            by_hand=run.by_hand.reward(order),
            tried=tuple(tried_in(by_order.get(order, []))),
            status=_status(run, by_order.get(order, [])),
            is_best=order in best,
            is_equal=order in equals,
        )
        for rank, order in enumerate(ranked, 1)
    ]


def _status(run: RunData, trials: list[Trial]) -> str:
    """Says in a word or two what became of an order's trials."""
    if seen := tried_in(trials):
        return "compliant" if any(one.is_compliant for one in seen) else "below"
    if not trials:
        return "untried"
    if trials[-1].status == "failed":
        return "failed"
    return "under way" if run.is_under_way else "interrupted"


def _position_effects(orders: Orders, finding: Finding) -> NDArray[np.float64] | None:
    """Returns (unit, position) the mean reward of orders with the unit there, minus that of all.

    By the clear pairs alone: a place that none of them concerns has exactly 0. None without
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


# --- the path


def search_path(run: RunData) -> list[Step]:
    """Returns the trials in the order of decisions, each with the state of the search after it."""
    steps = []
    best = regret = math.nan
    for trial in run.trials:
        seen = trial.tried
        if seen is not None and seen.is_compliant and not seen.value <= best:
            best = seen.value
            if run.landscape is not None:
                regret = float(np.nanmax(run.landscape) - run.landscape[trial.order])
        steps.append(
            Step(
                trial=trial,
                workflow=run.orders.format(trial.order),
                why=reason_of(trial.decision),
                expected=Estimate.from_error(trial.decision.mean, trial.decision.deviation),
                best=best,
                regret=regret,
            )
        )
    return steps


def reason_of(why: Decision) -> str:
    """Says in words why an order was picked."""
    if why.reason in _PLAIN_REASONS:
        return _PLAIN_REASONS[why.reason]
    chance = ""
    if not math.isnan(why.compliance_chance):
        chance = f"; probability of compliance {100 * why.compliance_chance:.0f} %"
    if math.isnan(why.mean):
        return f"too few compliant trials to fit rewards: the most likely to comply{chance}"
    meaning = {
        "exploit": "highest predicted reward",
        "explore": "highest acquisition score, though not the highest predicted reward",
    }.get(why.reason, why.reason)
    known = f"predicted {why.mean:.2f} ± {why.deviation:.2f}, upper bound {why.ucb:.2f}"
    return f"{meaning} ({known}{chance})"


# --- the cost


def cost_of(run: RunData) -> Cost | None:
    """Returns what a run has cost so far; None before its first update."""
    if not any(len(curve) for curve in run.curves):
        return None

    def joined(name: str) -> NDArray[np.float64]:
        return np.concatenate([curve.columns[name] for curve in run.curves])

    seconds = np.concatenate([curve.seconds for curve in run.curves])
    played = np.concatenate([curve.played for curve in run.curves])
    return Cost(
        clock=seconds.cumsum(),
        speed=np.divide(played, seconds, out=np.full(len(played), np.nan), where=seconds > 0),
        cpu_percent=joined("cpu_percent"),
        rss_mb=joined("rss_mb"),
        transitions=float(played.sum()),
        simulate_seconds=float(np.nansum(joined("simulate_seconds"))),
        infer_seconds=float(np.nansum(joined("infer_seconds"))),
        update_seconds=float(np.nansum(joined("update_seconds"))),
    )
