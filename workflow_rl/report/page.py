"""One HTML file that needs nothing else: templates, style and scripts put together.

Everything of a run is escaped by the template engine; data for the scripts is JSON in which no tag
can end. The content-security policy admits the scripts by their hash and no request at all.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from workflow_rl import __version__
from workflow_rl.report import words
from workflow_rl.report.figures.style import dark_forms

PLOTLY: Final = "plotly"
_HERE: Final = Path(__file__).parent
_UNSAFE: Final = str.maketrans({c: f"\\u{ord(c):04x}" for c in ("<", ">", "&", "\u2028", "\u2029")})


def render(
    template: str,
    *,
    scripts: Sequence[str],
    styles: Sequence[str],
    data: Mapping[str, Any],
    figures: Mapping[str, Any] | None = None,
    **context: Any,
) -> str:
    """Returns a whole page.

    Args:
        template: its name.
        scripts: assets to run, in this order; `PLOTLY` is the plotting library.
        styles: assets that style it, in this order.
        data: plain data for the scripts.
        figures: plotly figures by the id of the element they are drawn in.
        **context: what the template shows.
    """
    from markupsafe import Markup

    code = [_script(name) for name in scripts]
    style = "\n".join(_asset(name) for name in styles)
    embedded = {"dark": dark_forms(), **data}
    text = json.dumps(embedded, allow_nan=False)
    drawn = ",".join(
        f"{json.dumps(name)}:{figure.to_json()}" for name, figure in (figures or {}).items()
    )
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
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


@cache
def _script(name: str) -> str:
    if name != PLOTLY:
        return _asset(name)
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
    environment.filters["points"] = words.points
    environment.filters["percent"] = words.percent
    environment.filters["duration"] = words.duration
    environment.filters["amount"] = words.amount
    environment.filters["together"] = words.kept_together
    return environment
