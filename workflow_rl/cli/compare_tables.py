"""How a comparison of update strategies is shown."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from workflow_rl.cli.console import number_text, print_sentence, titled_table
from workflow_rl.studies.comparison.plan import Plan
from workflow_rl.studies.comparison.summary import (
    BLOCK,
    BLOCKS,
    EPISODES,
    Summary,
    refusal_of_large_updates,
)
from workflow_rl.studies.comparison.words import answer_of, over_seeds


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
    for sentence in answer_of(plan, summaries, seconds):
        print_sentence(console, sentence)
    _print_outcome(console, plan, summaries)
    _print_cost(console, summaries)
    _print_time(console, summaries, seconds)
    _print_reach(console, summaries)
    _print_steadiness(console, summaries)
    console.print(
        f"updates of 20,000 steps within {EPISODES} episodes of one environment: refused, "
        f'"{refusal_of_large_updates()}"'
    )


def _print_outcome(console: Console, plan: Plan, summaries: Sequence[Summary]) -> None:
    table = _table(
        f"after {plan.transitions:,} transitions: red {plan.red_agent}, rules {plan.rules}, "
        f"{len(plan.seeds)} seeds (± sd)",
        ("transitions\nan update", "\nupdates", "gradient\nsteps", "\nreward", "\ncompliance"),
    )
    for s in summaries:
        table.add_row(
            s.preset,
            f"{s.transitions_per_update:,}",
            f"{s.updates:,}",
            f"{s.gradient_steps:,}",
            over_seeds(s.reward, 1),
            over_seeds(s.compliance, 3),
        )
    console.print(table)


def _print_cost(console: Console, summaries: Sequence[Summary]) -> None:
    table = _table(
        "what a step knows, and what training costs (one core)",
        (
            "gradient\nnoise, 95 %",
            "x tran-\nsitions",
            "transi-\ntions/s",
            "\ns",
            "peak\nMB",
            "of it\nadded",
        ),
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


def _print_time(console: Console, summaries: Sequence[Summary], seconds: float) -> None:
    table = _table("at equal time", (f"reward at\n{seconds:.1f} s", "compliance\nthen"))
    for s in summaries:
        cells = over_seeds(s.reward_at_time, 1), over_seeds(s.compliance_at_time, 3)
        table.add_row(s.preset, *cells)
    console.print(table)


def _print_reach(console: Console, summaries: Sequence[Summary]) -> None:
    table = _table(
        "how soon a reward is reached first", ("\nreward", "\ntransitions", "\ns", "\nseeds")
    )
    for s in summaries:
        for reach in s.reach:
            table.add_row(
                s.preset,
                f"{reach.threshold:g}",
                over_seeds(reach.transitions, 0),
                over_seeds(reach.seconds, 1),
                f"{reach.seeds} of {s.seeds}",
            )
    console.print(table)


def _print_steadiness(console: Console, summaries: Sequence[Summary]) -> None:
    table = _table(
        f"steadiness, and what {EPISODES} episodes bring",
        (
            f"swings of last\n{BLOCKS} x {BLOCK} episodes",
            "spread\nof seeds",
            "episodes\nper env",
            "reward\nthen",
            "compliance\nthen",
        ),
    )
    for s in summaries:
        table.add_row(
            s.preset,
            number_text(s.unrest),
            number_text(s.reward.deviation),
            str(s.episodes_per_env),
            over_seeds(s.reward_at_episodes, 1),
            over_seeds(s.compliance_at_episodes, 3),
        )
    console.print(table)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = titled_table(title)
    table.padding = (0, 1, 0, 0)
    table.add_column("\npreset")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
