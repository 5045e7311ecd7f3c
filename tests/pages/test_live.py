from pathlib import Path

import pytest

from tests.pages.runs import write_run
from tests.runs.toy import tiny
from workflow_rl import search
from workflow_rl.pages import live
from workflow_rl.pages.live import LiveReport, recommended_replay

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
    monkeypatch.setattr(live, "MOST_STEPS", 7)  # however long the episodes
    assert recommended_replay(outcome.path).episode.length == 7 < SHORT.game.episode_length
