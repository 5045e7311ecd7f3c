"""Headless Chromium: pages from disk, without a network, and what is on the screen."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workflow_rl.pages.style import COLOURS

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
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
FOLLOWED = """(ink) => [...document.querySelectorAll("[data-figure]")]
  .filter((figure) => figure.offsetParent !== null)
  .every((figure) => figure._fullLayout && figure._fullLayout.font.color === ink
    && Math.abs(figure._fullLayout.width - figure.clientWidth) < 2)"""
SCREENS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


def chromium() -> str | None:
    """Where Chromium is, if it is anywhere."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Any]:
    """Chromium, running; the test is skipped where there is none."""
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
