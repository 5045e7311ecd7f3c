"""The search's path: what was tried when, why, and how far it had come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate
from workflow_rl.ordersearch.strategies import Decision, Observation
from workflow_rl.report.rundata import RunData
from workflow_rl.runs.trial import Trial

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
    got: Estimate  # NaN while it is under way
    is_compliant: bool
    best: float  # highest reward of a compliant trial up to here, NaN before the first
    regret: float  # of the best up to here, by the landscape; NaN if that is not known


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
        seen, got = trial.observation, Estimate(math.nan)
        if seen is not None and trial.result is not None:
            got = Estimate.from_error(seen.value, trial.result.env_reward_error)
            if _is_better(seen, best):
                best, chosen = seen.value, trial.order
        steps.append(
            Step(
                trial=trial,
                workflow=run.orders.format(trial.order),
                why=reason_of(trial.decision),
                expected=Estimate.from_error(trial.decision.mean, trial.decision.deviation),
                got=got,
                is_compliant=seen is not None and seen.is_compliant,
                best=best,
                regret=_regret(run.landscape, chosen),
            )
        )
    return steps


def _is_better(seen: Observation, best: float) -> bool:
    return seen.is_compliant and (math.isnan(best) or seen.value > best)


def _regret(landscape: NDArray[np.float64] | None, chosen: int) -> float:
    """Returns how much the best order of all is truly better than the best one found so far."""
    if landscape is None or chosen < 0:
        return math.nan
    return float(np.nanmax(landscape) - landscape[chosen])
