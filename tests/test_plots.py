import re
from pathlib import Path

import pytest

from workflow_rl.plots import COLOURS, Plot, faded, write_page

BAR = {"type": "bar", "x": ["a", "b"], "y": [1.5, 2.5]}


def page(tmp_path: Path, *plots: Plot, title: str = "Title") -> str:
    write_page(tmp_path / "page.html", title, plots)
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    text = page(tmp_path, Plot("One", "first", [BAR], {}), Plot("Two", "second", [BAR], {}))
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=", text)
    assert text.count("Plotly.newPlot(") >= 2
    assert 'id="figure-0"' in text
    assert 'id="figure-1"' in text
    assert list(tmp_path.iterdir()) == [tmp_path / "page.html"]


def test_the_library_is_in_it_once(tmp_path: Path) -> None:
    one = page(tmp_path, Plot("One", "", [BAR], {}))
    two = page(tmp_path, Plot("One", "", [BAR], {}), Plot("Two", "", [BAR], {}))
    assert len(two) - len(one) < 20_000 < len(one)


def test_words_are_shown_letter_by_letter(tmp_path: Path) -> None:
    text = page(tmp_path, Plot("a < b", "<b>&</b>", [BAR], {}), title="<script>x</script>")
    assert "<h2>a &lt; b</h2><p>&lt;b&gt;&amp;&lt;/b&gt;</p>" in text
    assert "<script>x</script>" not in text


def test_a_figure_that_plotly_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bars"):
        page(tmp_path, Plot("One", "", [{"type": "bars", "y": [1]}], {}))
    assert not (tmp_path / "page.html").exists()


def test_colours_can_be_faded() -> None:
    assert faded("#10ff00", 0.5) == "rgba(16,255,0,0.5)"
    assert all(faded(colour, 1).startswith("rgba(") for colour in COLOURS)
