import warnings
from pathlib import Path

import pytest
from workflow_rl.ordersearch.loop import Trial

from tests.report.runs import write_run
from tests.runs.toy import tiny
from workflow_rl import search
from workflow_rl.report import live
from workflow_rl.report.live import ReportListener
from workflow_rl.runs.logs import Row
from workflow_rl.train.job import TrainResult


class Heard:
    """A listener that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def began(self, phase: str, detail: str) -> None:
        self.calls.append("began")

    def updated(self, row: Row) -> None:
        self.calls.append("updated")

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        self.calls.append("finished")


class Clock:
    """A clock that only goes when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def listener(run: Path, clock: Clock, said: list[str]) -> ReportListener:
    return ReportListener(run, Heard(), said.append, every=30.0, clock=clock)


def test_everything_is_passed_on(run: Path, clock: Clock) -> None:
    heard = Heard()
    told = ReportListener(run, heard, print, clock=clock)
    told.began("base", "all orders")
    told.updated({})
    assert heard.calls == ["began", "updated"]


def test_the_report_is_written_at_most_every_so_often(run: Path, clock: Clock) -> None:
    told = listener(run, clock, [])
    file = run / "report.html"
    told.updated({})
    assert not file.exists()
    clock.now += 31
    told.updated({})
    assert file.exists()
    file.unlink()
    for _ in range(5):
        clock.now += 5
        told.updated({})
    assert not file.exists()
    clock.now += 6
    told.updated({})
    assert file.exists()


def test_a_slow_report_is_written_less_often(
    run: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def slow(runs: list[Path], output: Path) -> None:
        clock.now += 10  # on some disk far away
        written.append(clock.now)

    monkeypatch.setattr(live, "write_report", slow)
    told = listener(run, clock, [])
    for _ in range(3_000):
        clock.now += 1
        told.updated({})
    assert 10 * len(written) <= 0.025 * 3_000 + 10


def test_a_report_that_cannot_be_written_is_told_once_and_stops_nothing(
    run: Path, clock: Clock
) -> None:
    (run / "report.html").mkdir()  # a folder in the way
    (run / "report.html" / "file").touch()
    said: list[str] = []
    told = listener(run, clock, said)
    for _ in range(4):
        clock.now += 100_000
        told.updated({})
    assert len(said) == 1
    assert said[0].startswith("the report could not be written: ")
    assert told.conclude() == []
    assert len(said) == 3  # at the end once more, and of the replay: there is no policy
    assert said[1].startswith("the replay could not be written: ")
    assert list(run.glob(".*.tmp")) == []


def test_a_search_from_python_leaves_its_report_and_a_replay(tmp_path: Path) -> None:
    outcome = search(tiny(), checkpoint_dir=tmp_path)
    report = (outcome.path / "report.html").read_text(encoding="utf-8")
    assert 'class="status status-finished"' in report
    assert "What is missing" not in report
    assert 'href="replay.html"' in report
    assert "A policy defends the network" in (outcome.path / "replay.html").read_text()


def test_a_search_whose_report_fails_has_searched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(live, "write_report", broken)
    with pytest.warns(UserWarning, match="the report could not be written: no such luck"):
        outcome = search(tiny(), checkpoint_dir=tmp_path)
    assert (outcome.path / "summary.json").exists()
    assert not (outcome.path / "report.html").exists()


def test_however_long_the_episodes_a_replay_is_not(tmp_path: Path) -> None:
    outcome = search(tiny(episode_length=2_500, n_workflows=1), checkpoint_dir=tmp_path)
    assert "2000 steps" in (outcome.path / "replay.html").read_text()


def test_a_run_that_goes_on_finds_its_report_renewed(tmp_path: Path) -> None:
    outcome = search(tiny(), checkpoint_dir=tmp_path)
    (outcome.path / "report.html").write_text("old")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(resume=outcome.path)
    assert "The recommended workflow" in (outcome.path / "report.html").read_text()
