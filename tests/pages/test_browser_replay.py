"""The replay in a real browser."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser import AUDIT, SCREENS, Opened, drawn, open_file, screen, wait_until
from tests.pages.replays import replayed
from tests.pages.runs import HOSTILE
from workflow_rl.agents.policy import load_policy
from workflow_rl.pages.replay import write_replay

HOSTS = "(cards) => cards.map((card) => Number(card.dataset.host))"


@pytest.fixture(scope="module")
def replay(browser: Any, real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    file = tmp_path_factory.mktemp("replay") / "replay.html"
    played = replayed(load_policy(real_run), HOSTILE, red_agent="meander", sampled=True)
    return open_file(browser, write_replay(played, file))


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
def test_the_network_is_in_sight_with_the_controls(replay: Opened, width: int, height: int) -> None:
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


@pytest.mark.parametrize("width", [390, 1280])
def test_the_chart_has_its_legend(replay: Opened, width: int) -> None:
    screen(replay.page, width, "light")
    legend = replay.page.locator("#timeline g.legend")
    assert legend.is_visible()
    assert "return so far" in legend.text_content()


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
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.locator("#play").click()
    wait_until(lambda: page.locator("#play").text_content() == "Play")
    assert at(page) == last  # playing ends with the episode
    page.locator("#play").click()
    wait_until(lambda: at(page) < 20)  # and starts again
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
        names = page.locator("#now-choices li:visible .choice-name").all_inner_texts()
        chances = page.locator("#now-choices li:visible .choice-chance").all_inner_texts()
        assert names == [name for name, _, _ in now["choices"]]
        shares = [float(text.split("\xa0")[0]) for text in chances]
        assert shares == pytest.approx([100 * chance for _, chance, _ in now["choices"]], abs=0.051)
        due = page.locator("#now-due").inner_text()
        assert all(part in due for part in (now["due"] or "no fix", *now["dueHosts"]))
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
