"""The report of a run, and of several: a good, a hostile and an empty one, in a real browser."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser import AUDIT, SCREENS, Opened, drawn, open_file, screen, wait_until
from tests.pages.runs import HOSTILE
from tests.pages.test_report import hostile_run
from workflow_rl.agents.shipped import WITHOUT_ORDER
from workflow_rl.agents.standing_orders import STANDING_ORDERS, sentences_of
from workflow_rl.files import write_json
from workflow_rl.pages.report import write_report
from workflow_rl.workflow.orders import ORDERS

COMMAND = ["/usr/bin/workflow-rl", "search", "--n-workflows", "6"]


@pytest.fixture(scope="module")
def report(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("report")
    run = Path(shutil.copytree(real_run, folder / "exp"))
    truth = {" > ".join(order): -10.0 - k for k, order in enumerate(ORDERS)}
    write_json(run / "landscape.json", truth)
    (run / "manifest.json").unlink()
    noted = json.loads((run / "experiment_config.json").read_text(encoding="utf-8"))
    write_json(run / "experiment_config.json", noted | {"command": COMMAND})
    (run / "replay.html").write_text("a replay")
    return open_file(browser, write_report([run], run / "report.html"))


def test_the_report_loads_silently_and_asks_for_nothing(report: Opened) -> None:
    assert report.said == []
    assert [url for url in report.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in report.asked if url.startswith("file:")]) == 1


def test_every_figure_draws(report: Opened) -> None:
    marks = drawn(report.page)
    names = ("scores", "does", "orders", "pairs", "path", "curves", "stages", "cost")
    assert set(marks) - {"run1-positions"} == {f"run1-{name}" for name in names}
    assert all(count > 0 for count in marks.values()), marks
    assert marks["run1-orders"] > 120
    titles = report.page.locator("#run1-path .y2title").all_text_contents()
    assert titles == ["regret"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_report_is_readable(report: Opened, width: int, scheme: str) -> None:
    page = report.page
    screen(page, width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    found = page.evaluate(AUDIT)
    assert found["problems"] == []
    assert found["texts"] > 500
    marks = drawn(page)
    assert all(count > 0 for count in marks.values()), marks
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = false; })")
    assert report.said == []


def each(page: Any, selector: str, wanted: str) -> list[str]:
    """What a JavaScript expression says of each element `e` that is found and not hidden."""
    script = f"(found) => found.filter((e) => !e.hidden).map((e) => {wanted})"
    found: list[str] = page.eval_on_selector_all(selector, script)
    return found


def shown_orders(page: Any) -> list[str]:
    return each(page, "#run1-orders-table tbody tr", "e.dataset.order")


@pytest.mark.slow
def test_the_table_sorts_by_every_column_both_ways(report: Opened) -> None:
    page = report.page
    screen(page, 1280, "light")
    headings = page.locator("#run1-orders-table th button")
    assert headings.count() == 8
    for number in (0, 2, 3, 4, 5, 6):  # rank, predicted, by hand, trials, observed, compliance
        for direction, reverse in (("ascending", False), ("descending", True)):
            headings.nth(number).click()
            heading = page.locator("#run1-orders-table th").nth(number)
            assert heading.get_attribute("aria-sort") == direction
            values = each(page, "#run1-orders-table tbody tr", f"e.cells[{number}].dataset.value")
            known = [float(value) for value in values if value]
            assert known == sorted(known, reverse=reverse)
            assert not any(values[len(known) :])  # what is not known comes last either way
    headings.nth(1).click()
    orders = shown_orders(page)
    assert len(set(orders)) == 120
    assert orders == sorted(orders, key=lambda order: order.split())
    headings.nth(0).click()


@pytest.mark.slow
def test_the_table_is_filtered_by_words_by_precedence_and_by_status(report: Opened) -> None:
    page = report.page
    search, count = page.locator("[data-filter]"), page.locator("[data-count]")
    for query, number in (
        ("enterprise > user", 60),
        ("op_server > enterprise > user", 20),
        ("nothing like it", 0),
        ("", 120),
    ):
        search.fill(query)
        orders = [order.split() for order in shown_orders(page)]
        assert len(orders) == number
        if number in (60, 20):
            assert all(order.index("enterprise") < order.index("user") for order in orders)
        assert count.text_content() == f"{number} of 120 orders"
    status = page.locator("select[data-status]")
    status.select_option("tried")
    tried = len(shown_orders(page))
    assert 1 <= tried <= 6
    status.select_option("untried")
    assert len(shown_orders(page)) == 120 - tried
    if status.locator("option[value=best]").count():
        status.select_option("best")
        assert 0 < len(shown_orders(page)) < 120
    status.select_option("")
    assert len(shown_orders(page)) == 120


@pytest.mark.slow
def test_one_training_is_highlighted_and_another_on_request(report: Opened) -> None:
    page = report.page
    select = page.locator("select[data-highlight]")

    def bold() -> set[str]:
        names: list[str] = page.evaluate(
            """() => document.getElementById("run1-curves").data
              .filter((trace) => trace.line.width > 2).map((trace) => trace.meta)"""
        )
        return set(names)

    assert bold() == {select.input_value()}
    select.select_option("trial_003")
    assert bold() == {"trial_003"}


@pytest.mark.slow
def test_the_theme_can_be_chosen_and_figures_follow(report: Opened) -> None:
    page = report.page
    screen(page, 1280, "light")
    button = page.locator("#theme")

    def colours() -> tuple[str, str]:
        body = page.evaluate("getComputedStyle(document.body).color")
        ticks = page.evaluate(
            "getComputedStyle(document.querySelector('#run1-orders .xtick text')).fill"
        )
        return body, ticks

    light = colours()
    button.click()
    dark = colours()
    assert dark[0] != light[0]
    assert dark[1] != light[1]
    button.click()
    assert colours() == light
    page.evaluate("delete document.documentElement.dataset.theme; localStorage.clear()")


@pytest.mark.slow
def test_the_command_is_copied_or_selected(report: Opened) -> None:
    page = report.page
    command = page.locator("#run1-command")
    assert command.text_content() == "workflow-rl search --warm-start common --n-workflows 6"
    for number in (0, page.locator("[data-copy]").count() - 1):  # the first step, the command
        button = page.locator("[data-copy]").nth(number)
        button.click()
        wait_until(partial(lambda b: b.text_content() in ("Copied", "Selected"), button))
    assert page.get_by_text("Watch a replay").get_attribute("href") == "replay.html"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_is_the_answer(report: Opened, width: int, height: int) -> None:
    page = report.page
    screen(page, width, "light")
    page.evaluate("scrollTo(0, 0)")
    parts = [page.locator(part).first.bounding_box() for part in (".lead", ".chain", "dd")]
    assert [part["y"] for part in parts] == sorted(part["y"] for part in parts)
    assert "orders" in page.locator(".lead").inner_text()
    answers = page.locator(".facts-in-words > div")
    named = [text.split("\n")[0] for text in answers.locator("dt").all_inner_texts()]
    assert named == ["Score", "By hand", "Compliance", "What it does", "Next"]
    box = answers.last.bounding_box()
    assert box["y"] + box["height"] <= height


def test_what_the_policy_does_is_told_by_phase_and_by_host(report: Opened) -> None:
    page = report.page
    screen(page, 390, "light")
    labels = page.locator("#run1-does .annotation-text").all_text_contents()
    assert labels == [
        f"{red} {steps}" for red in ("bline", "meander") for steps in ("1-10", "11-30")
    ]
    section = page.locator("#run1-does-section")
    cells = section.locator("td").all_text_contents()
    times = [float(cell) for cell in cells if cell[0].isdigit()]
    assert 0 < sum(times) <= 32  # of 30 steps, rounded
    fits = "(table) => table.scrollWidth <= table.clientWidth"
    assert section.locator(".scroll").evaluate(fits)
    rules = section.locator(".rules li").all_text_contents()
    assert rules == sentences_of(STANDING_ORDERS)


def test_no_label_is_cut_on_a_phone_and_shipped_agents_are_there(report: Opened) -> None:
    page = report.page
    screen(page, 390, "light")
    width = page.locator("#run1-scores").bounding_box()["width"]
    labels = page.evaluate(
        """() => [...document.querySelectorAll("#run1-scores .annotation-text")]
          .map((text) => [text.textContent, text.getBBox().width])"""
    )
    assert all(size < width - 20 for _, size in labels), labels
    for name in WITHOUT_ORDER:
        assert any(text.startswith(f"{name} ") for text, _ in labels), labels
    screen(page, 1280, "light")


# --- several runs


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
    labels = page.locator("svg text").all_text_contents()
    assert any(HOSTILE in label for label in labels)  # in figures, too
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    assert compared.said == []
    assert len(compared.asked) == 1


@pytest.mark.slow
def test_tabs_show_one_run_at_a_time_by_mouse_and_by_key(compared: Opened) -> None:
    page = compared.page
    screen(page, 1280, "light")

    def visible() -> list[str]:
        return each(page, "[role=tabpanel]", "e.id")

    page.locator("#run1-tab").click()
    compared_in = {"compare-rewards", "compare-paths", "compare-effects"}
    for run in ("run1", "run2"):
        assert visible() == [run]
        marks = drawn(page)
        assert {*compared_in, f"{run}-orders"} <= set(marks)
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
