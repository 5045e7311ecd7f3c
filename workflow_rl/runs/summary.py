"""What a search found, in figures: the outcome, how much the order matters, `summary.json`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workflow_rl.config import ExperimentConfig, stored
from workflow_rl.estimates import between_and_within
from workflow_rl.evaluation.scoring import Score, Worth
from workflow_rl.ordersearch.finding import Finding
from workflow_rl.ordersearch.recommend import Recommendation
from workflow_rl.runs.trial import Trial, with_status
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import TYPES, Orders, orders_of


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found."""

    path: Path
    trials: list[Trial]  # those that gave a result
    finding: Finding  # about orders
    recommendation: Recommendation  # one order, as an example of those that are equal
    polished: TrainResult | None
    trained_further: bool  # whether that gave the policy that is handed over
    scores: tuple[Score, ...]  # of the policy that is handed over, against each red agent
    seconds: float
    transitions: int

    def worth(self, config: ExperimentConfig) -> Worth:
        """Returns what the policy that is handed over is worth in the game of the search."""
        return Worth.of(self.scores, config.game.red_weights, config.search.score_games)


@dataclass(frozen=True)
class OrderSpread:
    """How much rewards differ between orders, and between equals: what is only noise."""

    between: float  # standard deviation of the means of classes of equals
    within: float  # pooled standard deviation inside them, NaN without two equals
    classes: int
    equals: int  # observations beyond the first of their class


def spread_of(trials: Sequence[Trial], red_agent: str, orders: Orders = TYPES) -> OrderSpread:
    """Separates the effect of the order from noise, over compliant trials.

    Equal orders are as good as repeats of one.
    """
    compliant = [
        (trial.order, trial.result.env_reward)
        for trial in trials
        if trial.result is not None and trial.result.is_compliant
    ]
    classes = orders.classes_of_equals(red_agent, [order for order, _ in compliant])
    groups: dict[int, list[float]] = {}
    for number, (_, reward) in zip(classes.tolist(), compliant, strict=True):
        groups.setdefault(number, []).append(reward)
    between, within = between_and_within(list(groups.values()))
    repeats = sum(len(values) - 1 for values in groups.values())
    return OrderSpread(between, within, classes=len(groups), equals=repeats)


def summarise(
    config: ExperimentConfig,
    outcome: SearchOutcome,
    trials: Sequence[Trial],
) -> dict[str, Any]:
    """Returns what `summary.json` holds.

    Args:
        config: of the search.
        outcome: what it found.
        trials: all, failed ones included.
    """
    worth = outcome.worth(config)
    done = [(trial, trial.result) for trial in outcome.trials if trial.result is not None]
    orders = orders_of(config.train)
    return {
        "rules": config.game.rules,
        "red_agent": config.game.red_agent,
        "finding": outcome.finding.as_json(),
        "units": stored(config.train)["units"],
        "required": list(config.train.require),
        "recommended": orders.format(outcome.recommendation.order),
        "recommendation": asdict(outcome.recommendation),
        "policy_kind": config.handed_over,
        "policy_trained_further": outcome.trained_further,
        "policy_env_reward": worth.reward.mean,
        "policy_env_reward_half_width": worth.reward.half_width,
        "policy_compliance": worth.compliance,
        "policy_compliance_true": worth.compliance_true,
        "policy_scores": [score.as_json() for score in outcome.scores],
        "policy_score_games": config.search.score_games,
        "compliant_workflows": sum(result.is_compliant for _, result in done),
        "spread": asdict(spread_of(outcome.trials, config.game.red_agent, orders)),
        "workflows": len(done),
        "failed": [
            {"workflow": orders.format(trial.order), "reason": trial.failure}
            for trial in with_status(trials, "failed")
        ],
        "seconds": outcome.seconds,
        "transitions": outcome.transitions,
        "search_seconds": sum(trial.pick_seconds for trial in trials),
        "trials": [
            asdict(result)
            | {"workflow": orders.format(trial.order), "reason": trial.decision.reason}
            for trial, result in done
        ],
        "polished": asdict(outcome.polished) if outcome.polished else None,
    }
