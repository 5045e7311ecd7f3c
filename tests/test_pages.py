"""The pages that are made from the code: up to date, and whole."""

import re
from pathlib import Path

import pytest

import workflow_rl
from docs.pages import COMMAND, page

DOCS = Path(__file__).resolve().parent.parent / "docs"
_NAME = re.compile(r"\| `(?:workflow_rl\.[\w.]+\.)?(\w+)[^`]*` \| (.*?) \|")


def rows(name: str) -> list[str]:
    return [line for line in page(name).splitlines() if line.startswith("|")]


@pytest.mark.parametrize("name", ["settings", "commands", "python", "networks"])
def test_a_page_is_up_to_date(name: str) -> None:
    written = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert written == page(name), f"{name}.md is out of date, renew it by: {COMMAND.format(name)}"


def test_every_public_name_has_a_row_with_a_sentence() -> None:
    told = {match[1]: match[2] for row in rows("python") if (match := _NAME.match(row))}
    assert set(workflow_rl.__all__) - {"__version__"} <= set(told)
    assert all(sentence.endswith(".") for sentence in told.values())
    assert told["search"].startswith("Searches the workflows, as `workflow-rl search` does")
    visible = re.sub(r"<!--.*?-->", "", page("python"), flags=re.DOTALL)
    assert ":::" not in visible  # what only the site understands
