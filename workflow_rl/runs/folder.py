"""What is kept of one training: its raw logs, its checkpoint, its result."""

import contextlib
import csv
import functools
import hashlib
import io
import math
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workflow_rl.errors import InvalidInputError, in_line
from workflow_rl.files import (
    append,
    load_arrays,
    read_json,
    save_arrays,
    write_atomically,
    write_json,
)
from workflow_rl.nets.policy_file import Weights
from workflow_rl.runs.pool import Row
from workflow_rl.train.job import TrainJob, TrainOutcome

if TYPE_CHECKING:  # a reader of logs does not wait for the networks
    import pyarrow as pa

    from workflow_rl.train.episodes import Episodes

_RESULT_KIND: Final = "training result"
_FORMULA: Final = re.compile(r" *([=@]|[+-](?!\d|\.|inf|nan))")  # to a spreadsheet; no number is


class CsvLog:
    """A table that grows row by row and survives being cut off anywhere."""

    def __init__(self, path: Path) -> None:
        """Names the file; it is made with its first row."""
        self.path = path

    def append(self, *rows: Row) -> None:
        """Adds rows at the end."""
        if rows:
            append(self.path, _as_csv(rows, header=_is_new(self.path)))

    def rows(self) -> list[dict[str, str]]:
        """Returns the rows; one that was cut off is left out.

        Raises:
            InvalidInputError: it is no table.
        """
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        try:
            complete = content[: content.rfind(b"\n") + 1].decode()
            rows = list(csv.DictReader(io.StringIO(complete)))
        except (UnicodeDecodeError, csv.Error) as error:
            raise InvalidInputError(f"{self.path} is damaged: it is not a table") from error
        return [row for row in rows if None not in row and None not in row.values()]

    def rewrite(self, rows: Iterable[Row]) -> None:
        """Replaces the table by the given rows, atomically."""
        rows = tuple(rows)
        write_atomically(self.path, _as_csv(rows, header=True) if rows else b"")


def _as_csv(rows: tuple[Row, ...], *, header: bool) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    if header:
        writer.writeheader()
    for row in rows:
        writer.writerow({key: _plain(value) for key, value in row.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(round(value, 9))
    if isinstance(value, str):
        text = in_line(value)
        return f"'{text}" if _FORMULA.match(text) else text
    return value


def _is_new(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


class EpisodeLog:
    """A growing Arrow stream of episodes, one record batch per update; may be cut off anywhere."""

    def __init__(self, path: Path) -> None:
        """Names the file; it is made with its first episodes."""
        self.path = path

    def append(self, update: int, episodes: "Episodes") -> None:
        """Adds the episodes that ended in an update."""
        if not len(episodes):
            return
        import pyarrow as pa

        schema = episode_schema()
        columns = {"update": np.full(len(episodes), update), **vars(episodes)}
        batch = pa.record_batch(
            [pa.array(columns[f.name].astype(f.type.to_pandas_dtype())) for f in schema],
            schema=schema,
        )
        begin = schema.serialize().to_pybytes() if _is_new(self.path) else b""
        append(self.path, begin + batch.serialize().to_pybytes())

    def read(self) -> "pa.Table":
        """Returns the episodes; a batch that was cut off is left out."""
        import pyarrow as pa

        return pa.Table.from_batches(self._batches(), episode_schema())

    def keep_up_to(self, update: int) -> None:
        """Drops the episodes of later updates."""
        if self.path.exists():
            kept = [batch for batch in self._batches() if batch["update"][0].as_py() <= update]
            parts = [episode_schema(), *kept] if kept else []
            content = b"".join(part.serialize().to_pybytes() for part in parts)
            write_atomically(self.path, content)

    def _batches(self) -> "list[pa.RecordBatch]":
        import pyarrow as pa

        found: list[pa.RecordBatch] = []
        if not self.path.exists():
            return found
        try:
            for batch in pa.ipc.open_stream(self.path.read_bytes()):
                batch.validate(full=True)
                if batch.schema != episode_schema() or not len(batch):
                    break
                found.append(batch)
        except (pa.ArrowException, OSError, ValueError, IndexError):
            pass  # OSError: the end is missing; the others: these bytes are no episodes
        return found


@functools.cache
def episode_schema() -> "pa.Schema":
    """Returns the columns of the log of episodes."""
    import pyarrow as pa

    return pa.schema(
        [
            ("update", pa.int32()),
            ("env", pa.int32()),
            ("order", pa.int64()),
            ("env_reward", pa.float32()),
            ("alignment", pa.float32()),
            ("compliance_observed", pa.float32()),
            ("compliance_true", pa.float32()),
            ("fixes", pa.int32()),
        ]
    )


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

    @property
    def noted(self) -> Path:
        """How many rows the raw logs hold, and their digests, once it is over."""
        return self.path / "logs.json"

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
            raise InvalidInputError(f"{path} is damaged: {self._remedy(path)}") from error

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
        """Writes the outcome of a job and the weights of its best policy.

        What its raw logs hold is noted before, so that `check_logs` can tell whether they still do.
        """
        write_json(self.noted, self._logged())
        description = {"job": job.identity(), "outcome": outcome.as_json()}
        save_arrays(self.result, _RESULT_KIND, dict(best), description)

    def load_result(self, job: TrainJob | None = None) -> tuple[TrainOutcome, Weights]:
        """Reads the outcome and the weights of the best policy.

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
                raise InvalidInputError(f"{self.noted} is damaged: {self._remedy(self.noted)}")
            if log != before:
                held = f"it holds {log['rows']} of {before.get('rows')} rows"
                if log["rows"] == before.get("rows"):
                    held = "its content is not what was written"
                path = self.path / name
                raise InvalidInputError(f"{path} is damaged: {held}; {self._remedy(path)}")

    def check_rows(self, updates: int, episodes: int) -> None:
        """Checks that the raw logs of a training under way hold what its checkpoint knows of.

        Args:
            updates: of which there must be a row each.
            episodes: that ended in them.

        Raises:
            InvalidInputError: they do not; the sentence says what can be done.
        """
        numbers = {row.get("update") for row in self.updates.rows()}
        kept = self.episodes.read()["update"].to_numpy()
        for path, held, expected in (
            (self.updates.path, sum(str(u) in numbers for u in range(1, updates + 1)), updates),
            (self.episodes.path, int((kept <= updates).sum()), episodes),
        ):
            if held != expected:
                raise InvalidInputError(
                    f"{path} is damaged: it holds {held} of {expected} rows; {self._remedy(path)}"
                )

    def drop_rows_after(self, update: int) -> None:
        """Drops what the raw logs hold of later updates."""
        if self.updates.path.exists():
            rows = self.updates.rows()
            self.updates.rewrite(row for row in rows if int(row["update"]) <= update)
        self.episodes.keep_up_to(update)

    def _remedy(self, path: Path) -> str:
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
