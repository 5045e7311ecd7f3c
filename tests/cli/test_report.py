from pathlib import Path

import pytest

from tests.cli.run import complaint, run
from tests.report.runs import log_rows, trial, write_run
from workflow_rl.cli import main


@pytest.fixture
def made(tmp_path: Path) -> Path:
    trials = [trial(k, 17 * k, -20.0 - k) for k in range(4)]
    return write_run(tmp_path / "exp", trials, log_rows("base", None, 3))


def test_a_run_s_report_is_written_into_it(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(made)]) == 0
    assert capsys.readouterr().out == f"report: {made}/report.html\n"
    assert (made / "report.html").read_text().startswith("<!doctype html>")


def test_several_runs_go_into_one_file_here_or_where_it_is_said(
    made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(made), str(made)]) == 0
    assert "2 runs side by side" in (tmp_path / "report.html").read_text()
    assert main(["report", str(made), "--output", "new/folder/one.html"]) == 0
    assert (tmp_path / "new" / "folder" / "one.html").exists()
    assert not (made / "report.html").exists()


def test_a_folder_that_is_no_run_has_no_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert main(["report", str(folder)]) == 2
    assert f"{folder} is not a run directory" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_a_run_that_has_only_begun_has_a_report_too(tmp_path: Path) -> None:
    folder = tmp_path / "begun"
    (folder / "trainings").mkdir(parents=True)
    assert main(["report", str(folder)]) == 0
    assert "What is missing" in (folder / "report.html").read_text()


def test_a_user_s_mistake_is_one_sentence_and_writes_nothing(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(made.iterdir())
    for args, word in (
        (["nowhere"], "no run directory"),
        ([str(made), "nowhere"], "no run directory"),
        ([str(made)] * 9, "1 to 8 runs"),
        ([str(made), "--landscape", "nowhere.json"], "no file nowhere.json"),
    ):
        assert main(["report", *args]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert word in err
    assert sorted(made.iterdir()) == before


def test_as_a_process_a_mistake_is_one_line(tmp_path: Path) -> None:
    assert "no run directory" in complaint(run("report", "nowhere", cwd=tmp_path))


def test_a_file_that_cannot_be_written_is_a_wrong_request(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(made), "--output", f"{made}/trials.json/report.html"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
