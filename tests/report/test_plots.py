import json
import re
from pathlib import Path
from typing import Any

import pytest

from workflow_rl.config import UPDATE_STRATEGIES
from workflow_rl.report.page import Plot, write_page
from workflow_rl.report.style import trace_colour

BAR = {"type": "bar", "x": ["a", "b"], "y": [1.5, 2.5]}


def page(tmp_path: Path, *plots: Plot, title: str = "Title") -> str:
    write_page(tmp_path / "page.html", title, plots)
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def drawn(text: str) -> dict[str, Any]:
    """The figures that a page draws."""
    data = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.S)
    assert data is not None
    figures: dict[str, Any] = json.loads(data[1])["figures"]
    return figures


def test_a_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    text = page(tmp_path, Plot("One", "first", [BAR], {}), Plot("Two", "second", [BAR], {}))
    assert not re.findall(r"<(?:script|img|iframe)[^>]*(?:src|href)=", text)
    assert "default-src &#39;none&#39;" in text
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]


def test_every_figure_has_its_place_and_its_words(tmp_path: Path) -> None:
    low = Plot("Two", "second", [BAR, BAR], {"height": 222, "xaxis": {"type": "log"}})
    text = page(tmp_path, Plot("One", "first", [BAR], {}), low)
    figures = drawn(text)
    assert list(figures) == ["figure-0", "figure-1"]
    assert all(f'id="{name}"' in text for name in figures)
    assert [len(figure["data"]) for figure in figures.values()] == [1, 2]
    layout = figures["figure-1"]["layout"]
    assert (layout["height"], layout["xaxis"]["type"]) == (222, "log")
    assert layout["xaxis"]["gridcolor"] == layout["yaxis"]["gridcolor"]
    places = [text.index(part) for part in ("<h2>One</h2>", ">first<", "<h2>Two</h2>")]
    assert places == sorted(places)


def test_words_are_shown_letter_by_letter(tmp_path: Path) -> None:
    text = page(tmp_path, Plot("a < b", "<b>&</b>", [BAR], {}), title="<script>x</script>")
    assert "<h2>a &lt; b</h2>" in text
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text
    assert "<script>x</script>" not in text


def test_a_figure_that_plotly_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bars"):
        page(tmp_path, Plot("One", "", [{"type": "bars", "y": [1]}], {}))
    assert not (tmp_path / "page.html").exists()


def test_there_are_colours_for_all_presets() -> None:
    assert (
        len({trace_colour(number) for number in range(len(UPDATE_STRATEGIES))})
        == len(UPDATE_STRATEGIES)
        == 7
    )
    assert trace_colour(7) == trace_colour(0)
