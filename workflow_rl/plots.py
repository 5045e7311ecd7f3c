"""One HTML page of figures that needs nothing else; the only place that loads plotly for it.

Figures are plain data in plotly's form, so whoever describes one needs no library.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.files import write_atomically

COLOURS: Final = ("#1f5fbf", "#b45309", "#15803d", "#6b46c9", "#c0262d", "#0f766e", "#566170")
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1b2430;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.15rem;margin:2rem 0 .3rem}p{margin:.3rem 0}"
)
_AXIS: Final = {"gridcolor": "#e2e6eb", "zerolinecolor": "#b4bdc8", "automargin": True}


@dataclass(frozen=True)
class Plot:
    """A figure with what it shows."""

    heading: str
    text: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


def faded(colour: str, opacity: float) -> str:
    """Returns a `#rrggbb` colour, partly transparent."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def write_page(path: Path, title: str, plots: Sequence[Plot]) -> None:
    """Writes a page of figures, atomically."""
    from plotly.io import to_html

    parts = [f"<h1>{html.escape(title)}</h1>"]
    for number, plot in enumerate(plots):
        parts.append(f"<h2>{html.escape(plot.heading)}</h2><p>{html.escape(plot.text)}</p>")
        figure = {"data": [dict(trace) for trace in plot.traces], "layout": _layout(plot.layout)}
        parts.append(
            to_html(
                figure,
                config={"displaylogo": False, "responsive": True},
                include_plotlyjs=number == 0,
                full_html=False,
                div_id=f"figure-{number}",
            )
        )
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )
    write_atomically(path, page.encode())


def _layout(given: Mapping[str, Any]) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "template": "none",
        "height": 420,
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
        "font": {"color": "#1b2430", "size": 13},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    layout |= given
    for name in ("xaxis", "yaxis"):
        layout[name] = {**_AXIS, **layout.get(name, {})}
    return layout
