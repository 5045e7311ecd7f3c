import json
from pathlib import Path

import pytest

from tests.cli.run import refusal, run_here


def test_a_soak_tells_of_steps_memory_wrong_rows_and_restarts(tmp_path: Path) -> None:
    args = ("--minutes", "0.02", "--n-envs", "5", "--json", "figures.json")
    shown = run_here("bench", "soak", *args, cwd=tmp_path)
    found = json.loads((tmp_path / "figures.json").read_text())
    assert found["steps"] > 5
    assert found["compared_rows"] == 3 * found["steps"] // 5
    assert (found["wrong_rows"], found["restarts"]) == (0, 0)
    assert f"0 of {found['compared_rows']:,} compared rows wrong" in shown
    assert all(look["memory_bytes"] > 10**6 for look in found["looks"])


@pytest.mark.parametrize(
    ("flag", "value"), [("--minutes", "0"), ("--minutes", "nan"), ("--n-envs", "0")]
)
def test_what_cannot_be_soaked_is_refused(
    flag: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(["bench", "soak", flag, value], capsys, tmp_path)
