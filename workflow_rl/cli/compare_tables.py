"""How a comparison of update strategies is shown."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from workflow_rl.cli.console import number_text, titled_table
from workflow_rl.estimates import MeanAndDeviation
from workflow_rl.studies.comparison.plan import Plan
from workflow_rl.studies.comparison.summary import (
    BLOCK,
    BLOCKS,
    EPISODES,
    Summary,
    refusal_of_large_updates,
)


def print_comparison(
    console: Console, plan: Plan, summaries: Sequence[Summary], seconds: float
) -> None:
    """Prints the tables of a comparison.

    Args:
        console: where.
        plan: what was compared.
        summaries: each preset's.
        seconds: the time at which all are compared.
    """
    _print_outcome(console, plan, summaries)
    _print_cost(console, summaries)
    _print_course(console, summaries, seconds)
    _print_steadiness(console, summaries)
    console.print(
        f"updates of 20,000 steps within {EPISODES} episodes of one environment: refused, "
        f'"{refusal_of_large_updates()}"'
    )


def _print_outcome(console: Console, plan: Plan, summaries: Sequence[Summary]) -> None:
    table = _table(
        f"after {plan.transitions:,} transitions: red {plan.red_agent}, rules {plan.rules}, "
        f"{len(plan.seeds)} seeds (± their standard deviation)",
        ("transitions/update", "updates", "gradient steps", "reward", "compliance"),
    )
    for s in summaries:
        table.add_row(
            s.preset,
            f"{s.transitions_per_update:,}",
            f"{s.updates:,}",
            f"{s.gradient_steps:,}",
            _over_seeds(s.reward, 1),
            _over_seeds(s.compliance, 3),
        )
    console.print(table)


def _print_cost(console: Console, summaries: Sequence[Summary]) -> None:
    table = _table(
        "what a step knows, and what training costs (one core)",
        ("gradient noise, 95 %", "x transitions", "transitions/s", "s", "peak MB", "of it added"),
    )
    for s in summaries:
        noise, each = "-", "-"
        if s.noise is not None:
            noise = f"{s.noise.noise:.3g} ({s.noise.low:.3g} to {s.noise.high:.3g})"
            each = f"{s.noise.per_transition:,.0f}"
        table.add_row(
            s.preset,
            noise,
            each,
            f"{s.rate:,.0f}",
            f"{s.seconds:.1f}",
            f"{s.peak_mb:.0f}",
            f"{s.added_mb:.1f}",
        )
    console.print(table)


def _print_course(console: Console, summaries: Sequence[Summary], seconds: float) -> None:
    headings = [f"reward at {seconds:.1f} s", "compliance then"]
    for reach in summaries[0].reach:
        headings += [f"transitions to {reach.threshold:g}", "s"]
    table = _table("at equal time, and how soon something is learnt", headings)
    for s in summaries:
        cells = [_over_seeds(s.reward_at_time, 1), _over_seeds(s.compliance_at_time, 3)]
        for reach in s.reach:
            short = f" ({reach.seeds} of {s.seeds})" if 0 < reach.seeds < s.seeds else ""
            cells.append(_over_seeds(reach.transitions, 0) + short)
            cells.append(_over_seeds(reach.seconds, 1))
        table.add_row(s.preset, *cells)
    console.print(table)


def _print_steadiness(console: Console, summaries: Sequence[Summary]) -> None:
    table = _table(
        f"steadiness, and what {EPISODES} episodes bring",
        (
            f"swings of the last {BLOCKS} x {BLOCK} episodes",
            "spread of seeds",
            "episodes per env",
            "reward then",
            "compliance then",
        ),
    )
    for s in summaries:
        table.add_row(
            s.preset,
            number_text(s.unrest),
            number_text(s.reward.deviation),
            str(s.episodes_per_env),
            _over_seeds(s.reward_at_episodes, 1),
            _over_seeds(s.compliance_at_episodes, 3),
        )
    console.print(table)


def _over_seeds(value: MeanAndDeviation, decimals: int) -> str:
    if math.isnan(value.mean):
        return "-"
    mean = f"{value.mean:,.{decimals}f}"
    if math.isnan(value.deviation):
        return mean
    return f"{mean} ± {value.deviation:,.{decimals}f}"


def _table(title: str, headings: Sequence[str]) -> Table:
    table = titled_table(title)
    table.add_column("preset")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
