"""The pages quote what is stored in docs/results.json, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.results_page import orders_picture, results_page, stored

ROOT = Path(__file__).resolve().parent.parent
FACTS = ("decisions.md", "rules.md", "settings.md", "testing.md")  # not about scores
QUOTING = [
    ROOT / "README.md",
    *sorted({*(ROOT / "docs").glob("*.md")} - {ROOT / "docs" / name for name in FACTS}),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)  # run by test_shown
FIGURE = re.compile(r"(?<![\w.])(-\d[\d,]*\.\d+|(?<=± )\d+\.\d+|\d[\d,.]*x)(?![\w.])")


def numbers(data: Any) -> Iterator[float]:
    """Every number in the stored figures."""
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from numbers(value)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield data


@pytest.mark.parametrize("page", QUOTING, ids=lambda path: path.name)
def test_every_quoted_score_and_ratio_is_stored(page: Path) -> None:
    known = {f"{number:.{digits}f}" for number in numbers(stored()) for digits in (0, 1, 2)}
    quoted = FIGURE.findall(CODE.sub("", page.read_text("utf-8")))
    assert [f for f in quoted if f.rstrip("x").replace(",", "") not in known] == []


def test_the_page_is_made_from_the_stored_figures_and_short() -> None:
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert page == results_page(), "make results"
    assert page.count("\n") <= 190
    for section in stored().values():
        assert {"command", "date", "revision"} <= section.keys()


def test_the_picture_shows_every_order() -> None:
    picture = orders_picture(stored()["orders"]["values"])
    assert picture.count("stroke-opacity") == 4 * 120
    assert (ROOT / "docs" / "images" / "orders.svg").read_text("utf-8") == picture
