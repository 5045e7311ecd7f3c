"""The tables of a comparison, for the terminal and the page."""

from collections.abc import Sequence

from workflow_rl.config import ComparisonConfig
from workflow_rl.estimates import number_text
from workflow_rl.report.page import PageTable
from workflow_rl.studies.comparison.summary import BLOCK, BLOCKS, EPISODES, Summary, over_seeds


def comparison_tables(
    plan: ComparisonConfig, summaries: Sequence[Summary], seconds: float
) -> list[PageTable]:
    """Returns what became of each preset, what it cost, and how steadily.

    Args:
        plan: what was compared.
        summaries: each preset's.
        seconds: the time at which all are compared.
    """
    return [
        PageTable(
            (
                "preset",
                "transitions\nan update",
                "updates",
                "gradient\nsteps",
                "reward",
                "compliance",
            ),
            [
                (
                    s.preset,
                    f"{s.transitions_per_update:,}",
                    f"{s.updates:,}",
                    f"{s.gradient_steps:,}",
                    over_seeds(s.reward, 1),
                    over_seeds(s.compliance, 3),
                )
                for s in summaries
            ],
            "Mean over seeds ± their standard deviation.",
            f"After {plan.transitions:,} transitions: red {plan.game.red_agent}, rules "
            f"{plan.game.rules}, {len(plan.seeds)} seeds",
        ),
        PageTable(
            ("preset", "noise, 95 %", "x transitions", "transitions/s", "s", "MB", "added"),
            [
                (
                    s.preset,
                    *_noise(s),
                    f"{s.rate:,.0f}",
                    f"{s.seconds:.1f}",
                    f"{s.peak_mb:.0f}",
                    f"{s.added_mb:.1f}",
                )
                for s in summaries
            ],
            "Noise: the covariance's trace over the squared mean of a step's gradient at one "
            "common policy; MB: the most memory, and what of it training added.",
            "What a step knows, and what training costs (one core)",
        ),
        PageTable(
            ("preset", f"reward at {seconds:.1f} s", "compliance then"),
            [
                (s.preset, over_seeds(s.reward_at_time, 1), over_seeds(s.compliance_at_time, 3))
                for s in summaries
            ],
            heading="At equal time",
        ),
        PageTable(
            ("preset", "reward", "transitions", "s", "seeds"),
            [
                (
                    s.preset,
                    f"{reach.threshold:g}",
                    over_seeds(reach.transitions, 0),
                    over_seeds(reach.seconds, 1),
                    f"{reach.seeds} of {s.seeds}",
                )
                for s in summaries
                for reach in s.reach
            ],
            heading="How soon a reward is reached first",
        ),
        PageTable(
            (
                "preset",
                f"swings of last\n{BLOCKS} x {BLOCK} episodes",
                "spread\nof seeds",
                "episodes\nper env",
                "reward\nthen",
                "compliance\nthen",
            ),
            [
                (
                    s.preset,
                    number_text(s.unrest),
                    number_text(s.reward.deviation),
                    str(s.episodes_per_env),
                    over_seeds(s.reward_at_episodes, 1),
                    over_seeds(s.compliance_at_episodes, 3),
                )
                for s in summaries
            ],
            heading=f"Steadiness, and what {EPISODES} episodes bring",
        ),
    ]


def _noise(summary: Summary) -> tuple[str, str]:
    """Returns the gradient's noise with its interval, and how much of it a transition has."""
    if (noise := summary.noise) is None:
        return "-", "-"
    interval = f"{noise.noise:.3g} ({noise.low:.3g} to {noise.high:.3g})"
    return interval, f"{noise.per_transition:,.0f}"
