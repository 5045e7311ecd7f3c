"""The course of a run: what was tried when and why, how far it had come, what it cost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import UNKNOWN
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.report.rundata import RunData
from workflow_rl.runs.trials import Trial

_PLAIN_REASONS: Final[Mapping[str, str]] = {
    "design": "one of the first picks, spread out over all orders before anything is fitted",
    "random": "drawn at random",
    "round-robin": "next in a list of orders that are far from each other",
    "exhaustive": "next in the list of all orders",
    "local": "one swap or insertion from the best order so far",
    "halving": "one of the better half so far, tried once more; at first one drawn at random",
}


@dataclass(frozen=True)
class Step:
    """One trial on the path."""

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


def reason_of(why: Decision) -> str:
    """Says in words why an order was picked."""
    if why.reason in _PLAIN_REASONS:
        return _PLAIN_REASONS[why.reason]
    chance = ""
    if not math.isnan(why.compliance_chance):
        chance = f"; chance to comply {100 * why.compliance_chance:.0f} %"
    if math.isnan(why.mean):
        return f"too few trials complied to fit rewards: the one most likely to comply{chance}"
    known = f"believed {why.mean:.2f} ± {why.deviation:.2f}, upper bound {why.ucb:.2f}"
    if why.reason == "exploit":
        return f"highest believed reward of all ({known}{chance})"
    if why.reason == "explore":
        return f"not believed to be the best, but it might be ({known}{chance})"
    return f"{why.reason} ({known}{chance})"


def search_path(run: RunData) -> list[Step]:
    """Returns the trials in the order of decisions, each with the state of the search after it."""
    steps = []
    best, chosen = math.nan, -1
    for trial in run.trials:
        seen = trial.tried
        if seen is not None and _is_better(seen, best):
            best, chosen = seen.value, trial.order
        steps.append(
            Step(
                trial=trial,
                workflow=run.orders.format(trial.order),
                why=reason_of(trial.decision),
                expected=Estimate.from_error(trial.decision.mean, trial.decision.deviation),
                best=best,
                regret=_regret(run.landscape, chosen),
            )
        )
    return steps


def _is_better(seen: TriedOrder, best: float) -> bool:
    return seen.is_compliant and (math.isnan(best) or seen.value > best)


def _regret(landscape: NDArray[np.float64] | None, chosen: int) -> float:
    """Returns how much the best order of all is truly better than the best one found so far."""
    if landscape is None or chosen < 0:
        return math.nan
    return float(np.nanmax(landscape) - landscape[chosen])


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
