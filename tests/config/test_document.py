from pathlib import Path

from workflow_rl.config import ExperimentConfig, setting_fields
from workflow_rl.config.document import COMMAND, document

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "settings.md"


def test_the_page_of_settings_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == document() + "\n", f"docs/settings.md is out of date, renew it by: {COMMAND}"


def test_the_page_has_a_row_for_every_setting() -> None:
    rows = [line for line in document().splitlines() if line.startswith("| `")]
    for section in vars(ExperimentConfig()).values():
        if not isinstance(section, int):
            for name, field in setting_fields(type(section)).items():
                row = next(row for row in rows if row.startswith(f"| `{name}` |"))
                assert field.setting.text[1:] in row
                assert all(f"`{flag}`" in row for flag in field.setting.flags)
