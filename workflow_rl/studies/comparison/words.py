"""What a comparison says, in sentences and one table: terminal and page open with them."""

import math
from collections.abc import Callable, Sequence

from workflow_rl.estimates import MeanAndDeviation
from workflow_rl.report.plots import PageTable
from workflow_rl.studies.comparison.plan import Plan
from workflow_rl.studies.comparison.summary import Summary


def answer_of(plan: Plan, summaries: Sequence[Summary], seconds: float) -> list[str]:
    """Returns the answer: which preset is best at equal transitions, at equal time, and why.

    Args:
        plan: what was compared.
        summaries: each preset's.
        seconds: the time at which all are compared.
    """
    told = []
    if best := _best(summaries, lambda s: s.reward.mean):
        told.append(
            f"After {plan.transitions:,} transitions {best.preset} has the highest reward, "
            f"{over_seeds(best.reward, 1)}, at a compliance of {over_seeds(best.compliance, 3)} "
            f"(± is the standard deviation of {len(plan.seeds)} seeds)."
        )
    if best := _best(summaries, lambda s: s.reward_at_time.mean):
        told.append(
            f"After {seconds:.1f} s on one core, when the quickest was through, {best.preset} has: "
            f"{over_seeds(best.reward_at_time, 1)}."
        )
    if best := _best(summaries, lambda s: s.compliance.mean):
        told.append(
            f"The order is followed most by {best.preset}: {over_seeds(best.compliance, 3)}."
        )
    if best := _best(summaries, lambda s: -s.noise.noise if s.noise else math.nan):
        assert best.noise is not None
        told.append(f"A step's gradient is least noisy in {best.preset} ({best.noise.noise:.2g}).")
    if best := _best(summaries, lambda s: s.rate):
        told.append(f"The quickest is {best.preset}: {best.rate:,.0f} transitions a second.")
    return told


def _best(summaries: Sequence[Summary], value: Callable[[Summary], float]) -> Summary | None:
    """Returns the preset with the highest value; None if there is nothing to compare."""
    known = [s for s in summaries if not math.isnan(value(s))]
    return max(known, key=value) if len(known) > 1 else None


def table_of(summaries: Sequence[Summary], seconds: float) -> PageTable:
    """Returns a row for each preset."""
    return PageTable(
        (
            "preset",
            "reward",
            "compliance",
            f"reward at {seconds:.1f} s",
            "gradient noise",
            "transitions/s",
            "added MB",
        ),
        [
            (
                s.preset,
                over_seeds(s.reward, 1),
                over_seeds(s.compliance, 3),
                over_seeds(s.reward_at_time, 1),
                "-" if s.noise is None or math.isnan(s.noise.noise) else f"{s.noise.noise:.2g}",
                f"{s.rate:,.0f}",
                f"{s.added_mb:.1f}",
            )
            for s in summaries
        ],
        "Mean over seeds ± their standard deviation; gradient noise: the covariance's trace over "
        "the squared mean of a step's gradient at one common policy.",
    )


def over_seeds(value: MeanAndDeviation, decimals: int) -> str:
    """Writes a mean over seeds with their standard deviation."""
    if math.isnan(value.mean):
        return "-"
    mean = f"{value.mean:,.{decimals}f}"
    if math.isnan(value.deviation):
        return mean
    return f"{mean} ± {value.deviation:,.{decimals}f}"
