"""The documentation site: built strictly, used from disk, loading nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser import open_file

pytest.importorskip("mkdocs")

ROOT = Path(__file__).resolve().parent.parent
_LOADED = re.compile(r"<(?:script|img|iframe|link|source)\b[^>]*?\b(?:src|href)=[\"']?([^\"'\s>]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does it: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return folder


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        loaded = _LOADED.findall(page.read_text(encoding="utf-8"))
        assert loaded
        assert [url for url in loaded if "//" in url] == [], page.name


def test_the_search_works_from_disk_the_best_pages_first(site: Path, browser: Any) -> None:
    words = ("resume", "killed", "worker", "cluster")
    opened = open_file(browser, site / "index.html")
    page = opened.page
    page.locator("input.md-search__input").click()
    page.keyboard.insert_text(" ".join(words))
    page.keyboard.press("Shift")  # the page looks when a key is let go
    page.locator(".md-search-result__item").first.wait_for()
    links = page.eval_on_selector_all(
        ".md-search-result__item a:first-of-type", "(all) => all.map((a) => a.pathname)"
    )
    texts: dict[str, str] = {}
    for section in json.loads((site / "search/search_index.json").read_text("utf-8"))["docs"]:
        name = section["location"].split("#")[0]
        texts[name] = f"{texts.get(name, '')} {section['title']} {section['text']}".casefold()
    shown = dict.fromkeys(str(Path(link).relative_to(site)) for link in links)
    found = [sum(bool(re.search(rf"\b{word}", texts[name])) for word in words) for name in shown]
    assert found == sorted(found, reverse=True)
    assert found[0] == len(words) > found[-1]
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith("file:")] == []
