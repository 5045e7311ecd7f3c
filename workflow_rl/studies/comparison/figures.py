"""The figures of a comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from workflow_rl.report import style
from workflow_rl.report.page import Plot
from workflow_rl.report.style import log_axis, named_rows, trace_colour
from workflow_rl.studies.comparison.measured import LearningCurve, Measured
from workflow_rl.studies.comparison.summary import EARLY_WINDOW, Summary

_POINTS = 200  # of a line, at most


def comparison_figures(trainings: Sequence[Measured], summaries: Sequence[Summary]) -> list[Plot]:
    """Returns reward and compliance by transitions and by time, and what each preset costs."""
    window = f"Mean of the last {EARLY_WINDOW} episodes; a thin line is a seed."
    return [
        _lines(trainings, "reward", "transitions", "Reward by transitions", window),
        _lines(trainings, "reward", "seconds", "Reward by time on one core", window),
        _lines(trainings, "compliance", "transitions", "Compliance by transitions", window),
        _dots(
            summaries,
            "Gradient noise of a step",
            "Trace of the gradient's covariance over its squared mean, at one common policy; "
            "from 1 on, a step points mostly in a direction of chance.",
            [s.noise.noise if s.noise else None for s in summaries],
            errors=[_interval(s) for s in summaries],
            log=True,
        ),
        _dots(
            summaries,
            "Transitions per second of one core",
            "Playing and learning together.",
            [s.rate for s in summaries],
            log=True,
        ),
        _dots(
            summaries,
            "Memory that training adds, MB",
            "Beyond what Python and the libraries hold with nothing trained.",
            [s.added_mb for s in summaries],
        ),
    ]


def _lines(trainings: Sequence[Measured], what: str, axis: str, heading: str, text: str) -> Plot:
    presets = list(dict.fromkeys(m.preset for m in trainings))
    traces: list[dict[str, Any]] = []
    for number, preset in enumerate(presets):
        colour = trace_colour(number)
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
                    "line": {"color": colour, "width": 1.5},
                    "hovertemplate": f"{preset}, seed {measured.seed}: %{{y:.2f}}<extra></extra>",
                }
            )
    names = {"transitions": "transitions", "seconds": "seconds"}
    return Plot(
        heading,
        text,
        traces,
        {
            "xaxis": log_axis(names[axis], [x for trace in traces for x in trace["x"]]),
            "yaxis": {"title": {"text": what}},
        },
    )


def _line(curve: LearningCurve, what: str, axis: str) -> tuple[list[float], list[float]]:
    reward, compliance = curve.recent(EARLY_WINDOW)
    values = reward if what == "reward" else compliance
    known = np.flatnonzero(np.isfinite(values))
    if len(known) > _POINTS:  # evenly on the logarithmic axis
        known = known[np.unique(np.geomspace(1, len(known), _POINTS).astype(int) - 1)]
    return getattr(curve, axis)[known].tolist(), values[known].tolist()


def _interval(summary: Summary) -> tuple[float, float] | None:
    noise = summary.noise
    if noise is None or not np.isfinite([noise.noise, noise.low, noise.high]).all():
        return None
    return noise.noise - noise.low, noise.high - noise.noise


def _dots(
    summaries: Sequence[Summary],
    heading: str,
    text: str,
    values: Sequence[float | None],
    *,
    errors: Sequence[tuple[float, float] | None] | None = None,
    log: bool = False,
) -> Plot:
    """One mark a preset, named beside it: on a logarithmic axis a bar would begin nowhere."""
    shown = [None if v is None or not np.isfinite(v) else v for v in values]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": shown,
        "y": list(range(len(summaries))),
        "marker": {"size": 12, "color": [trace_colour(k) for k in range(len(summaries))]},
        "showlegend": False,
    }
    reached = [v for v in shown if v is not None]
    if errors is not None:
        pairs = [pair or (0.0, 0.0) for pair in errors]
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "color": style.MUTED,
            "arrayminus": [low for low, _ in pairs],
            "array": [high for _, high in pairs],
        }
        both = zip(shown, pairs, strict=True)
        reached += [end for v, (lo, hi) in both if v is not None for end in (v - lo, v + hi)]
    axis = log_axis("", reached) if log else {"rangemode": "tozero"}
    return Plot(heading, text, [trace], named_rows([s.preset for s in summaries]) | {"xaxis": axis})
