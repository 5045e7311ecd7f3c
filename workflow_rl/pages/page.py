"""One HTML file that needs nothing else: templates, style and scripts put together.

`render` fills in any template; `write_page` writes a page that opens with an answer in sentences
and tables, its figures below.

Everything of a run is escaped by the template engine; data for the scripts is JSON in which no tag
can end. The content-security policy admits the scripts by their hash and no request at all.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from workflow_rl import __version__
from workflow_rl.files import write_atomically
from workflow_rl.pages import words
from workflow_rl.pages.style import base_figure, dark_forms

_PLOTLY: Final = "plotly"
_HEIGHT: Final = 420
_HERE: Final = Path(__file__).parent
_UNSAFE: Final = str.maketrans({c: f"\\u{ord(c):04x}" for c in ("<", ">", "&", "\u2028", "\u2029")})


def render(
    template: str,
    *,
    assets: Sequence[str],
    data: Mapping[str, Any],
    figures: Mapping[str, Any] | None,
    **context: Any,
) -> str:
    """Returns a whole page.

    Args:
        template: its name.
        assets: styles and scripts, in this order, after those of every page.
        data: plain data for the scripts.
        figures: plotly figures by the id of the element they are drawn in; None for a page that
            draws none, and leaves plotly out.
        **context: what the template shows.
    """
    from markupsafe import Markup

    drawing = () if figures is None else (_PLOTLY,)
    used = ("page.css", *drawing, "page.js", *assets)
    code = [_asset(name) for name in used if not name.endswith(".css")]
    style = "\n".join(_asset(name) for name in used if name.endswith(".css"))
    text = json.dumps({"dark": dark_forms(), **data}, allow_nan=False)
    drawn = ",".join(f"{json.dumps(name)}:{fig.to_json()}" for name, fig in (figures or {}).items())
    whole = f'{text[:-1]},"figures":{{{drawn}}}}}'
    return str(
        _environment()
        .get_template(template)
        .render(
            policy=_policy(code),
            style=Markup(style),
            scripts=[Markup(part) for part in code],
            data=Markup(whole.translate(_UNSAFE)),
            version=__version__,
            **context,
        )
    )


@cache
def _asset(name: str) -> str:
    if name != _PLOTLY:
        return (_HERE / "assets" / name).read_text(encoding="utf-8")
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@cache
def _hash(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def _policy(code: Sequence[str]) -> str:
    """Returns the content-security policy of a page with these scripts."""
    allowed = " ".join(f"'sha256-{_hash(part)}'" for part in code)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for write in (words.points, words.percent, words.duration, words.amount, words.kept_together):
        environment.filters[write.__name__] = write
    return environment


# --- a page of figures


@dataclass(frozen=True)
class Plot:
    """A figure with what it shows, as plain data in plotly's form."""

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


def write_page(
    path: Path,
    title: str,
    plots: Sequence[Plot],
    *,
    answer: Sequence[str] = (),
    tables: Sequence[PageTable] = (),
) -> None:
    """Writes a page atomically: sentences that answer, tables, then figures."""
    figures = {f"figure-{number}": _figure(plot) for number, plot in enumerate(plots)}
    page = render(
        "plots.html",
        assets=("report.css", "report.js"),
        data={},
        figures=figures,
        heading=title,
        answer=answer,
        tables=tables,
        plots=list(zip(figures, plots, strict=True)),
    )
    write_atomically(path, page)


def _figure(plot: Plot) -> Any:
    layout = dict(plot.layout)
    figure = base_figure(layout.pop("height", _HEIGHT))
    figure.add_traces([dict(trace) for trace in plot.traces])
    figure.update_layout(layout)
    return figure
