"""A comparison as tables, for terminal and page, and as figures."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from workflow_rl.estimates import number_text
from workflow_rl.pages import style
from workflow_rl.pages.page import PageTable, Plot
from workflow_rl.pages.style import log_axis, named_rows, trace_colour
from workflow_rl.studies.comparison import (
    BLOCK,
    BLOCKS,
    EARLY_WINDOW,
    EPISODES,
    Comparison,
    Summary,
    over_seeds,
)
from workflow_rl.studies.gradient_noise import GradientNoise
from workflow_rl.studies.measured_training import LearningCurve, Measured

_POINTS: Final = 200  # of a line, at most


def comparison_tables(comparison: Comparison) -> list[PageTable]:
    """Returns each preset's result, its cost, and how steadily it learns."""
    plan, summaries = comparison.plan, comparison.summaries
    outcome = PageTable(
        ("preset", "transitions\nan update", "updates", "gradient\nsteps", "reward", "compliance"),
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
    )
    costs = PageTable(
        ("preset", "noise, 95 %", "x transitions", "transitions/s", "s", "MB", "added"),
        [
            (
                s.preset,
                *_noise_cells(s.noise),
                f"{s.rate:,.0f}",
                f"{s.seconds:.1f}",
                f"{s.peak_mb:.0f}",
                f"{s.added_mb:.1f}",
            )
            for s in summaries
        ],
        "Noise: trace of the covariance of a gradient step over its squared mean, at one common "
        "policy; MB: peak memory, and the part of it that training added.",
        "Gradient noise and cost of training (one core)",
    )
    at_time = PageTable(
        ("preset", f"reward at {comparison.seconds:.1f} s", "compliance then"),
        [
            (s.preset, over_seeds(s.reward_at_time, 1), over_seeds(s.compliance_at_time, 3))
            for s in summaries
        ],
        heading="At equal time",
    )
    reached = PageTable(
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
        heading="Time until a reward is first reached",
    )
    steadiness = PageTable(
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
        heading=f"Stability, and the result after {EPISODES} episodes",
    )
    return [outcome, costs, at_time, reached, steadiness]


def _noise_cells(noise: GradientNoise | None) -> tuple[str, str]:
    """Writes the gradient's noise with its interval, and the noise of one transition."""
    if noise is None:
        return "-", "-"
    interval = f"{noise.noise:.3g} ({noise.low:.3g} to {noise.high:.3g})"
    return interval, f"{noise.per_transition:,.0f}"


# --- figures


def comparison_figures(comparison: Comparison) -> list[Plot]:
    """Returns reward and compliance by transitions and by time, and what each preset costs."""
    trainings, summaries = comparison.trainings, comparison.summaries
    noise = _dots(
        summaries,
        "Gradient noise of a step",
        "Trace of the gradient's covariance over its squared mean, at one common policy; "
        "above 1, noise dominates the step.",
        [s.noise.noise if s.noise else math.nan for s in summaries],
        [_error_bar(s.noise) for s in summaries],
        log=True,
    )
    rate = _dots(
        summaries,
        "Transitions per second of one core",
        "Playing and learning together.",
        [s.rate for s in summaries],
        log=True,
    )
    memory = _dots(
        summaries,
        "Memory that training adds, MB",
        "Beyond the memory of Python and the libraries before any training.",
        [s.added_mb for s in summaries],
    )
    return [
        _lines(trainings, "reward", "transitions", "Reward by transitions"),
        _lines(trainings, "reward", "seconds", "Reward by time on one core"),
        _lines(trainings, "compliance", "transitions", "Compliance by transitions"),
        noise,
        rate,
        memory,
    ]


def _lines(trainings: Sequence[Measured], what: str, axis: str, heading: str) -> Plot:
    presets = list(dict.fromkeys(m.preset for m in trainings))
    traces: list[dict[str, Any]] = []
    for number, preset in enumerate(presets):
        for k, measured in enumerate(m for m in trainings if m.preset == preset):
            x, y = _line(measured.curve, what, axis)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": preset,
                    "legendgroup": preset,
                    "showlegend": k == 0,
                    "x": x,
                    "y": y,
                    "opacity": 0.75,
                    "line": {"color": trace_colour(number), "width": 1.5},
                    "hovertemplate": f"{preset}, seed {measured.seed}: %{{y:.2f}}<extra></extra>",
                }
            )
    reached = [x for trace in traces for x in trace["x"]]
    return Plot(
        heading,
        f"Mean of the last {EARLY_WINDOW} episodes; a thin line is a seed.",
        traces,
        {"xaxis": log_axis(axis, reached), "yaxis": {"title": {"text": what}}},
    )


def _line(curve: LearningCurve, what: str, axis: str) -> tuple[list[float], list[float]]:
    reward, compliance = curve.recent(EARLY_WINDOW)
    values = reward if what == "reward" else compliance
    known = np.flatnonzero(np.isfinite(values))
    if len(known) > _POINTS:  # evenly on the logarithmic axis
        known = known[np.unique(np.geomspace(1, len(known), _POINTS).astype(int) - 1)]
    return getattr(curve, axis)[known].tolist(), values[known].tolist()


def _error_bar(noise: GradientNoise | None) -> tuple[float, float]:
    """Returns how far the interval reaches below and above; no bar where it is not known."""
    if noise is None or not np.isfinite([noise.noise, noise.low, noise.high]).all():
        return 0.0, 0.0
    return noise.noise - noise.low, noise.high - noise.noise


def _dots(
    summaries: Sequence[Summary],
    heading: str,
    text: str,
    values: Sequence[float],
    errors: Sequence[tuple[float, float]] | None = None,
    *,
    log: bool = False,
) -> Plot:
    """One mark a preset with its name: a bar has no origin on a logarithmic axis."""
    shown = [value if math.isfinite(value) else None for value in values]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": shown,
        "y": list(range(len(summaries))),
        "marker": {"size": 12, "color": [trace_colour(k) for k in range(len(summaries))]},
        "showlegend": False,
    }
    bars = errors or [(0.0, 0.0)] * len(values)
    if errors is not None:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "color": style.MUTED,
            "arrayminus": [low for low, _ in bars],
            "array": [high for _, high in bars],
        }
    ends = [end for v, (lo, hi) in zip(values, bars, strict=True) for end in (v - lo, v + hi)]
    axis = log_axis("", ends) if log else {"rangemode": "tozero"}
    return Plot(heading, text, [trace], named_rows([s.preset for s in summaries]) | {"xaxis": axis})
