"""What is kept of one training: its checkpoint, its raw logs, its result."""

import contextlib
import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.policy import Weights
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import load_arrays, read_json, save_arrays, write_atomically, write_json
from workflow_rl.runs.logs import CsvLog, EpisodeLog
from workflow_rl.train.job import TrainJob, TrainOutcome

_RESULT_KIND: Final = "training result"


@dataclass(frozen=True)
class TrainingFolder:
    """Where a training keeps what it needs to go on, and what it found."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        """The state after the last update."""
        return self.path / "checkpoint.safetensors"

    @property
    def result(self) -> Path:
        """What was found, once it is over."""
        return self.path / "result.safetensors"

    def snapshot(self, update: int) -> Path:
        """The policy after an update, where it is kept."""
        return self.path / "snapshots" / f"update_{update:06d}.safetensors"

    @property
    def updates(self) -> CsvLog:
        """A row per update."""
        return CsvLog(self.path / "updates.csv")

    @property
    def episodes(self) -> EpisodeLog:
        """A record per episode."""
        return EpisodeLog(self.path / "episodes.arrow")

    @property
    def transitions(self) -> int:
        """Transitions up to the last update.

        Raises:
            InvalidInputError: the log of updates is damaged.
        """
        rows = self.updates.rows()
        try:
            return int(rows[-1]["transitions"]) if rows else 0
        except (KeyError, ValueError) as error:
            path = self.updates.path
            raise InvalidInputError(f"{path} is damaged: {self.remedy(path)}") from error

    @property
    def noted(self) -> Path:
        """How many rows the raw logs hold, and their digests, once it is over."""
        return self.path / "logs.json"

    def clear(self) -> None:
        """Drops what an attempt left that nobody can go on with."""
        self.checkpoint.unlink(missing_ok=True)  # first: without the rest it must not be taken up
        if self.path.exists():
            shutil.rmtree(self.path)

    def files(self) -> dict[str, bytes]:
        """Returns everything that a finished training has left here, by name."""
        found = sorted(path for path in self.path.rglob("*") if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in found}

    def complete(self, files: Mapping[str, bytes]) -> None:
        """Puts here what a training done elsewhere has left; the result, which ends it, last."""
        self.path.mkdir(exist_ok=True)
        for name in sorted(files, key=lambda name: name == self.result.name):
            write_atomically(self.path / name, files[name])

    def save_result(self, job: TrainJob, outcome: TrainOutcome, best: Weights) -> None:
        """Writes what the training of a job gave, and the weights of its best policy.

        What its raw logs hold is noted before, so that a later look can tell whether they still do.
        """
        write_json(self.noted, self._logged())
        description = {"job": job.identity(), "outcome": outcome.as_json()}
        save_arrays(self.result, _RESULT_KIND, dict(best), description)

    def load_result(self, job: TrainJob | None = None) -> tuple[TrainOutcome, Weights]:
        """Reads what the training gave, and the weights of its best policy.

        Raises:
            InvalidInputError: it is missing or damaged, or not the result of the given job.
        """
        weights, description = load_arrays(self.result, _RESULT_KIND)
        if job is not None and description.get("job") != job.identity():
            raise InvalidInputError(
                f"{self.result} belongs to a training with another configuration"
            )
        try:
            return TrainOutcome.from_json(description["outcome"]), weights
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{self.result} is not a result of this version") from error

    def check_logs(self) -> None:
        """Checks that the raw logs of a finished training hold what it wrote.

        Raises:
            InvalidInputError: they do not; the sentence says what can be done.
        """
        if not self.result.exists() or not self.noted.exists():
            return
        then, now = read_json(self.noted), self._logged()
        if then == now:
            return
        for name, log in now.items():
            before = then.get(name) if isinstance(then, dict) else None
            if not isinstance(before, dict):
                raise InvalidInputError(f"{self.noted} is damaged: {self.remedy(self.noted)}")
            if log != before:
                held = f"it holds {log['rows']} of {before.get('rows')} rows"
                if log["rows"] == before.get("rows"):
                    held = "its content is not what was written"
                path = self.path / name
                raise InvalidInputError(f"{path} is damaged: {held}; {self.remedy(path)}")

    def remedy(self, path: Path) -> str:
        """Says what can be done about a damaged file of this training."""
        return (
            f"bring back a copy of {path.name}, or remove {self.path}: --resume then trains it "
            "again, with the same result"
        )

    def _logged(self) -> dict[str, dict[str, Any]]:
        """Returns how many rows each raw log holds, and its digest."""
        counts = {self.episodes.path: len(self.episodes.read()), self.updates.path: 0}
        with contextlib.suppress(InvalidInputError):  # no table at all: no rows
            counts[self.updates.path] = len(self.updates.rows())
        return {
            path.name: {
                "rows": rows,
                "sha256": hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest(),
            }
            for path, rows in counts.items()
        }
