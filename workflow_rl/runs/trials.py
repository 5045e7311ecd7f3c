"""The trials of a run as its directory keeps them: decided, under way, done or failed."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from workflow_rl.errors import InvalidInputError
from workflow_rl.files import json_text, read_json, write_atomically
from workflow_rl.ordersearch.loop import Done, Failed, Trial
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.decisions import decision_of
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import TrainingFolder, load_result, result_numbers
from workflow_rl.train.loop import TrainResult

_FILE: Final = "trials.json"


def trial_name(trial: Trial) -> str:
    """Returns the name of a trial's training in logs and folders."""
    return f"trial_{trial.number:03d}"


@dataclass
class Earlier:
    """What earlier attempts at a run left."""

    begun: list[tuple[Trial, Decision]] = field(default_factory=list)
    done: list[Done[TrainResult]] = field(default_factory=list)
    failed: list[Trial] = field(default_factory=list)
    seconds: float = 0.0  # when the last of it was noted


class TrialBook:
    """What is noted of every trial, on disk after each change."""

    def __init__(self, directory: RunDirectory) -> None:
        """Names the file; `read` takes in what it holds."""
        self._directory = directory
        self._path = directory.path / _FILE
        self.entries: list[dict[str, Any]] = []  # by number
        self._lines: list[str] = []  # as they stand in the file: a change encodes only its own

    def read(self, retry_failed: bool = False) -> Earlier:
        """Returns what earlier attempts left.

        Args:
            retry_failed: whether failed trials count as begun, to be tried once more.

        Raises:
            InvalidInputError: the file is damaged, or disagrees with the results.
        """
        self.entries = read_json(self._path) if self._path.exists() else []
        earlier = Earlier()
        try:
            if not isinstance(self.entries, list):
                raise TypeError("no list")
            for number, entry in enumerate(self.entries):
                trial, decision = Trial(**entry["trial"]), decision_of(entry["decision"])
                if trial.number != number or not {"start", "pick_seconds"} <= set(entry):
                    raise KeyError(number)
                earlier.seconds = max(earlier.seconds, entry["run_seconds"])
                if "result" in entry:
                    result = self._result(trial, entry["result"])
                    earlier.done.append(Done(trial, decision, result))
                elif "failed" in entry and not retry_failed:
                    earlier.failed.append(trial)
                else:
                    entry.pop("failed", None)
                    earlier.begun.append((trial, decision))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"{self._path} is damaged: it is not a list of trials of this version"
            ) from error
        self._lines = [json_text(entry) for entry in self.entries]
        return earlier

    def _result(self, trial: Trial, noted: dict[str, Any]) -> TrainResult:
        path = TrainingFolder(self._directory.trial(trial_name(trial))).result
        result = load_result(path)
        if any(noted[k] not in (v, None) for k, v in result_numbers(result).items()):
            raise InvalidInputError(f"{path} is not the result that {_FILE} tells of")
        return result

    def pick(
        self, trial: Trial, decision: Decision, start: str | None, took: float, seconds: float
    ) -> None:
        """Notes a decision.

        Args:
            trial: that was decided on.
            decision: and why.
            start: name of the training it goes on from.
            took: seconds of deciding.
            seconds: of the run up to here.
        """
        self.entries.append(
            {
                "trial": asdict(trial),
                "decision": asdict(decision),
                "pick_seconds": took,
                "start": start,
                "run_seconds": seconds,
            }
        )
        self._lines.append("")
        self._write(trial.number)

    def end(self, trial: Trial, result: TrainResult | Failed, seconds: float) -> None:
        """Notes how a trial ended, after so many seconds of the run."""
        entry = self.entries[trial.number]
        if isinstance(result, Failed):
            entry["failed"] = result.reason
        else:
            entry["result"] = result_numbers(result)
        entry["run_seconds"] = seconds
        self._write(trial.number)

    def start_of(self, trial: Trial) -> str | None:
        """Returns the name of the training a trial goes on from, as noted when it was decided."""
        name: str | None = self.entries[trial.number]["start"]
        return name

    @property
    def names(self) -> list[str]:
        """The trainings of all trials."""
        return [trial_name(Trial(**entry["trial"])) for entry in self.entries]

    @property
    def failures(self) -> list[tuple[int, str]]:
        """The order of every failed trial, and why it failed."""
        return [
            (entry["trial"]["order"], entry["failed"])
            for entry in self.entries
            if "failed" in entry
        ]

    def _write(self, changed: int) -> None:
        self._lines[changed] = json_text(self.entries[changed])
        write_atomically(self._path, ("[\n" + ",\n".join(self._lines) + "\n]\n").encode())
