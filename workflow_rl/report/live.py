"""A search that keeps its report up to date while it goes on; from Python `workflow_rl.search`."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.policy import load_policy
from workflow_rl.config import Execution, ExperimentConfig
from workflow_rl.config.checks import file_path, instance
from workflow_rl.errors import InvalidInputError
from workflow_rl.report.replay import MOST_STEPS, play_policy
from workflow_rl.report.replay_page import write_replay
from workflow_rl.report.report import write_report
from workflow_rl.runs.search import open_search
from workflow_rl.runs.store import REPLAY_FILE, REPORT_FILE, stored_config
from workflow_rl.runs.summary import SearchOutcome

EVERY: Final = 30.0  # seconds between reports at least
_PATIENCE: Final = 50.0  # and so many times what the last one took: at most 2 % of the run's time
_REPLAY_SEED: Final = 0


class LiveReport:
    """The report of a run that goes on, written now and then.

    Whatever goes wrong with a report is said once, and the run goes on.
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
            complain: told, in a sentence, that a report could not be written.
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
        """Writes the report of the ended run and a replay beside it; returns those that are there.

        Args:
            only_missing: whether pages that are there stay as they are.
        """
        self._complaints.clear()
        report, replay = self._path / REPORT_FILE, self._path / REPLAY_FILE
        files = []
        kept = only_missing and replay.exists()
        if kept or self._attempt("replay", lambda: write_recommended_replay(self._path)):
            files.append(replay)
        kept = only_missing and report.exists()
        if kept or self._attempt("report", lambda: write_report([self._path], report)):
            files.insert(0, report)
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
    red_agent = stored_config(run).game.red_agent  # the policy may know others, too
    replay = play_policy(policy, run, seed=_REPLAY_SEED, episode_length=steps, red_agent=red_agent)
    return write_replay(replay, run / REPLAY_FILE)


def search(
    config: ExperimentConfig | None = None,
    *,
    units: str | Path | Mapping[str, Sequence[str]] | None = None,
    require: Sequence[str] | None = None,
    checkpoint_dir: str | Path = "logs",
    resume: str | Path | None = None,
    execution: Execution | None = None,
) -> SearchOutcome:
    """Searches the workflows, as `workflow-rl search` does, and writes the run's report.

    Args:
        config: everything the run depends on; by default that of the command line.
        units: what workflows order: types, hosts, subnets, a TOML file or groups of hosts; by
            default the configuration's.
        require: what every order must agree with, such as "op_server > user"; by default the
            configuration's.
        checkpoint_dir: where the run directory is made.
        resume: an interrupted run's directory to go on with; `config` is then its own.
        execution: where workflows are trained: here, in processes or on Ray.

    Returns:
        Every trial, the recommendation, and the run directory with policies, logs and report.
    """
    given = {"units": units, "require": require}
    asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if asked and resume is not None:
        raise InvalidInputError(f"{next(iter(asked))} of a resumed search are its own")
    if asked:
        config = instance("config", config or ExperimentConfig(), ExperimentConfig)
        config = replace(config, train=replace(config.train, **asked))
    with open_search(
        config,
        checkpoint_dir=file_path("checkpoint_dir", checkpoint_dir),
        resume=None if resume is None else file_path("resume", resume),
        execution=execution,
    ) as run:
        report, was_finished = LiveReport(run.directory.path, warnings.warn), run.is_finished
        for _ in run.events():
            report.refresh()
    assert run.outcome is not None
    report.conclude(only_missing=was_finished)
    return run.outcome
