"""The figure of a replay: the reward's parts at each step, the return, and the fixes."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from workflow_rl.report.figures import style
from workflow_rl.report.figures.style import Figure, base_figure

_PARTS: Final = (
    ("hosts held", style.BAD),
    ("OT service down", style.WORSE),
    ("Restores", style.GOOD),
)
_FIXES: Final = (
    ("compliant", style.BETTER, "triangle-up"),
    ("violation", style.WORSE, "x"),
    ("does not count", style.MUTED, "circle-open"),
)


def timeline_figure(frames: Sequence[dict[str, Any]]) -> Figure:
    """Returns the timeline of an episode; the page adds the cursor."""
    import plotly.graph_objects as go

    steps = np.arange(len(frames))
    figure = base_figure(300, barmode="relative", bargap=0.15, hovermode="x", hoverdistance=-1)
    for part, (name, colour) in enumerate(_PARTS):
        figure.add_trace(
            go.Bar(
                x=steps,
                y=[frame["parts"][part] for frame in frames],
                marker={"color": colour, "line": {"width": 0}},
                name=name,
                hovertemplate="%{y:.1f}",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=steps,
            y=[frame["total"] for frame in frames],
            yaxis="y2",
            line={"color": style.INK, "width": 1.8},
            name="return so far (right)",
            hovertemplate="%{y:.1f}",
        )
    )
    _add_fixes(figure, frames)
    lowest = min(min(frame["reward"] for frame in frames), -1.0)
    figure.update_layout(
        xaxis={"title": {"text": "step"}, "range": [-0.7, len(frames) - 0.3], "zeroline": False},
        yaxis={"title": {"text": "reward of the step"}, "range": [1.08 * lowest, -0.12 * lowest]},
        yaxis2={
            "overlaying": "y",
            "tickmode": "auto",
            "side": "right",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    )
    return figure


def _add_fixes(figure: Figure, frames: Sequence[dict[str, Any]]) -> None:
    """Marks the fixes at their steps, by what was judged of them."""
    import plotly.graph_objects as go

    for verdict, colour, symbol in _FIXES:
        when = [step for step, frame in enumerate(frames) if frame.get("verdict") == verdict]
        if not when:
            continue
        figure.add_trace(
            go.Scatter(
                x=when,
                y=[0.0] * len(when),
                mode="markers",
                marker={
                    "symbol": symbol,
                    "color": colour,
                    "size": 9,
                    "line": {"width": 2 if symbol.endswith("open") else 0, "color": colour},
                },
                name=f"fix: {verdict}",
                hovertemplate=verdict,
            )
        )
