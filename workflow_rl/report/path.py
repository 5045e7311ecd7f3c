"""The search's path: what was tried when, why, and how far it had come."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate
from workflow_rl.ordersearch.strategies import Observation
from workflow_rl.report.rundata import RunData, Tried

_PLAIN_REASONS: Final[Mapping[str, str]] = {
    "design": "one of the first picks, spread out over all orders before anything is fitted",
    "random": "drawn at random",
    "round-robin": "next in a list of orders that are far from each other",
    "exhaustive": "next in the list of all orders",
}


@dataclass(frozen=True)
class Step:
    """One trial on the path."""

    trial: Tried
    why: str
    expected: Estimate  # before it was tried; NaN where nothing was fitted
    got: Estimate  # NaN while it is under way
    is_compliant: bool
    best: float  # highest reward of a compliant trial up to here, NaN before the first
    regret: float  # of the best up to here, by the landscape; NaN if that is not known


def reason_of(trial: Tried) -> str:
    """Says in words why an order was picked."""
    if trial.reason in _PLAIN_REASONS:
        return _PLAIN_REASONS[trial.reason]
    chance = ""
    if not math.isnan(trial.compliance_chance):
        chance = f"; chance to comply {100 * trial.compliance_chance:.0f} %"
    if math.isnan(trial.mean):
        return f"too few trials complied to fit rewards: the one most likely to comply{chance}"
    known = f"believed {trial.mean:.2f} ± {trial.deviation:.2f}, upper bound {trial.ucb:.2f}"
    if trial.reason == "exploit":
        return f"highest believed reward of all ({known}{chance})"
    if trial.reason == "explore":
        return f"not believed to be the best, but it might be ({known}{chance})"
    return f"{trial.reason} ({known}{chance})"


def search_path(run: RunData) -> list[Step]:
    """Returns the trials in the order of decisions, each with the state of the search after it."""
    steps = []
    best, chosen = math.nan, -1
    for trial in run.trials:
        seen, got = trial.observation, Estimate(math.nan)
        if seen is not None and trial.result is not None:
            error = trial.result.get("env_reward_error")
            got = Estimate.from_error(seen.value, math.nan if error is None else float(error))
            if _is_better(seen, best):
                best, chosen = seen.value, trial.order
        steps.append(
            Step(
                trial=trial,
                why=reason_of(trial),
                expected=Estimate.from_error(trial.mean, trial.deviation),
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
