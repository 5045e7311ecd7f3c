"""The report and the replay of a run while it goes on, and at its end."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.pages.replay import MOST_STEPS, Replay, play_agent, write_replay
from workflow_rl.pages.report import write_report
from workflow_rl.runs.store import RECOMMENDED, REPLAY_FILE, REPORT_FILE, stored_config

EVERY: Final = 30.0  # seconds between reports at least
_PATIENCE: Final = 50.0  # and so many times what the last one took: at most 2 % of the run's time
_REPLAY_SEED: Final = 0


class LiveReport:
    """The report of a run in progress, renewed periodically.

    An error in a report is reported once, and the run goes on.
    """

    def __init__(
        self,
        path: Path,
        complain: Callable[[str], None],
        *,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: the run's directory.
            complain: given a sentence when a report could not be written.
            every: seconds between reports at least.
            clock: tells the time in seconds.
        """
        self._path = path
        self._complain = complain
        self._every = every
        self._clock = clock
        self._due = clock() + every
        self._complaints: set[str] = set()

    def refresh(self) -> None:
        """Writes the report anew, if it is time."""
        start = self._clock()
        if start < self._due:
            return
        self._attempt("report", lambda: write_report([self._path], self._path / REPORT_FILE))
        end = self._clock()
        self._due = end + max(self._every, _PATIENCE * (end - start))

    def conclude(self, *, only_missing: bool = False) -> list[Path]:
        """Writes the replay and then the report of the ended run; returns those that are there.

        Args:
            only_missing: whether pages that are there stay as they are.
        """
        self._complaints.clear()
        report, replay = self._path / REPORT_FILE, self._path / REPLAY_FILE
        pages: dict[Path, Callable[[], object]] = {  # the report links to the replay
            replay: lambda: write_replay(recommended_replay(self._path), replay),
            report: lambda: write_report([self._path], report),
        }
        there: list[Path] = []
        for page, write in pages.items():
            if (only_missing and page.exists()) or self._attempt(page.stem, write):
                there.insert(0, page)
        return there

    def _attempt(self, what: str, write: Callable[[], object]) -> bool:
        try:
            write()
        except Exception as error:  # of any kind: a report never stops a run
            if what not in self._complaints:
                self._complain(f"the {what} could not be written: {error}")
            self._complaints.add(what)
            return False
        return True


def recommended_replay(run: Path) -> Replay:
    """Returns an episode of a search's recommended policy, in the game of the search."""
    game = stored_config(run).game
    game = replace(game, episode_length=min(game.episode_length, MOST_STEPS))
    agent = PolicyAgent(load_policy(run), RECOMMENDED)
    return play_agent(agent, game, _REPLAY_SEED, who=run.resolve().name)
