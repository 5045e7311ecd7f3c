"""How far a run is, from its directory alone: what `workflow-rl watch` shows."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from workflow_rl.config import ExperimentConfig, responses_of
from workflow_rl.pages.rundata import RunData, curve_of, number, read_run
from workflow_rl.runs.store import BASE, POLISH, RECOMMENDED, TRAINING_LOG, is_response
from workflow_rl.runs.tables import SCALARS, SPEED
from workflow_rl.runs.trials import Trial, with_status
from workflow_rl.workflow.orders import Orders

_TAIL: Final = 1 << 16  # bytes at the end of the log that are looked at
_RECENT: Final = 20  # updates over which speed is measured
_FEWEST: Final = 2  # trials done before anything is said of the time left


def planned_updates(config: ExperimentConfig, training: str) -> int:
    """Returns how many updates a training of a run makes at most."""
    planned = {BASE: config.search.base_updates, POLISH: config.polish_updates}
    if config.train.side == "blue" and is_response(training):
        config = responses_of(config, RECOMMENDED)
    return planned.get(training, config.train.max_updates(config.game.episode_length))


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment."""

    run: RunData
    training: str  # the one whose update came last, "" before the first
    update: int
    updates: int  # planned for it, 0 if that is not known
    done: int  # trials
    planned: int  # trials, 0 if that is not known
    best: Trial | None  # the best compliant trial
    rewards: Sequence[float]  # of that training's last updates
    scalars: Mapping[str, float]  # of the last update, under their names in TensorBoard
    seconds_left: float  # until the last trial is done, NaN if nothing can be said


def take_snapshot(path: Path) -> Snapshot:
    """Looks at a run's directory.

    Raises:
        InvalidInputError: there is no such directory.
    """
    run = read_run(path, curves=False)
    rows = last_rows(path / TRAINING_LOG)
    training = rows[-1].get("training", "") if rows else ""
    ended = with_status(run.trials, "done")
    compliant = [(t.tried.value, t) for t in ended if t.tried and t.tried.is_compliant]
    searches = run.config is not None and run.is_search
    return Snapshot(
        run=run,
        training=training,
        update=int(np.nan_to_num(number(rows[-1].get("update")))) if rows else 0,
        updates=planned_updates(run.config, training) if run.config and training else 0,
        done=len(ended),
        planned=run.config.search.n_workflows if run.config and searches else 0,
        best=max(compliant, key=lambda pair: pair[0])[1] if compliant else None,
        rewards=[
            number(row.get("env_reward")) for row in rows if row.get("training", "") == training
        ],
        scalars=_scalars(rows, run.orders),
        seconds_left=_seconds_left(run, ended),
    )


def last_rows(path: Path) -> list[dict[str, str]]:
    """Returns the last rows of a log, without reading all of it; those that are whole."""
    try:
        with path.open("rb") as file:
            header = file.readline().decode()
            start = file.tell()
            end = file.seek(0, io.SEEK_END)
            file.seek(max(start, end - _TAIL))
            if file.tell() > start:
                file.readline()  # perhaps only the end of a row
            text = file.read().decode()
    except (OSError, UnicodeDecodeError):
        return []
    reader = csv.DictReader(io.StringIO(header + text[: text.rfind("\n") + 1]))
    return [row for row in reader if None not in row and None not in row.values()]


def _scalars(rows: list[dict[str, str]], orders: Orders) -> dict[str, float]:
    """Returns the last update's figures; the speed is that of the last few of one training."""
    if not rows:
        return {}
    values = {name: number(rows[-1].get(column)) for name, column in SCALARS.items()}
    training = rows[-1].get("training", "")
    same = [row for row in rows[-_RECENT:] if row.get("training", "") == training]
    curve = curve_of(training, same, orders)
    seconds, played = curve.seconds[1:].sum(), curve.played[1:].sum()
    return values | {SPEED: float(played / seconds) if seconds > 0 else math.nan}


def _seconds_left(run: RunData, ended: list[Trial]) -> float:
    """Returns how long the trials to come will take, if they take as long as those done."""
    times = sorted(trial.run_seconds for trial in ended if math.isfinite(trial.run_seconds))
    if run.config is None or not run.is_live or len(times) < _FEWEST:
        return math.nan
    each = (times[-1] - times[0]) / (len(times) - 1)
    return each * max(run.config.search.n_workflows - len(times), 0)
