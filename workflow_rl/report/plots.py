"""A page of figures, one below the other; figures are described as plain data in plotly's form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.files import write_atomically
from workflow_rl.report import palette
from workflow_rl.report.figures.style import base_figure
from workflow_rl.report.page import PLOTLY, render

_COLOURS: Final = (*palette.SERIES, palette.INK)
_HEIGHT: Final = 420


@dataclass(frozen=True)
class Plot:
    """A figure with what it shows."""

    heading: str
    text: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


def trace_colour(number: int) -> str:
    """Returns the colour of a plot's trace by its number; after seven they begin again."""
    return _COLOURS[number % len(_COLOURS)]


def write_page(path: Path, title: str, plots: Sequence[Plot]) -> None:
    """Writes a page of figures that needs nothing else, atomically."""
    figures = {f"figure-{number}": _figure(plot) for number, plot in enumerate(plots)}
    page = render(
        "plots.html",
        scripts=(PLOTLY, "page.js", "plots.js"),
        styles=("page.css",),
        data={},
        figures=figures,
        heading=title,
        plots=list(zip(figures, plots, strict=True)),
    )
    write_atomically(path, page.encode())


def _figure(plot: Plot) -> Any:
    layout = dict(plot.layout)
    figure = base_figure(layout.pop("height", _HEIGHT))
    figure.add_traces([dict(trace) for trace in plot.traces])
    figure.update_layout(layout)
    return figure
