"""The pages of settings, commands and Python are made from the code: up to date, and whole."""

import re
from pathlib import Path

import pytest

import workflow_rl
from docs.pages import COMMAND, page
from workflow_rl.cli import build_parser
from workflow_rl.config import SECTIONS, setting_fields

DOCS = Path(__file__).resolve().parent.parent / "docs"
_NAME = re.compile(r"\| `(?:workflow_rl\.[\w.]+\.)?(\w+)[^`]*` \| (.*?) \|")


def rows(name: str) -> list[str]:
    return [line for line in page(name).splitlines() if line.startswith("|")]


@pytest.mark.parametrize("name", ["settings", "commands", "python"])
def test_a_page_is_up_to_date(name: str) -> None:
    written = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert written == page(name), f"{name}.md is out of date, renew it by: {COMMAND.format(name)}"


def test_the_settings_have_a_row_each() -> None:
    for fields in map(setting_fields, SECTIONS.values()):
        for name, field in fields.items():
            row = next(row for row in rows("settings") if row.startswith(f"| `{name}` |"))
            assert field.text[1:] in row
            assert all(f"`{flag}`" in row for flag in field.flags)


def test_every_public_name_has_a_row_with_a_sentence() -> None:
    told = {match[1]: match[2] for row in rows("python") if (match := _NAME.match(row))}
    assert set(workflow_rl.__all__) - {"__version__"} <= set(told)
    assert all(sentence.endswith(".") for sentence in told.values())
    assert told["search"].startswith("Searches the workflows, as `workflow-rl search` does")
    visible = re.sub(r"<!--.*?-->", "", page("python"), flags=re.DOTALL)
    assert ":::" not in visible  # what only the site understands


def test_the_commands_have_a_section_each_and_rows_of_two_cells() -> None:
    sections = [line[3:] for line in page("commands").splitlines() if line.startswith("## ")]
    assert sections == list(build_parser().commands)
    assert {row.replace("\\|", "").count("|") for row in rows("commands")} == {3}
