"""The pages in a real browser: headless Chromium, from disk, without a network."""

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.report.runs import HOSTILE
from tests.report.test_report import hostile_run
from workflow_rl.agents.named import SHIPPED
from workflow_rl.agents.policy import load_policy
from workflow_rl.files import write_json
from workflow_rl.report.palette import COLOURS
from workflow_rl.report.replay import play_policy
from workflow_rl.report.replay_page import write_replay
from workflow_rl.report.report import write_report
from workflow_rl.workflow.orders import ORDERS

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # which other programs may fill
    "--disable-renderer-backgrounding",  # of several open pages only one is in front
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
]
COMMAND = ["/usr/bin/workflow-rl", "search", "--n-workflows", "6"]
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
HOSTS = "(cards) => cards.map((card) => Number(card.dataset.host))"
FOLLOWED = """(ink) => [...document.querySelectorAll("[data-figure]")]
  .filter((figure) => figure.offsetParent !== null)
  .every((figure) => figure._fullLayout && figure._fullLayout.font.color === ink
    && Math.abs(figure._fullLayout.width - figure.clientWidth) < 2)"""
SCREENS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


def chromium() -> str | None:
    """Where Chromium is, if it is anywhere."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = chromium()
    if not found:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@dataclass
class Opened:
    """A page and everything it should not have said or asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def open_file(browser: Any, file: Path) -> Opened:
    size = {"width": 1280, "height": 900}
    context = browser.new_context(viewport=size, offline=True, reduced_motion="reduce")
    opened = Opened(context.new_page())
    page = opened.page

    def dismissed(dialog: Any) -> None:
        opened.said.append("a dialog")
        dialog.dismiss()

    page.set_default_timeout(60_000)
    page.on("console", lambda message: opened.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: opened.said.append(str(error)))
    page.on("request", lambda request: opened.asked.append(request.url))
    page.on("dialog", dismissed)
    page.goto(file.as_uri())
    return opened


@pytest.fixture(scope="module")
def report(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("report")
    run = Path(shutil.copytree(real_run, folder / "exp"))
    truth = {" > ".join(order): -10.0 - k for k, order in enumerate(ORDERS)}
    write_json(run / "landscape.json", truth)
    noted = json.loads((run / "experiment_config.json").read_text(encoding="utf-8"))
    write_json(run / "experiment_config.json", noted | {"command": COMMAND})
    (run / "replay.html").write_text("a replay")
    return open_file(browser, write_report([run], run / "report.html"))


@pytest.fixture(scope="module")
def compared(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    folder = tmp_path_factory.mktemp("compared")
    empty = folder / "empty"
    empty.mkdir()
    (empty / "experiment_config.json").write_text("{}")  # it has only begun
    runs = [real_run, hostile_run(folder), empty]
    return open_file(browser, write_report(runs, folder / "compared.html"))


@pytest.fixture(scope="module")
def replay(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    file = tmp_path_factory.mktemp("replay") / "replay.html"
    played = play_policy(
        load_policy(real_run), Path(HOSTILE), seed=7, red_agent="meander", deterministic=False
    )
    return open_file(browser, write_replay(played, file))


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits for something; the page's own policy forbids to wait inside it."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def screen(page: Any, width: int, scheme: str) -> None:
    """Shows the page on another screen and waits until its figures have followed."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    ink = COLOURS["ink"][scheme == "dark"]
    wait_until(lambda: page.evaluate(FOLLOWED, ink))


def drawn(page: Any) -> dict[str, int]:
    """The marks in each figure that can be seen: points, lines, bars, cells, error bars."""
    marks: dict[str, int] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-figure]")]
          .filter((e) => e.offsetParent !== null)
          .map((e) => [e.id, e.querySelectorAll(
            ".points path, .js-line, .errorbar, .bars path, .hm image, .heatmap-label").length]))"""
    )
    return marks


# --- the report


def test_the_report_loads_silently_and_asks_for_nothing(report: Opened) -> None:
    assert report.said == []
    assert [url for url in report.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in report.asked if url.startswith("file:")]) == 1


def test_every_figure_draws(report: Opened) -> None:
    marks = drawn(report.page)
    names = ("scores", "orders", "pairs", "path", "curves", "stages", "cost")
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


def shown_orders(page: Any) -> list[str]:
    orders: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("#run1-orders-table tbody tr")]
          .filter((row) => !row.hidden).map((row) => row.dataset.order)"""
    )
    return orders


def column(page: Any, number: int) -> list[str]:
    values: list[str] = page.evaluate(
        """(n) => [...document.querySelectorAll("#run1-orders-table tbody tr")]
          .map((row) => row.cells[n].dataset.value)""",
        number,
    )
    return values


@pytest.mark.slow
def test_the_table_sorts_by_every_column_both_ways(report: Opened) -> None:
    page = report.page
    screen(page, 1280, "light")
    headings = page.locator("#run1-orders-table th button")
    assert headings.count() == 7
    for number in (0, 2, 3, 4, 5):  # rank, believed, trials, observed, compliance
        for direction, reverse in (("ascending", False), ("descending", True)):
            headings.nth(number).click()
            heading = page.locator("#run1-orders-table th").nth(number)
            assert heading.get_attribute("aria-sort") == direction
            known = [float(v) for v in column(page, number) if v]
            assert known == sorted(known, reverse=reverse)
            blanks = [v == "" for v in column(page, number)]
            assert blanks == sorted(blanks)  # what is not known comes last either way
    headings.nth(1).click()
    orders = shown_orders(page)
    assert len(set(orders)) == 120
    assert orders == sorted(orders, key=lambda order: order.split())
    headings.nth(0).click()


@pytest.mark.slow
def test_the_table_is_filtered_by_words_by_precedence_and_by_status(report: Opened) -> None:
    page = report.page
    search, count = page.locator("[data-filter]"), page.locator("[data-count]")
    search.fill("enterprise > user")
    orders = [order.split() for order in shown_orders(page)]
    assert len(orders) == 60
    assert all(order.index("enterprise") < order.index("user") for order in orders)
    assert count.text_content() == "60 of 120 orders"
    search.fill("op_server > enterprise > user")
    assert count.text_content() == "20 of 120 orders"
    search.fill("nothing like it")
    assert count.text_content() == "0 of 120 orders"
    search.fill("")
    page.locator("select[data-status]").select_option("tried")
    tried = len(shown_orders(page))
    assert 1 <= tried <= 6
    page.locator("select[data-status]").select_option("untried")
    assert len(shown_orders(page)) == 120 - tried
    page.locator("select[data-status]").select_option("")
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
    assert command.text_content() == "workflow-rl search --n-workflows 6"
    for number in (0, page.locator("[data-copy]").count() - 1):  # the first step, the command
        button = page.locator("[data-copy]").nth(number)
        button.click()
        wait_until(partial(lambda b: b.text_content() in ("Copied", "Selected"), button))
    assert page.locator("a.button").get_attribute("href") == "replay.html"


def test_the_finding_in_words_stands_above_the_chips_and_what_to_do_next_below(
    report: Opened,
) -> None:
    page = report.page
    screen(page, 1280, "light")
    lead, chips, steps = (
        page.locator(part).first.bounding_box()["y"] for part in (".lead", ".chain", ".steps")
    )
    assert lead < chips < steps
    assert "orders" in page.locator(".lead").inner_text()
    commands = page.locator(".steps code").all_text_contents()
    named = [command.split()[1] for command in commands[:5]]
    assert named == ["evaluate", "replay", "search", "landscape", "playbook"]
    assert "load_policy(" in commands[5]


def test_no_label_of_the_baselines_is_cut_on_a_phone_and_shipped_agents_are_there(
    report: Opened,
) -> None:
    page = report.page
    screen(page, 390, "light")
    width = page.locator("#run1-scores").bounding_box()["width"]
    labels = page.evaluate(
        """() => [...document.querySelectorAll("#run1-scores .annotation-text")]
          .map((text) => [text.textContent, text.getBBox().width])"""
    )
    assert all(size < width - 20 for _, size in labels), labels
    for name in SHIPPED:
        assert any(text.startswith(f"{name} ") for text, _ in labels), labels
    screen(page, 1280, "light")


@pytest.mark.slow
def test_the_equal_orders_can_be_shown_alone(report: Opened) -> None:
    page = report.page
    option = page.locator("select[data-status] option[value=equal]")
    if option.count():
        page.locator("select[data-status]").select_option("equal")
        assert 0 < len(shown_orders(page)) < 120
        page.locator("select[data-status]").select_option("")


# --- several runs, one hostile, one empty


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


# --- the replay


def at(page: Any) -> int:
    return int(page.locator("#scrub").input_value())


def frame(page: Any, number: int) -> dict[str, Any]:
    shown: dict[str, Any] = page.evaluate("(n) => pageData.frames[n]", number)
    return shown


def test_the_replay_loads_silently_and_asks_for_nothing(replay: Opened) -> None:
    assert replay.said == []
    assert len(replay.asked) == 1
    assert replay.page.locator(".host").count() == 13
    assert replay.page.locator(".subnet").count() == 3
    assert drawn(replay.page)["timeline"] > 30
    assert HOSTILE in replay.page.locator("h1").inner_text()
    assert replay.page.locator("img").count() == 0


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_whole_network_is_in_sight_with_the_controls(
    replay: Opened, width: int, height: int
) -> None:
    page = replay.page
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("scrollTo(0, 0)")
    for step in (0, 12, 30):
        page.locator("#scrub").fill(str(step))
        page.evaluate("scrollTo(0, 0)")
        controls = page.locator(".player").bounding_box()
        assert controls["y"] + controls["height"] <= height + 1
        for host in page.locator(".host").all():
            box = host.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] >= page.locator(".top").bounding_box()["height"]
            assert box["y"] + box["height"] <= controls["y"]
    assert page.locator(".host").count() == 13
    page.set_viewport_size({"width": 1280, "height": 900})


def test_every_step_tells_why(replay: Opened) -> None:
    page = replay.page
    for step in (1, 12, 30):
        page.locator("#scrub").fill(str(step))
        now = frame(page, step)
        rows = page.locator("#now-choices li:visible")
        shown = [
            [row.locator(".choice-name").inner_text(), row.locator(".choice-chance").inner_text()]
            for row in rows.all()
        ]
        assert [name for name, _ in shown] == [name for name, _, _ in now["choices"]]
        for (_, text), (_, chance, _) in zip(shown, now["choices"], strict=True):
            assert float(text.split("\xa0")[0]) == pytest.approx(100 * chance, abs=0.051)
        due = page.locator("#now-due").inner_text()
        assert (now["due"] or "no fix") in due
        assert all(host in due for host in now["dueHosts"])


@pytest.mark.slow
def test_keys_step_jump_play_and_pause(replay: Opened) -> None:
    page = replay.page
    last = len(page.evaluate("pageData.frames")) - 1
    page.locator("h1").click()
    page.keyboard.press("Home")
    for key, expected in (
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", last),
        ("ArrowRight", last),
        ("Home", 0),
        ("ArrowLeft", 0),
    ):
        page.keyboard.press(key)
        assert at(page) == expected
    page.locator("#speed").select_option("15")
    page.locator("h1").click()
    page.keyboard.press("Space")
    assert page.locator("#play").text_content() == "Pause"
    wait_until(lambda: at(page) >= 3)
    page.keyboard.press("Space")
    assert page.locator("#play").text_content() == "Play"
    stopped = at(page)
    page.wait_for_timeout(300)
    assert at(page) == stopped


@pytest.mark.slow
def test_playing_ends_with_the_episode_and_starts_again(replay: Opened) -> None:
    page = replay.page
    last = len(page.evaluate("pageData.frames")) - 1
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.locator("#play").click()
    wait_until(lambda: page.locator("#play").text_content() == "Play")
    assert at(page) == last
    page.locator("#play").click()
    wait_until(lambda: at(page) < 20)
    page.locator("#play").click()


@pytest.mark.slow
def test_the_slider_and_the_timeline_go_to_a_step(replay: Opened) -> None:
    page = replay.page
    page.locator("#scrub").fill("17")
    assert page.locator("#now-title").text_content() == "Step 17 of 30"
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowRight")
    assert at(page) == 18  # once, not twice
    page.evaluate(
        "document.getElementById('timeline').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    box = page.locator("#timeline .nsewdrag").first.bounding_box()
    x, y = box["x"] + 0.25 * box["width"], box["y"] + 0.4 * box["height"]
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(300)
    page.mouse.click(x, y)
    wait_until(lambda: at(page) != 18)
    assert at(page) in (7, 8)


def known_words(user: float, privileged: float) -> str:
    """How a host's probabilities are written."""

    def percent(chance: float) -> str:
        return f"{min(max(math.floor(100 * chance + 0.5), 1), 99)}\xa0%"

    certain = {(0.0, 0.0): "no access", (1.0, 0.0): "user", (0.0, 1.0): "privileged"}
    if (user, privileged) in certain:
        return certain[user, privileged]
    held = "held" if user + privileged > 0.9999 else f"{percent(user + privileged)} held"
    return held + (f", {percent(privileged)} privileged" if user and privileged else "")


@pytest.mark.slow
def test_every_step_shows_what_happened_and_the_whole_network(replay: Opened) -> None:
    page = replay.page
    words = {"none": "no access", "user": "user", "privileged": "privileged"}
    judged = 0
    for number in range(1, 31):
        page.locator("#scrub").fill(str(number))
        now = frame(page, number)
        assert page.locator("#now-blue").text_content() == now["blue"]
        assert page.locator("#now-red").text_content() == now["red"]
        assert float(page.locator("#now-reward").text_content()) == now["reward"]
        assert float(page.locator("#now-total").text_content()) == now["total"]
        access = page.locator(".host [data-part=access]").all_text_contents()
        by_host = page.eval_on_selector_all(".host", HOSTS)
        assert access == [words[now["hosts"][host]["access"]] for host in by_host]
        known = page.locator(".host [data-part=known]").all_text_contents()
        assert known == [known_words(*now["known"][host]) for host in by_host]
        shown = page.locator("#now-known").text_content()
        assert ("B_line" in shown) == ("bline" in now["redKnown"])
        assert ("is running" in shown) == (now["otStoppedKnown"] == 0)
        verdict = page.locator("#now-verdict")
        assert verdict.is_visible() == (now["verdict"] != "no fix")
        if verdict.is_visible():
            assert verdict.text_content() == f"{now['verdict']}: {now['why']}."
            judged += 1
        marked = page.eval_on_selector_all(".host.by-blue", HOSTS)
        assert marked == ([now["blueHost"]] if now["blueHost"] >= 0 else [])
    assert judged > 0


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_replay_is_readable(replay: Opened, width: int, scheme: str) -> None:
    page = replay.page
    screen(page, width, scheme)
    for number in (0, 12, 30):
        page.locator("#scrub").fill(str(number))
        found = page.evaluate(AUDIT)
        assert found["problems"] == []
    assert found["texts"] > 100
    assert drawn(page)["timeline"] > 30
    assert replay.said == []
