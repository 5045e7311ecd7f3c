"""The report of several runs in a real browser: one as it should be, one hostile, one empty."""

from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import AUDIT, SCREENS, Opened, drawn, open_file, screen
from tests.report.runs import HOSTILE
from tests.report.test_report import hostile_run
from workflow_rl.report.report import write_report


@pytest.fixture(scope="module")
def compared(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("compared")
    empty = folder / "empty"
    empty.mkdir()
    (empty / "experiment_config.json").write_text("{}")  # it has only begun
    runs = [real_run, hostile_run(folder), empty]
    return open_file(browser, write_report(runs, folder / "compared.html"))


@pytest.mark.slow
def test_markup_in_run_data_is_shown_as_text_and_runs_nothing(compared: Opened) -> None:
    page = compared.page
    page.locator("#run2-tab").click()
    assert page.locator("img, iframe, object, embed").count() == 0
    assert HOSTILE in page.locator("#run2").inner_text()
    labels = page.evaluate(
        "[...document.querySelectorAll('svg text')].map((text) => text.textContent)"
    )
    assert any(HOSTILE in label for label in labels)  # in figures, too
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    assert compared.said == []
    assert len(compared.asked) == 1


@pytest.mark.slow
def test_tabs_show_one_run_at_a_time_by_mouse_and_by_key(compared: Opened) -> None:
    page = compared.page
    screen(page, 1280, "light")

    def visible() -> list[str]:
        ids: list[str] = page.evaluate(
            """() => [...document.querySelectorAll("[role=tabpanel]")]
              .filter((panel) => !panel.hidden).map((panel) => panel.id)"""
        )
        return ids

    page.locator("#run1-tab").click()
    assert visible() == ["run1"]
    marks = drawn(page)
    assert {"compare-rewards", "compare-paths", "compare-effects", "run1-orders"} <= set(marks)
    assert all(count > 0 for count in marks.values()), marks
    page.keyboard.press("ArrowRight")
    assert visible() == ["run2"]
    marks = drawn(page)
    assert "run2-orders" in marks
    assert all(count > 0 for count in marks.values()), marks
    page.keyboard.press("ArrowRight")
    assert visible() == ["run3"]
    assert "What is missing" in page.locator("#run3").inner_text()
    page.locator("[data-open=run2]").click()
    assert visible() == ["run2"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS[1:3])
@pytest.mark.parametrize("number", [2, 3])
def test_compared_runs_are_readable(compared: Opened, number: int, width: int, scheme: str) -> None:
    page = compared.page
    page.locator(f"#run{number}-tab").click()
    screen(page, width, scheme)
    assert page.evaluate(AUDIT)["problems"] == []
