"""Keeps a run's report up to date while the run goes on, without ever being in its way."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from workflow_rl.agents.policy import load_policy
from workflow_rl.ordersearch.loop import Trial
from workflow_rl.report.replay import MOST_STEPS, play_policy
from workflow_rl.report.replay_page import write_replay
from workflow_rl.report.report import REPLAY, REPORT, write_report
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.logs import Row
from workflow_rl.train.loop import TrainResult

EVERY: Final = 30.0  # seconds between reports at least
_PATIENCE: Final = 50.0  # and so many times what the last one took: at most 2 % of the run's time
_REPLAY_SEED: Final = 0


class ReportListener:
    """Passes everything on to another listener and writes the report now and then.

    Whatever goes wrong with a report is said once, and the run goes on.
    """

    def __init__(
        self,
        path: Path,
        inner: Listener,
        complain: Callable[[str], None],
        *,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: the run's directory.
            inner: who else is told.
            complain: told, in a sentence, that a report could not be written.
            every: seconds between reports at least.
            clock: tells the time in seconds.
        """
        self._path = path
        self._inner = inner
        self._complain = complain
        self._every = every
        self._clock = clock
        self._due = clock() + every
        self._complaints: set[str] = set()

    def began(self, phase: str, detail: str) -> None:
        """A phase or a trial begins."""
        self._inner.began(phase, detail)

    def updated(self, row: Row) -> None:
        """An update was made."""
        self._inner.updated(row)
        self._refresh()

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        """A trial is over."""
        self._inner.finished(trial, result, done)
        self._refresh()

    def noticed(self, text: str) -> None:
        """Something out of the ordinary happened."""
        self._inner.noticed(text)

    def _refresh(self) -> None:
        start = self._clock()
        if start < self._due:
            return
        self._attempt("report", lambda: write_report([self._path], self._path / REPORT))
        end = self._clock()
        self._due = end + max(self._every, _PATIENCE * (end - start))

    def conclude(self) -> list[Path]:
        """Writes the report of the ended run and a replay beside it; returns what was written."""
        self._complaints.clear()
        files = []
        if self._attempt("replay", lambda: write_recommended_replay(self._path)):
            files.append(self._path / REPLAY)
        if self._attempt("report", lambda: write_report([self._path], self._path / REPORT)):
            files.insert(0, self._path / REPORT)
        return files

    def _attempt(self, what: str, write: Callable[[], object]) -> bool:
        try:
            write()
        except Exception as error:  # of any kind: a run is worth more than its report
            if what not in self._complaints:
                self._complain(f"the {what} could not be written: {error}")
            self._complaints.add(what)
            return False
        return True


def write_recommended_replay(run: Path) -> Path:
    """Writes an episode of a run's recommended policy into the run's directory."""
    policy = load_policy(run)
    steps = min(int(policy.description.get("episode_length", MOST_STEPS)), MOST_STEPS)
    replay = play_policy(policy, run, seed=_REPLAY_SEED, episode_length=steps)
    return write_replay(replay, run / REPLAY)
