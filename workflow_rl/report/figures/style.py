"""What all figures have in common: their look, labels, and what may stand in them.

Figures are made with plotly; the page gives them its colours and its width. Text that comes from a
run goes through `plain`: plotly takes some markup in labels for real.
"""

import html
import math
from typing import Any, Final

from workflow_rl.estimates import Estimate
from workflow_rl.report import palette

Figure = Any  # plotly is imported where a figure is made: no other command waits for it
ROW: Final = 34  # pixels of a labelled row, where its label stands beside it
LOG_TICKS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def plain(text: str) -> str:
    """Returns a text as plotly shows it letter by letter."""
    return html.escape(text, quote=False)


def base_figure(height: int, **layout: Any) -> Figure:
    """Returns an empty figure in the report's style."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": palette.GRID,
        "zerolinecolor": palette.FAINT,
        "linecolor": palette.FAINT,
        "automargin": True,
        "title": {"standoff": 8},
    }
    figure = go.Figure()
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 8, "r": 12, "t": 12, "b": 8},
        font={"color": palette.INK, "size": 13},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"bgcolor": palette.PAGE, "font": {"color": palette.INK, "size": 13}},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 13}},
        xaxis=axis,
        yaxis=axis,
    )
    figure.update_layout(**layout)
    return figure


def interval_bar(value: Estimate, colour: str) -> dict[str, Any]:
    """Returns the horizontal error bar of a value's 95 % interval, if it is known."""
    if math.isnan(value.half_width):
        return {"visible": False}
    return {"array": [value.half_width], "color": colour, "thickness": 2.5, "width": 5}


def label_rows(figure: Figure, labels: list[str]) -> None:
    """Names rows 0, 1, ... from the top; the page writes the names beside or above them."""
    figure.update_layout(meta={"rows": labels})
    figure.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=labels,
        showgrid=False,
        zeroline=False,
        range=[len(labels) - 0.5, -0.5],
    )
