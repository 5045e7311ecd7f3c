"""The page of a network."""

import re
from pathlib import Path

from tests.scenario.networks import SMALL
from workflow_rl.pages.network import write_network_page
from workflow_rl.scenario.network_toml import network_from_toml


def test_the_page_shows_the_network_and_loads_nothing(tmp_path: Path) -> None:
    text = SMALL.replace("desk ", '"<b>&desk" ').replace(
        "value = 1,", 'value = 1, blue = "hidden",'
    )
    path = tmp_path / "folder" / "page.html"
    write_network_page(path, network_from_toml(text, "x.toml"))
    page = path.read_text(encoding="utf-8")
    assert "<strong>&lt;b&gt;&amp;desk</strong>" in page
    assert "<b>&desk" not in page
    assert page.count('<div class="zone">') == 2
    assert page.count("Red starts here") == 1
    assert "reached from office" in page
    assert "value 1, of its service 10" in page
    assert '<span class="tag">hidden</span>' in page
    assert "reveals plc" in page
    assert not re.search(r"(?:src|href)=[\"']https?:", page)
    assert len(page) < 100_000  # without the script for figures
