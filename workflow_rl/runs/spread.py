"""How much the order matters: rewards of different orders against rewards of equal ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_rl.ordersearch.loop import Done
from workflow_rl.train.loop import TrainResult
from workflow_rl.workflow.orders import classes_of_equals


@dataclass(frozen=True)
class Spread:
    """How much rewards differ between orders, and between equals: what is only noise."""

    between: float  # standard deviation of the means of classes of equals
    within: float  # pooled standard deviation inside them, NaN without two equals
    classes: int
    equals: int  # observations beyond the first of their class


def spread_of(trials: Sequence[Done[TrainResult]], red_agent: str) -> Spread:
    """Separates the effect of the order from noise, over compliant trials.

    Equal orders are as good as repeats of one.
    """
    classes = classes_of_equals(red_agent)
    groups: dict[int, list[float]] = {}
    for done in trials:
        if done.result.is_compliant:
            groups.setdefault(int(classes[done.trial.order]), []).append(done.result.env_reward)
    means = np.array([np.mean(values) for values in groups.values()])
    freedom = sum(len(values) - 1 for values in groups.values())
    squares = sum(float(np.sum((np.array(v) - np.mean(v)) ** 2)) for v in groups.values())
    return Spread(
        between=float(means.std(ddof=1)) if len(means) > 1 else math.nan,
        within=math.sqrt(squares / freedom) if freedom else math.nan,
        classes=len(groups),
        equals=freedom,
    )
