"""The raw logs of a training while it goes on: rows per update and per episode."""

import csv
import functools
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_rl.errors import InvalidInputError
from workflow_rl.files import append, write_atomically
from workflow_rl.train.usage import Usage

if TYPE_CHECKING:  # a reader of logs does not wait for the networks
    import pyarrow as pa

    from workflow_rl.train.episodes import Episodes
    from workflow_rl.train.loop import UpdateRecord

Row = Mapping[str, Any]


def update_row(training: str, workflow: str, record: "UpdateRecord", usage: Usage) -> Row:
    """Returns the row of an update: what was trained, how it went, what it cost."""
    row = {"training": training, "workflow": workflow}
    for f in fields(record):
        if f.name != "stats":
            row[f.name] = getattr(record, f.name)
    return row | asdict(record.stats) | asdict(usage)


class CsvLog:
    """A table that grows row by row and survives being cut off anywhere."""

    def __init__(self, path: Path) -> None:
        """Opens the table; it is made with its first row."""
        self.path = path

    def append(self, *rows: Row) -> None:
        """Adds rows at the end."""
        if not rows:
            return
        append(self.path, _as_csv(list(rows), header=_is_new(self.path)).encode())

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
        rows = list(rows)
        write_atomically(self.path, _as_csv(rows, header=True).encode() if rows else b"")


def _as_csv(rows: list[Row], *, header: bool) -> str:
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
    return value


def _is_new(path: Path) -> bool:
    """Returns whether a log has nothing in it yet."""
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
