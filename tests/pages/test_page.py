import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from workflow_rl.pages.page import PageTable, Plot, render, write_page

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
NASTY = "</script><script>alert(1)</script><!-- & \u2028 \"'"
BAR = {"type": "bar", "x": ["a", "b"], "y": [1.5, 2.5]}


def page(**data: Any) -> str:
    """What all pages have in common: the smallest page there is."""
    return render("base.html", assets=(), data=data, figures={})


def data_of(text: str) -> dict[str, Any]:
    """What a page holds for its scripts."""
    start = text.index('id="page-data">') + len('id="page-data">')
    embedded = text[start : text.index("</script>", start)]
    assert "<" not in embedded
    data: dict[str, Any] = json.loads(embedded)
    return data


def test_the_policy_admits_exactly_the_scripts_of_the_page() -> None:
    text = page()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    hashes = [
        base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        for code in SCRIPT.findall(text)
    ]
    assert len(hashes) == 2  # plotly's, and ours
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none';")
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_data_cannot_end_its_element_and_arrives_as_it_was() -> None:
    assert data_of(page(name=NASTY))["name"] == NASTY


def test_what_is_not_a_number_is_a_mistake_and_not_half_a_page() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        page(value=float("nan"))


# --- a page of figures


def written(folder: Path, *plots: Plot, title: str = "Title", **more: Any) -> str:
    write_page(folder / "page.html", title, plots, **more)
    assert list(folder.iterdir()) == [folder / "page.html"]
    return (folder / "page.html").read_text(encoding="utf-8")


def test_every_figure_and_table_has_its_place_and_its_words(tmp_path: Path) -> None:
    low = Plot("Two", "second", [BAR, BAR], {"height": 222, "xaxis": {"type": "log"}})
    table = PageTable(("name", "value"), [("row", "1")], "caption")
    one = Plot("One", "first", [BAR], {})
    text = written(tmp_path, one, low, answer=["It is so.", "So it is."], tables=[table])
    assert not re.findall(r"<(?:script|img|iframe)[^>]*(?:src|href)=", text)
    figures = data_of(text)["figures"]
    assert list(figures) == ["figure-0", "figure-1"]
    assert all(f'id="{name}"' in text for name in figures)
    assert [len(figure["data"]) for figure in figures.values()] == [1, 2]
    layout = figures["figure-1"]["layout"]
    assert (layout["height"], layout["xaxis"]["type"]) == (222, "log")
    assert layout["xaxis"]["gridcolor"] == layout["yaxis"]["gridcolor"]
    parts = ("It is so.", ">first<", "So it is.", ">row<", ">caption<", "<h2>Two</h2>", ">second<")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_words_are_shown_letter_by_letter(tmp_path: Path) -> None:
    plot = Plot("a < b", "<b>&</b>", [BAR], {})
    text = written(tmp_path, plot, plot, title="<script>x</script>")
    assert "<h2>a &lt; b</h2>" in text
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text
    assert "<script>x</script>" not in text


def test_a_figure_that_plotly_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bars"):
        written(tmp_path, Plot("One", "", [{"type": "bars", "y": [1]}], {}))
    assert not (tmp_path / "page.html").exists()
