"""The tables of a run: every update and every episode, made of the raw logs of its trainings."""

import io
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from workflow_rl.files import open_unlinked, write_atomically
from workflow_rl.runs.folder import CsvLog, episode_schema
from workflow_rl.runs.pool import Row
from workflow_rl.runs.store import EPISODES_FILE, TENSORBOARD, TRAINING_LOG, TRAININGS, RunDirectory
from workflow_rl.workflow.episode_orders import EpisodeOrders, episode_orders_of

if TYPE_CHECKING:
    import pyarrow as pa

SCALARS: Final = {  # CleanRL's names -> our columns
    "charts/episodic_return": "env_reward",
    "charts/compliance_observed": "compliance_observed",
    "charts/compliance_true": "compliance_true",
    "charts/alignment_weight": "alignment_weight",
    "losses/policy_loss": "policy_loss",
    "losses/value_loss": "value_loss",
    "losses/entropy": "entropy",
    "losses/approx_kl": "approx_kl",
    "losses/clipfrac": "clipfrac",
    "losses/explained_variance": "explained_variance",
    "system/cpu_percent": "cpu_percent",
    "system/rss_mb": "rss_mb",
}
SPEED: Final = "charts/SPS"  # transitions per second, which is no column


class RunTables:
    """`training_log.csv`, `episodes.parquet` and TensorBoard's events of a run that goes on."""

    def __init__(self, directory: RunDirectory) -> None:
        """Opens the run's tables; `rebuild` takes in what earlier attempts left."""
        self._directory = directory
        (directory.path / TRAININGS).mkdir(exist_ok=True)
        self._log = CsvLog(directory.path / TRAINING_LOG)
        self._board = TensorBoardLog(directory.path / TENSORBOARD)
        self._opened = time.perf_counter()
        self._rebuilt = 0.0
        config = directory.config
        steps = config.train.rollout_steps(config.game.episode_length)
        self._per_update = config.train.n_envs * steps
        self._played = 0  # transitions since the tables were opened

    @property
    def age(self) -> float:
        """Seconds since the tables were last made of the raw logs."""
        return time.perf_counter() - self._rebuilt

    def add(self, rows: Sequence[Row]) -> None:
        """Adds updates of a training."""
        self._log.append(*rows)
        for row in rows:
            self._played += self._per_update
            speed = self._played / (time.perf_counter() - self._opened)
            self._board.add(row, speed)

    def rebuild(self, trainings: Iterable[str]) -> None:
        """Makes the tables out of the raw logs of the named trainings, in that order.

        Raises:
            InvalidInputError: a raw log is damaged; the tables stay as they are.
        """
        rows: list[Row] = []
        parts = {}
        for name in trainings:
            folder = self._directory.training(name)
            folder.check_logs()
            rows += folder.updates.rows()
            parts[name] = folder.episodes.read()
        self._rebuilt = time.perf_counter()
        if rows:
            self._log.rewrite(rows)
            orders = episode_orders_of(
                self._directory.config.train, self._directory.config.game.network
            )
            write_episodes(self._directory.path / EPISODES_FILE, parts, orders)


def write_episodes(path: Path, parts: "Mapping[str, pa.Table]", orders: EpisodeOrders) -> None:
    """Writes all episodes, by training, as one Parquet file, atomically; orders by their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    episodes = pa.concat_tables([*parts.values(), episode_schema().empty_table()])
    names = [name for name, part in parts.items() for _ in range(len(part))]
    met, which = np.unique(episodes["order"].to_numpy(), return_inverse=True)
    workflows = pa.array(orders.formatted(met), pa.string())
    columns: dict[str, Any] = {
        "training": pa.array(names, pa.string()).dictionary_encode(),
        "workflow": pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), workflows),
    }
    columns |= {name: episodes[name] for name in episodes.column_names if name != "order"}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    write_atomically(path, sink.getvalue())


class TensorBoardLog:
    """The figures of updates for TensorBoard, under CleanRL's names: a folder per training.

    By TensorBoard's own writer of records, without its thread, in which a full disk would be a
    traceback instead of our error. No file stays open: there may be thousands of trainings.
    """

    def __init__(self, folder: Path) -> None:
        """Makes the folder; that of a training is made with its first update."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        )

    def add(self, row: Row, sps: float) -> None:
        """Adds an update's row at the transitions of its training so far."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        values = {name: float(row[column]) for name, column in SCALARS.items()} | {SPEED: sps}
        told = [{"tag": name, "simple_value": value} for name, value in values.items()]
        events: list[dict[str, Any]] = [
            {"step": int(row["transitions"]), "summary": {"value": told}}
        ]
        path = self._folder / str(row["training"]) / self._name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            events.insert(0, {"file_version": "brain.Event:2"})
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with closing(RecordWriter(open_unlinked(path, flags, buffering=0))) as records:
            for event in events:
                records.write(Event(wall_time=time.time(), **event).SerializeToString())
