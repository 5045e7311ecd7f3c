"""Small trainings as tasks, and who is told of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from workflow_rl.runs.tasks import SerialWorkers, Task, train_all

from tests.runs.toy import csv_rows, tiny, without_costs
from workflow_rl.runs.logs import Row
from workflow_rl.runs.training import TrainingFolder, result_numbers
from workflow_rl.train.job import TrainJob, TrainResult

SMALL = tiny()
LONG = 100_000  # updates that nobody waits for


def job(order: int, updates: int = 3, base: bool = True) -> TrainJob:
    """A training of a hundredth of a second per update; orders from 100 on have no end."""
    train = replace(
        SMALL.train,
        max_episodes=LONG if order >= 100 else updates,
        min_episodes=1,
        stop_at="budget",
    )
    made = TrainJob(SMALL.game, SMALL.ppo, train, 7, order)
    if not base:
        return made
    from workflow_rl.train.loop import train as run

    start = run(replace(made, order=None, train=replace(train, max_episodes=1)))
    return replace(made, base=start.best)


def task(folder: Path, order: int, updates: int = 3, base: bool = False) -> Task:
    name = f"order_{order}"
    return Task(name, job(order, updates, base), folder / name)


@dataclass
class Told:
    """Notes what it is told, and does something at every row."""

    at_row: Callable[[Row], None] = lambda row: None
    updates: list[Row] = field(default_factory=list)
    repeats: list[tuple[str, str]] = field(default_factory=list)

    def rows(self, *rows: Row) -> None:
        for row in rows:
            self.updates.append(row)
            self.at_row(row)

    def again(self, task: Task, reason: str) -> None:
        self.repeats.append((task.name, reason))


def expected(folder: Path, tasks: list[Task]) -> dict[str, TrainResult]:
    """What the trainings give one by one in this process."""
    here = [Task(t.name, t.job, folder / t.name) for t in tasks]
    found = {}
    for ended, result in train_all(SerialWorkers(), here, Told()):
        assert isinstance(result, TrainResult)
        found[ended.name] = result
    return found


def assert_same_result(ours: TrainResult, theirs: TrainResult) -> None:
    assert result_numbers(ours) == result_numbers(theirs)
    for weights, others in ((ours.best, theirs.best), (ours.final, theirs.final)):
        assert weights.keys() == others.keys()
        assert all(np.array_equal(weights[k], others[k]) for k in weights)


def assert_same_folder(ours: Path, theirs: Path) -> None:
    """Two folders hold the same finished training, but for what it cost."""
    assert {p.name for p in ours.iterdir()} == {p.name for p in theirs.iterdir()}
    for name in ("episodes.bin", "result.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    rows, others = csv_rows(ours / "updates.csv"), csv_rows(theirs / "updates.csv")
    assert without_costs(rows) == without_costs(others)
    assert not TrainingFolder(ours).checkpoint.exists()
