"""How much the order matters: rewards of different orders against rewards of equal ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_rl.estimates import between_and_within
from workflow_rl.ordersearch.loop import Done
from workflow_rl.train.loop import TrainResult
from workflow_rl.workflow.orders import classes_of_equals


@dataclass(frozen=True)
class OrderSpread:
    """How much rewards differ between orders, and between equals: what is only noise."""

    between: float  # standard deviation of the means of classes of equals
    within: float  # pooled standard deviation inside them, NaN without two equals
    classes: int
    equals: int  # observations beyond the first of their class


def spread_of(trials: Sequence[Done[TrainResult]], red_agent: str) -> OrderSpread:
    """Separates the effect of the order from noise, over compliant trials.

    Equal orders are as good as repeats of one.
    """
    classes = classes_of_equals(red_agent)
    groups: dict[int, list[float]] = {}
    for done in trials:
        if done.result.is_compliant:
            groups.setdefault(int(classes[done.trial.order]), []).append(done.result.env_reward)
    between, within = between_and_within(list(groups.values()))
    repeats = sum(len(values) - 1 for values in groups.values())
    return OrderSpread(between, within, classes=len(groups), equals=repeats)
