"""The page of results, made from the stored figures: `python -m docs.pages results`."""

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workflow_rl.workflow.orders import ORDERS

DOCS: Final = Path(__file__).resolve().parent
STORED: Final = DOCS / "results.json"
PICTURE: Final = DOCS / "images" / "orders.svg"
_WIDTH, _ROW, _LEFT, _RIGHT = 760, 44, 190, 20  # of the picture, in pixels
_COLOURS: Final = {True: "#3949ab", False: "#e65100"}  # enterprise before user, or after


def stored() -> dict[str, Any]:
    """Returns the stored figures by section."""
    found: dict[str, Any] = json.loads(STORED.read_text("utf-8"))
    return found


def results_page() -> str:
    """Returns docs/results.md."""
    environment = Environment(
        loader=FileSystemLoader(DOCS),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["points"] = lambda number: f"{number:.1f}"
    environment.filters["times"] = _times
    return environment.get_template("results.md.j2").render(stored())


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def write_picture() -> None:
    """Writes the page's picture."""
    PICTURE.write_text(orders_picture(stored()["orders"]["values"]), "utf-8")


def orders_picture(values: dict[str, dict[str, list[float]]]) -> str:
    """Returns a chart: one tick for each of the 120 orders, a row for each player and attacker."""
    good = [list(o).index("enterprise") < list(o).index("user") for o in ORDERS]
    rows = [(f"{who}, {red}", values[who][red]) for who in values for red in values[who]]
    low = min(min(means) for _, means in rows)
    low, high = 5 * (low // 5), 0.0

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    height = _ROW * (len(rows) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13"><title>Mean return of each order</title>'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>'
    ]
    for k, (name, means) in enumerate(rows):
        y = _ROW * (k + 0.5)
        parts.append(f'<text x="8" y="{y + 16:.0f}">{name}</text>')
        parts += [
            f'<line x1="{x(mean):.1f}" x2="{x(mean):.1f}" y1="{y:.0f}" y2="{y + 24:.0f}" '
            f'stroke="{_COLOURS[first]}" stroke-opacity="0.55" stroke-width="2"/>'
            for mean, first in zip(means, good, strict=True)
        ]
    bottom = round(_ROW * (len(rows) + 0.5))
    for value in range(int(low), 1, 10):
        at = f"{x(value):.1f}"
        parts += [
            f'<line x1="{at}" x2="{at}" y1="10" y2="{bottom}" stroke="#ccc"/>',
            f'<text x="{at}" y="{bottom + 18}" text-anchor="middle">{value}</text>',
        ]
    names = {True: "enterprise before user", False: "user before enterprise"}
    for k, (first, name) in enumerate(names.items()):
        left, fill = _LEFT + 200 * k, _COLOURS[first]
        parts += [
            f'<rect x="{left}" y="{bottom + 28}" width="12" height="12" fill="{fill}"/>',
            f'<text x="{left + 18}" y="{bottom + 39}">{name}</text>',
        ]
    return "\n".join((*parts, "</svg>\n"))
