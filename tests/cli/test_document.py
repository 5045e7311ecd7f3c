from pathlib import Path

from workflow_rl.cli import build_parser
from workflow_rl.cli.document import COMMAND, document

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "commands.md"


def test_the_page_of_commands_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == document(), f"docs/commands.md is out of date, renew it by: {COMMAND}"


def test_the_page_has_a_section_for_every_command() -> None:
    sections = {line[3:] for line in document().splitlines() if line.startswith("## ")}
    assert {"search", "train", "evaluate"} <= sections
    [commands] = [a for a in build_parser()._actions if a.dest == "command"]
    assert isinstance(commands.choices, dict)
    assert {section.split()[0] for section in sections} == set(commands.choices)


def test_every_row_has_two_cells() -> None:
    rows = [line for line in document().splitlines() if line.startswith("|")]
    assert len(rows) > 100
    assert [row for row in rows if row.replace("\\|", "").count("|") != 3] == []
