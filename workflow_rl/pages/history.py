"""Figures of how a run went: the search's path, the learning curves, and what it cost."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.pages import style
from workflow_rl.pages.findings import Cost, Step
from workflow_rl.pages.rundata import Curve
from workflow_rl.pages.style import (
    LOG_TICKS,
    Figure,
    add_marks,
    add_steps,
    base_figure,
    plain,
)

MOST_POINTS: Final = 240  # of a curve at most
_REASON_MARKS: Final = {
    "design": ("initial design", style.MUTED, "square"),
    "explore": ("explore", style.BAD, "diamond"),
    "exploit": ("exploit", style.GOOD, "circle"),
}


def path_figure(path: Sequence[Step]) -> Figure | None:
    """Each trial: what was expected, what came, and the best up to there; below it the regret."""
    ended = [step for step in path if not np.isnan(step.got.mean)]
    if not ended:
        return None
    has_regret = any(not np.isnan(step.regret) for step in ended)
    figure = base_figure(560 if has_regret else 420)
    number = [step.trial.number + 1 for step in ended]
    _add_expected(figure, number, ended)
    best, told = [step.best for step in ended], "best so far %{y:.2f}"
    name = "best compliant so far"
    add_steps(figure, number, best, style.BETTER, told, mode="lines", name=name)
    for reason in dict.fromkeys(step.trial.decision.reason for step in ended):
        _add_outcomes(figure, reason, [s for s in ended if s.trial.decision.reason == reason])
    figure.update_xaxes(title_text="trial", range=[0.3, number[-1] + 0.7], zeroline=False)
    figure.update_yaxes(title_text="reward per episode", zeroline=False)
    if has_regret:
        _add_regret(figure, number, np.array([step.regret for step in ended]))
    return figure


def _add_expected(figure: Figure, number: list[int], ended: list[Step]) -> None:
    half = [step.expected.half_width for step in ended]
    add_marks(
        figure,
        number,
        [step.expected.mean for step in ended],
        (style.MUTED, "line-ew", 8),
        "predicted %{y:.2f} ± %{error_y.array:.2f}",
        error_y={"array": half, "color": style.BAND, "thickness": 5, "width": 0},
        name="predicted (95 %)",
    )


def _add_outcomes(figure: Figure, reason: str, steps: list[Step]) -> None:
    """Adds what the trials that were picked for one reason gave."""
    name, colour, symbol = _REASON_MARKS.get(reason, (plain(reason), style.OTHER, "circle"))
    symbols = [symbol + ("" if s.is_compliant else "-open") for s in steps]
    marker = {"size": 10, "color": colour, "symbol": symbols, "line": {"width": 2, "color": colour}}
    add_marks(
        figure,
        [step.trial.number + 1 for step in steps],
        [step.got.mean for step in steps],
        (colour, symbol, 10),
        "trial %{x}: %{text}",
        marker=marker,
        text=[
            f"<b>{plain(s.workflow)}</b><br>{s.got}, "
            f"{'compliant' if s.is_compliant else 'not compliant'}"
            for s in steps
        ],
        name=name,
    )


def _add_regret(figure: Figure, number: list[int], regret: NDArray[np.float64]) -> None:
    add_steps(figure, number, regret, style.WORSE, "regret %{y:.2f}", yaxis="y2", name="regret")
    figure.update_layout(
        yaxis={"domain": [0.36, 1]},
        yaxis2=_lower_axis("regret", 0, 0.28) | {"rangemode": "tozero"},
        xaxis={"anchor": "y2"},
    )


def _lower_axis(title: str, low: float, high: float) -> dict[str, Any]:
    """Returns an axis below the first, in a part of the figure's height."""
    return {
        "domain": [low, high],
        "title": {"text": title, "standoff": 8},
        "gridcolor": style.GRID,
        "automargin": True,
    }


def curves_figure(
    curves: list[Curve], threshold: float | None, *, named: bool = False, points: int = MOST_POINTS
) -> Figure | None:
    """Reward and compliance of trainings over their updates.

    Args:
        curves: the trainings.
        threshold: the compliance threshold.
        named: whether each has a colour and a name; else the page highlights one of them.
        points: of each curve at most.
    """
    if not curves:
        return None
    figure = base_figure(540, showlegend=named)
    is_log = named and all((c.columns["env_reward"] < 0).all() for c in curves)
    for number, curve in enumerate(curves):
        colour = style.SERIES[number] if named else style.FAINT
        line = {"color": colour, "width": 2 if named else 1.2}
        _add_curve(figure, curve, line, is_log=is_log, named=named, points=min(points, MOST_POINTS))
    if threshold is not None:
        figure.add_hline(
            y=threshold, yref="y2", line={"color": style.MUTED, "dash": "dash", "width": 1.5}
        )
    longest = max(len(curve) for curve in curves)
    figure.update_layout(
        yaxis={
            "domain": [0.54, 1],
            "title": {"text": "points lost (log)" if is_log else "reward"},
            "zeroline": False,
        },
        yaxis2=_lower_axis("compliance", 0, 0.46)
        | {"range": _compliance_range(curves, threshold), "zeroline": False},
        xaxis={
            "anchor": "y2",
            "title": {"text": "update"},
            "zeroline": False,
            "dtick": 1 if longest <= 10 else None,
        },
    )
    if is_log:
        figure.update_layout(yaxis={"type": "log", "autorange": "reversed", "tickvals": LOG_TICKS})
    return figure


def _add_curve(
    figure: Figure, curve: Curve, line: dict[str, Any], *, is_log: bool, named: bool, points: int
) -> None:
    """Adds reward (on a log axis: points lost) and, below it, compliance of a training."""
    x = thinned(curve.columns["update"], points).astype(np.float32)
    for axis, column in (("y", "env_reward"), ("y2", "compliance_observed")):
        values = thinned(curve.columns[column], points).astype(np.float32)
        figure.add_scatter(
            x=x,
            y=-values if is_log and axis == "y" else values,
            yaxis=axis,
            mode="lines" if len(x) > 1 else "markers",
            line=line,
            meta=curve.name,
            name=plain(curve.name),
            showlegend=named and axis == "y",
            hovertemplate=f"{plain(curve.label)}<br>update %{{x:.0f}}: %{{y:.3f}}<extra></extra>",
        )


def _compliance_range(curves: list[Curve], threshold: float | None) -> list[float]:
    known = np.concatenate([curve.columns["compliance_observed"] for curve in curves])
    known = known[np.isfinite(known)]
    lows = [float(known.min())] if len(known) else []
    low = min([*lows, 1.0 if threshold is None else threshold])
    pad = max(0.04 * (1 - low), 0.001)
    return [low - pad, 1 + pad]


def cost_figure(cost: Cost | None) -> Figure | None:
    """Speed, processor and memory over the run."""
    if cost is None:
        return None
    figure = base_figure(560, showlegend=False)
    x = thinned(cost.clock, 2 * MOST_POINTS).astype(np.float32)
    for axis, values, unit, colour in (
        ("y", cost.speed, "transitions/s", style.GOOD),
        ("y2", cost.cpu_percent, "% of one core", style.BAD),
        ("y3", cost.rss_mb, "MB", style.OTHER),
    ):
        figure.add_scatter(
            x=x,
            y=thinned(values, 2 * MOST_POINTS).astype(np.float32),
            yaxis=axis,
            line={"color": colour, "width": 1.6},
            hovertemplate=f"%{{y:,.0f}} {unit} after %{{x:.1f}} s<extra></extra>",
        )
    from_zero = {"rangemode": "tozero"}
    figure.update_layout(
        yaxis={"domain": [0.72, 1], "title": {"text": "transitions/s"}, **from_zero},
        yaxis2=_lower_axis("CPU, %", 0.36, 0.64) | from_zero,
        yaxis3=_lower_axis("memory, MB", 0, 0.28) | from_zero,
        xaxis={
            "anchor": "y3",
            "title": {"text": "seconds of training"},
            "range": [0, float(cost.clock[-1])],  # from the run's start
        },
    )
    return figure


def thinned(values: NDArray[np.float64], points: int) -> NDArray[np.float64]:
    """Returns at most so many values, each the mean of a stretch; NaN is left out."""
    if len(values) <= points:
        return values
    edges = np.linspace(0, len(values), points + 1).astype(int)
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), edges[:-1])
    counts = np.add.reduceat(known.astype(float), edges[:-1])
    means: NDArray[np.float64] = np.divide(
        sums, counts, out=np.full(points, np.nan), where=counts > 0
    )
    return means
