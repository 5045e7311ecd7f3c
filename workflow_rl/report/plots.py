"""A page that opens with an answer in sentences and tables, its figures below.

Figures are described as plain data in plotly's form.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.files import write_atomically
from workflow_rl.report.figures import style
from workflow_rl.report.figures.style import ROW, base_figure
from workflow_rl.report.page import PLOTLY, render

_COLOURS: Final = (*style.SERIES, style.INK)
_HEIGHT: Final = 420
_DECADES_WITH_STEPS: Final = 2.2  # of an axis, at most, for ticks between powers of ten


@dataclass(frozen=True)
class Plot:
    """A figure with what it shows."""

    heading: str
    text: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


@dataclass(frozen=True)
class PageTable:
    """A table of a page; the first cell of a row names it."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    heading: str = ""


def named_rows(labels: Sequence[str]) -> dict[str, Any]:
    """Returns the layout of a figure whose rows 0, 1, ... from the top have names."""
    return {
        "height": ROW * len(labels) + 70,
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


def trace_colour(number: int) -> str:
    """Returns the colour of a plot's trace by its number; after seven they begin again."""
    return _COLOURS[number % len(_COLOURS)]


def write_page(
    path: Path,
    title: str,
    plots: Sequence[Plot],
    *,
    answer: Sequence[str] = (),
    tables: Sequence[PageTable] = (),
) -> None:
    """Writes a page that needs nothing else, atomically.

    Args:
        path: of the file.
        title: of the page.
        plots: its figures.
        answer: sentences that it opens with.
        tables: that follow them.
    """
    figures = {f"figure-{number}": _figure(plot) for number, plot in enumerate(plots)}
    page = render(
        "plots.html",
        scripts=(PLOTLY, "page.js", "plots.js"),
        styles=("page.css", "report.css"),
        data={},
        figures=figures,
        heading=title,
        answer=answer,
        tables=tables,
        plots=list(zip(figures, plots, strict=True)),
    )
    write_atomically(path, page.encode())


def _figure(plot: Plot) -> Any:
    layout = dict(plot.layout)
    figure = base_figure(layout.pop("height", _HEIGHT))
    figure.add_traces([dict(trace) for trace in plot.traces])
    figure.update_layout(layout)
    return figure
