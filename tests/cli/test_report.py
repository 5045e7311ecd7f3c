from pathlib import Path

import pytest

from tests.cli.run import Patch
from tests.pages.runs import log_rows, trial, write_run
from workflow_rl.cli import main


@pytest.fixture
def made(tmp_path: Path) -> Path:
    trials = [trial(k, 17 * k, -20.0 - k) for k in range(4)]
    return write_run(tmp_path / "exp", trials, log_rows("base", None, 3))


def test_several_runs_go_into_one_file(made: Path, monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(made), str(made)]) == 0
    assert "2 runs compared" in (tmp_path / "report.html").read_text()
    assert main(["report", str(made), "--output", "new/folder/one.html"]) == 0
    assert (tmp_path / "new" / "folder" / "one.html").exists()
    assert not (made / "report.html").exists()
