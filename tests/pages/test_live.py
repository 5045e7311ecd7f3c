import shutil
import warnings
from pathlib import Path

import pytest

from tests.pages.runs import write_run
from tests.runs.toy import tiny
from workflow_rl import search
from workflow_rl.pages import live
from workflow_rl.pages.live import LiveReport, recommended_replay
from workflow_rl.runs.trials import SearchOutcome

SHORT = tiny(n_workflows=1, n_envs=2, max_episodes=1, base_updates=1, polish_updates=1)


class Told:
    """The report of a run whose clock only goes when told to, and what it complains of."""

    def __init__(self, run: Path) -> None:
        self.now = 1_000.0
        self.said: list[str] = []
        self.report = LiveReport(run, self.said.append, every=30.0, clock=lambda: self.now)

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.report.refresh()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def test_the_report_is_written_at_most_every_so_often(run: Path) -> None:
    told, file = Told(run), run / "report.html"
    for seconds, is_written in ((0, False), (31, True), *[(5, False)] * 5, (6, True)):
        told.after(seconds)
        assert file.exists() == is_written
        file.unlink(missing_ok=True)


def test_a_slow_report_is_written_less_often(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, written = Told(run), []

    def slow(runs: list[Path], output: Path) -> None:
        told.now += 10  # on some disk far away
        written.append(told.now)

    monkeypatch.setattr(live, "write_report", slow)
    for _ in range(3_000):
        told.after(1)
    assert 10 * len(written) <= 0.025 * 3_000 + 10


def test_a_report_that_cannot_be_written_is_told_once_and_stops_nothing(run: Path) -> None:
    (run / "report.html").mkdir()  # a folder in the way
    (run / "report.html" / "file").touch()
    told = Told(run)
    for _ in range(4):
        told.after(100_000)
    said = told.said
    assert len(said) == 1
    assert said[0].startswith("the report could not be written: ")
    assert told.report.conclude() == []
    assert len(said) == 3  # at the end once more, and of the replay: there is no policy
    assert said[1].startswith("the replay could not be written: ")
    assert list(run.glob(".*.tmp")) == []


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    """A search from Python."""
    return search(SHORT, checkpoint_dir=tmp_path_factory.mktemp("logs"))


def test_a_search_from_python_leaves_its_report_and_a_replay(outcome: SearchOutcome) -> None:
    report = (outcome.path / "report.html").read_text(encoding="utf-8")
    assert 'class="status status-finished"' in report
    assert "What is missing" not in report
    assert 'href="replay.html"' in report
    assert " against B_line, under " in (outcome.path / "replay.html").read_text()


def test_a_search_whose_report_fails_has_searched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(live, "write_report", broken)
    with pytest.warns(UserWarning, match="the report could not be written: no such luck"):
        outcome = search(SHORT, checkpoint_dir=tmp_path)
    assert (outcome.path / "summary.json").exists()
    assert not (outcome.path / "report.html").exists()


def test_however_long_the_episodes_a_replay_is_not(
    outcome: SearchOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_STEPS", 7)
    assert recommended_replay(outcome.path).episode.length == 7 < SHORT.game.episode_length


def test_a_resumed_run_renews_its_report(outcome: SearchOutcome, tmp_path: Path) -> None:
    run = Path(shutil.copytree(outcome.path, tmp_path / "run"))
    (run / "report.html").write_text("old")
    (run / "summary.json").unlink()  # it had not come to its end
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(resume=run)
    assert "What the search found" in (run / "report.html").read_text()
