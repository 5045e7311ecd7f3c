"""The tables of a run: every update and every episode, made of the raw logs of its trainings."""

import time
from collections.abc import Iterable, Sequence

from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.logs import CsvLog, Row, TensorBoardLog, write_episodes
from workflow_rl.runs.store import EPISODES_FILE, TENSORBOARD, TRAINING_LOG, TRAININGS, RunDirectory
from workflow_rl.workflow.episode_orders import episode_orders_of


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
        self._per_update = config.train.n_envs * config.train.rollout_steps(
            config.game.episode_length
        )
        self._played = 0  # transitions since the tables were opened
        self.transitions = 0  # of the whole run

    @property
    def age(self) -> float:
        """Seconds since the tables were last made of the raw logs."""
        return time.perf_counter() - self._rebuilt

    def add(self, rows: Sequence[Row]) -> None:
        """Adds updates of a training."""
        self._log.append(*rows)
        for row in rows:
            self.transitions += self._per_update
            self._played += self._per_update
            speed = self._played / (time.perf_counter() - self._opened)
            self._board.add(row, self.transitions, speed)

    def rebuild(self, trainings: Iterable[str]) -> None:
        """Makes the tables out of the raw logs of the named trainings, in that order.

        Raises:
            InvalidInputError: a raw log is damaged; the tables stay as they are.
        """
        rows: list[Row] = []
        parts = {}
        self.transitions = 0
        for name in trainings:
            folder = self._directory.training(name)
            folder.check_logs()
            updates = folder.updates.rows()
            rows += updates
            try:
                self.transitions += int(updates[-1]["transitions"]) if updates else 0
            except (KeyError, ValueError) as error:
                path = folder.updates.path
                raise InvalidInputError(f"{path} is damaged: {folder.remedy(path)}") from error
            parts[name] = folder.episodes.read()
        self._rebuilt = time.perf_counter()
        if rows:
            self._log.rewrite(rows)
            orders = episode_orders_of(self._directory.config.train)
            write_episodes(self._directory.path / EPISODES_FILE, parts, orders)

    def close(self) -> None:
        """Closes TensorBoard's file."""
        self._board.close()
