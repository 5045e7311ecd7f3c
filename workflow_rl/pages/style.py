"""What all figures have in common: their colours, look, labels, and what may stand in them.

Figures are made with plotly; the page gives them its colours and its width. Text that comes from a
run goes through `plain`: plotly takes some markup in labels for real.
"""

import html
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.estimates import Estimate

# name -> (on a light page, on a dark page); the light form is what figures are made with
COLOURS: Final = {
    "ink": ("#1b2430", "#e8ebf0"),
    "muted": ("#566170", "#a9b4c2"),
    "grid": ("#e2e6eb", "#2c343e"),
    "faint": ("#b4bdc8", "#56616e"),
    "page": ("#fefefe", "#171b21"),
    "good": ("#1f5fbf", "#7db4ff"),
    "better": ("#15803d", "#5fd48f"),
    "bad": ("#b45309", "#ffb15c"),
    "worse": ("#c0262d", "#ff8c85"),
    "other": ("#6b46c9", "#b9a0ff"),
    "neutral": ("#f1f3f6", "#222a33"),
    "band": ("#cfdaea", "#34435a"),
}
INK, MUTED, GRID, FAINT, PAGE, GOOD, BETTER, BAD, WORSE, OTHER, NEUTRAL, BAND = (
    light for light, _ in COLOURS.values()
)
SERIES: Final = (GOOD, BAD, BETTER, OTHER, WORSE, MUTED, INK)  # of several runs or traces
Figure = Any  # plotly is imported where a figure is made: no other command waits for it
_ROW: Final = 34  # pixels of a labelled row, where its label stands next to it
LOG_TICKS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_DECADES_WITH_STEPS: Final = 2.2  # of an axis, at most, for ticks between powers of ten


def plain(text: str) -> str:
    """Returns a text as plotly shows it letter by letter."""
    return html.escape(text, quote=False)


def base_figure(height: int, **layout: Any) -> Figure:
    """Returns an empty figure in the report's style."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": GRID,
        "zerolinecolor": FAINT,
        "linecolor": FAINT,
        "automargin": True,
        "title": {"standoff": 8},
    }
    figure = go.Figure()
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
        font={"color": INK, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"bgcolor": PAGE, "font": {"color": INK, "size": 13}},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 13}},
        xaxis=axis,
        yaxis=axis,
    )
    figure.update_layout(**layout)
    return figure


def add_marks(
    figure: Figure, x: Any, y: Any, look: tuple[str, str, int], hover: str, **more: Any
) -> None:
    """Adds points; `look` is their colour, symbol and size, open where a symbol ends so."""
    colour, symbol, size = look
    line = {"width": 2, "color": colour}
    marker = {"color": colour, "size": size, "symbol": symbol, "line": line}
    hover = f"{hover}<extra></extra>"
    figure.add_scatter(
        x=x, y=y, **{"mode": "markers", "marker": marker, "hovertemplate": hover} | more
    )


def add_steps(figure: Figure, x: Any, y: Any, colour: str, hover: str, **more: Any) -> None:
    """Adds a line that goes on at each value until the next."""
    line = {"shape": "hv", "color": colour, "width": 2}
    figure.add_scatter(x=x, y=y, line=line, hovertemplate=f"{hover}<extra></extra>", **more)


def heat_map(values: NDArray[np.float64], x: list[str], y: list[str], **layout: Any) -> Figure:
    """Returns a heat map: blue is better, orange is worse."""
    limit = max(float(np.nanmax(np.abs(values))), 1e-9)
    figure = base_figure(**layout)
    figure.add_heatmap(
        z=values,
        x=x,
        y=y,
        zmin=-limit,
        zmax=limit,
        colorscale=[[0, BAD], [0.5, NEUTRAL], [1, GOOD]],
        texttemplate="%{z:+.1f}",
        xgap=2,
        ygap=2,
        showscale=False,
    )
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure


def interval_bar(value: Estimate, colour: str) -> dict[str, Any]:
    """Returns the horizontal error bar of a value's 95 % interval, if it is known."""
    if math.isnan(value.half_width):
        return {"visible": False}
    return {"array": [value.half_width], "color": colour, "thickness": 2.5, "width": 5}


def named_rows(labels: Sequence[str]) -> dict[str, Any]:
    """Returns the layout of a figure whose rows 0, 1, ... from the top have names.

    The page writes the names next to the rows, or above them where there is no room.
    """
    return {
        "height": _ROW * len(labels) + 60,
        "meta": {"rows": list(labels)},
        "yaxis": {
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "range": [len(labels) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    }


def log_axis(title: str, values: Sequence[float]) -> dict[str, Any]:
    """Returns a logarithmic axis around some positive values, with ticks that can be read."""
    known = [value for value in values if value > 0 and math.isfinite(value)] or [1.0]
    low, high = math.log10(min(known)), math.log10(max(known))
    steps = (1, 2, 5) if high - low < _DECADES_WITH_STEPS else (1,)
    decades = range(math.floor(low) - 1, math.ceil(high) + 2)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    pad = max(0.06 * (high - low), 0.1)
    return {
        "type": "log",
        "title": {"text": title},
        "tickvals": ticks,
        "ticktext": [_short_number(tick) for tick in ticks],
        "range": [low - pad, high + pad],
    }


def _short_number(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def dark_forms() -> dict[str, str]:
    """Returns what the page replaces each colour by when it is dark."""
    return dict(COLOURS.values())


def trace_colour(number: int) -> str:
    """Returns the colour of a trace by its number; after seven they begin again."""
    return SERIES[number % len(SERIES)]
