"""The trials of a search: which order was tried and why, how it ended, and their summary.

`trials.json` holds decisions and failures, a training's folder its outcome, and `scores.json` the
scores of the recommended policy; `summary.json` is derived from these.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from workflow_rl.config import RED_AGENTS, ExperimentConfig, GameConfig, stored
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import between_and_within
from workflow_rl.evaluation.behaviour import Behaviour
from workflow_rl.evaluation.pair_worth import PairWorth
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import Score
from workflow_rl.files import json_text, read_json, write_atomically, write_json
from workflow_rl.ordersearch.finding import Finding
from workflow_rl.ordersearch.recommendation import Recommendation
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.holding import Holding
from workflow_rl.runs.pool import Row
from workflow_rl.runs.store import SCORES_FILE, TRAININGS, TRIALS_FILE
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import TYPES, Orders, orders_of

_TOP: Final = 3  # candidates of a decision that its row lists
Status = Literal["running", "done", "failed"]


@dataclass(frozen=True)
class Trial:
    """One order tried: why it was picked, what its training starts from, how it ended."""

    number: int  # from 0, in the order of decisions
    order: int
    repeat: int  # how often this order was tried before
    decision: Decision
    start: str | None  # the training whose best policy this one starts from
    pick_seconds: float  # of deciding
    run_seconds: float  # of the run when the trial was noted last
    failure: str | None = None  # why it gave no result
    outcome: TrainOutcome | None = None  # of its training, once it is over

    @property
    def name(self) -> str:
        """The name of its training, in logs and folders."""
        return f"trial_{self.number:03d}"

    @property
    def status(self) -> Status:
        """Whether it is running, done or failed."""
        if self.outcome is not None:
            return "done"
        return "running" if self.failure is None else "failed"

    @property
    def tried(self) -> TriedOrder | None:
        """What the strategy learns from it; None unless it is done."""
        if self.outcome is None:
            return None
        found = self.outcome
        return TriedOrder(self.order, found.objective, found.is_compliant, found.by_attacker)

    def as_json(self) -> dict[str, Any]:
        """Returns the trial as plain data, without its outcome."""
        data: dict[str, Any] = {
            "trial": {"number": self.number, "order": self.order, "repeat": self.repeat},
            "decision": asdict(self.decision),
            "pick_seconds": self.pick_seconds,
            "start": self.start,
            "run_seconds": self.run_seconds,
        }
        if self.failure is not None:
            data["failed"] = self.failure
        return data

    @classmethod
    def from_json(cls, data: Any, orders: Orders) -> Self:
        """Returns the trial that `as_json` gave, NaN where null was written.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is not such data.
        """
        trial = data["trial"]
        return cls(
            number=int(trial["number"]),
            order=_order(trial["order"], orders),
            repeat=int(trial["repeat"]),
            decision=_decision(data["decision"], orders),
            start=data["start"],
            pick_seconds=float(data["pick_seconds"]),
            run_seconds=float(data["run_seconds"]),
            failure=data.get("failed"),
        )

    def with_outcome(self, run: Path) -> Self:
        """Returns the trial with the outcome that its folder in a run's directory holds.

        Raises:
            InvalidInputError: that is damaged, or of another trial.
        """
        folder = TrainingFolder(run / TRAININGS / self.name)
        if self.failure is not None or not folder.result.exists():
            return replace(self, outcome=None)
        outcome, _ = folder.load_result()
        if outcome.order != self.order:
            raise InvalidInputError(f"{folder.result} is of another order than {self.name}")
        found = replace(self, outcome=outcome)
        _ = found.tried  # raises if the outcome is none that a trial can give
        return found

    def decision_row(self, orders: Orders) -> Row:
        """Returns the trial's row of `gp_sampling_log.csv`, orders by their names."""
        decision = self.decision
        row: dict[str, Any] = {
            "trial": self.number,
            "workflow": orders.format(self.order),
            "reason": decision.reason,
            "ucb": decision.ucb,
            "mean": decision.mean,
            "std": decision.deviation,
            "compliance_chance": decision.compliance_chance,
            "score": decision.score,
            "pick_seconds": self.pick_seconds,
        }
        for i in range(_TOP):
            order, score = decision.top[i] if i < len(decision.top) else (None, "")
            row[f"top{i + 1}"] = "" if order is None else orders.format(order)
            row[f"top{i + 1}_score"] = score
        return row


def _order(value: Any, orders: Orders) -> int:
    order = int(value)
    if not orders.holds(order):
        raise ValueError(f"{order} is not the index of an order")
    return order


def _decision(data: dict[str, Any], orders: Orders) -> Decision:
    scores = {f.name: data[f.name] for f in fields(Decision) if f.type is float}
    return Decision(
        _order(data["order"], orders),
        str(data["reason"]),
        **{name: math.nan if score is None else float(score) for name, score in scores.items()},
        top=tuple((_order(order, orders), float(score)) for order, score in data["top"]),
    )


class TrialFile:
    """The trials of a run, on disk after every change."""

    def __init__(self, run: Path, orders: Orders, *, retry_failed: bool = False) -> None:
        """Reads what earlier attempts left in a run's directory.

        Args:
            run: the directory.
            orders: those that its search is of.
            retry_failed: whether failed trials are tried once more.

        Raises:
            InvalidInputError: the file, or the result of a training, is damaged.
        """
        self._path = run / TRIALS_FILE
        entries = read_json(self._path) if self._path.exists() else []
        try:
            if not isinstance(entries, list):
                raise TypeError("no list")
            trials = [Trial.from_json(entry, orders) for entry in entries]
            if [trial.number for trial in trials] != list(range(len(entries))):
                raise ValueError("trials are missing")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInputError(
                f"{self._path} is damaged: it is not a list of trials of this version"
            ) from error
        if retry_failed:
            trials = [replace(trial, failure=None) for trial in trials]
        self.trials = [trial.with_outcome(run) for trial in trials]  # by number
        # As they stand in the file, so that a change encodes only its own.
        self._lines = [json_text(trial.as_json()) for trial in self.trials]

    def put(self, trial: Trial) -> None:
        """Notes a new trial, or how one ended."""
        place = slice(trial.number, trial.number + 1)
        self.trials[place] = [trial]
        self._lines[place] = [json_text(trial.as_json())]
        write_atomically(self._path, "[\n" + ",\n".join(self._lines) + "\n]\n")


def with_status(trials: Sequence[Trial], status: Status) -> list[Trial]:
    """Returns the trials that are so far, in the order of decisions."""
    return [trial for trial in trials if trial.status == status]


def tried_in(trials: Sequence[Trial]) -> list[TriedOrder]:
    """Returns what the trials that are done tell of orders."""
    return [trial.tried for trial in trials if trial.tried is not None]


# --- their summary


@dataclass(frozen=True)
class HandedOver:
    """The policy that a search hands over: how it came about, and its scores."""

    trained_further: bool  # whether polishing gave it
    scores: tuple[Score, ...]  # against each red agent
    seconds: float  # of the run, up to its end
    worth: tuple[PairWorth, ...] = ()  # of pairs that matter, to it or to what it comes from
    responses: tuple[Result, ...] = ()  # against best responses to it, named by their files

    def result(self, game: GameConfig) -> Result:
        """Returns the policy's result in the game of the search."""
        against = [score.deterministic for score in self.scores]
        return Result.pooled(against, game.red_weights, game.red_agent)

    def behaviour(self, game: GameConfig) -> Behaviour | None:
        """Returns what the policy does in the game of the search; None in older runs."""
        known = [score.behaviour for score in self.scores if score.behaviour is not None]
        return Behaviour.mean(known, game.red_weights) if len(known) == len(self.scores) else None

    def holding(self, config: ExperimentConfig) -> Holding | None:
        """Returns against whom it holds; None where the search did not ask.

        Args:
            config: of the search.
        """
        if config.train.objective == "episodes" and not self.responses:
            return None
        acts = "sampled" if config.train.acts == "sampled" else "deterministic"
        met = zip(self.scores, config.game.red_weights, strict=True)
        attackers = tuple(getattr(score, acts) for score, weight in met if weight > 0)
        return Holding(attackers, self.responses, config.search.response_transitions)

    def save(self, run: Path) -> None:
        """Writes it into a run's directory."""
        lists = {
            "scores": [score.as_json() for score in self.scores],
            "worth": [one.as_json() for one in self.worth],
            "responses": [result.as_json() for result in self.responses],
        }
        data = vars(self) | lists
        if not self.responses:  # none were asked for
            del data["responses"]
        write_json(run / SCORES_FILE, data)

    @classmethod
    def load(cls, run: Path) -> Self:
        """Reads what a run's directory holds.

        Raises:
            InvalidInputError: it is missing or damaged.
        """
        path = run / SCORES_FILE
        data = read_json(path)
        try:
            scores = tuple(Score.from_json(score) for score in data["scores"])
            if tuple(score.red_agent for score in scores)[: len(RED_AGENTS)] != RED_AGENTS:
                raise ValueError("scores are missing")
            worth = tuple(PairWorth.from_json(one) for one in data.get("worth", ()))
            answers = tuple(map(Result.from_json, data.get("responses", ())))
            further, seconds = bool(data["trained_further"]), float(data["seconds"])
            return cls(further, scores, seconds, worth, answers)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{path} is damaged: remove it, and --resume makes it again"
            ) from error


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found."""

    path: Path
    trials: list[Trial]  # those that gave a result
    finding: Finding  # about orders
    recommendation: Recommendation
    polished: TrainOutcome | None
    handed_over: HandedOver
    transitions: int


@dataclass(frozen=True)
class OrderSpread:
    """How much rewards differ between orders, and between equals: what is only noise."""

    between: float  # standard deviation of the means of classes of equals
    within: float  # pooled standard deviation inside them, NaN without two equals
    classes: int
    equals: int  # observations beyond the first of their class


def spread_of(tried: Sequence[TriedOrder], red_agent: str, orders: Orders = TYPES) -> OrderSpread:
    """Separates the effect of the order from noise, over compliant trials.

    Trials of equal orders count as repeats of one order.
    """
    compliant = [one for one in tried if one.is_compliant]
    classes = orders.classes_of_equals(red_agent, [one.order for one in compliant])
    groups: dict[int, list[float]] = {}
    for number, one in zip(classes.tolist(), compliant, strict=True):
        groups.setdefault(number, []).append(one.value)
    between, within = between_and_within(list(groups.values()))
    repeats = sum(len(values) - 1 for values in groups.values())
    return OrderSpread(between, within, classes=len(groups), equals=repeats)


def summarise(
    config: ExperimentConfig, outcome: SearchOutcome, trials: Sequence[Trial]
) -> dict[str, Any]:
    """Returns what `summary.json` holds, derived from other files; `trials` include failed ones."""
    result, policy = outcome.handed_over.result(config.game), outcome.handed_over
    tried, orders = tried_in(outcome.trials), orders_of(config.train, config.game.network)
    holding = policy.holding(config)
    return {
        "rules": config.game.rules,
        "network": config.game.network.name,
        "reachability": config.game.network.reachability.value,
        "red_agent": config.game.red_agent,
        "finding": outcome.finding.as_json(),
        "units": stored(config.train)["units"],
        "required": list(config.train.require),
        "recommended": orders.format(outcome.recommendation.order),
        "recommendation": outcome.recommendation.as_json(),
        "policy_kind": config.handed_over,
        "policy_trained_further": policy.trained_further,
        "policy_env_reward": result.reward.mean,
        "policy_env_reward_half_width": result.reward.half_width,
        "policy_compliance": result.compliance.mean,
        "policy_compliance_true": result.compliance_true.mean,
        "policy_scores": [score.as_json() for score in policy.scores],
        "policy_score_games": config.search.score_games,
        **({} if holding is None else {"holding": holding.as_json()}),
        "compliant_workflows": sum(one.is_compliant for one in tried),
        "spread": asdict(spread_of(tried, config.game.red_agent, orders)),
        "workflows": len(tried),
        "failed": [
            {"workflow": orders.format(trial.order), "reason": trial.failure}
            for trial in with_status(trials, "failed")
        ],
        "seconds": policy.seconds,
        "transitions": outcome.transitions,
        "search_seconds": sum(trial.pick_seconds for trial in trials),
        "trials": [
            trial.outcome.as_json() | {"reason": trial.decision.reason}
            for trial in outcome.trials
            if trial.outcome is not None
        ],
        "polished": outcome.polished and outcome.polished.as_json(),
    }
