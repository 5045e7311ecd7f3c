import base64
import hashlib
import json
import re
from typing import Any

import pytest

from workflow_rl.report.page import render

SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
NASTY = "</script><script>alert(1)</script><!-- & \u2028 \"'"


def page(**data: Any) -> str:
    """What all pages have in common: the smallest page there is."""
    return render("base.html", assets=(), data=data, figures={})


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
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert allowed == hashes
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert "unsafe-eval" not in policy
    assert "http" not in policy


def test_data_cannot_end_its_element_and_arrives_as_it_was() -> None:
    text = page(name=NASTY)
    start = text.index('id="page-data">') + len('id="page-data">')
    embedded = text[start : text.index("</script>", start)]
    assert "<" not in embedded
    assert json.loads(embedded)["name"] == NASTY


def test_what_is_not_a_number_is_a_mistake_and_not_half_a_page() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        page(value=float("nan"))
