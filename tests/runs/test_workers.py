import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from workflow_rl.ordersearch.loop import Failed
from workflow_rl.runs.tasks import MOST_LOSSES, train_all
from workflow_rl.runs.workers import ProcessWorkers

from tests.runs.work import (
    Told,
    assert_same_folder,
    assert_same_result,
    expected,
    task,
)
from workflow_rl.runs.logs import Row
from workflow_rl.train.job import TrainResult


@pytest.fixture
def one() -> Iterator[ProcessWorkers]:
    workers = ProcessWorkers(1)
    yield workers
    workers.close()
    assert not multiprocessing.active_children()


def kill() -> None:
    for process in multiprocessing.active_children():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)


def test_a_training_outlives_its_workers_but_not_any_number_of_them(
    tmp_path: Path, one: ProcessWorkers
) -> None:
    """Order 3 loses one worker in its fifth update; order 100 loses each at its first row."""
    tasks = [task(tmp_path / "ours", order, updates=12) for order in (3, 100)]

    def kill_it(row: Row) -> None:
        if row["training"] == "order_100" or (not told.repeats and row["update"] == 4):
            kill()

    told = Told(kill_it)
    found = {ended.name: result for ended, result in train_all(one, tasks, told)}
    why = "its process was ended by SIGKILL"
    assert told.repeats == [("order_3", why)] + [("order_100", why)] * (MOST_LOSSES - 1)
    assert found["order_100"] == Failed(f"lost {MOST_LOSSES} times, at last because {why}")

    result = found["order_3"]
    assert isinstance(result, TrainResult)
    theirs = expected(tmp_path / "theirs", tasks[:1])["order_3"]
    assert_same_result(result, theirs)
    assert_same_folder(tasks[0].folder, tmp_path / "theirs" / "order_3")
    numbers = [row["update"] for row in told.updates if row["training"] == "order_3"]
    assert len(numbers) == len(set(numbers)) >= 11  # one row may be lost, but not in the log


def test_an_idle_worker_that_died_is_replaced_and_an_error_is_raised_here(
    tmp_path: Path, one: ProcessWorkers
) -> None:
    ((_, result),) = train_all(one, [task(tmp_path, 5)], Told())
    assert isinstance(result, TrainResult)
    kill()
    broken = task(tmp_path, 6)
    broken.folder.write_text("no folder")
    with pytest.raises(FileExistsError) as caught:
        list(train_all(one, [broken], Told()))
    assert "in a worker process" in caught.value.__notes__[0]


def test_a_straggler_is_begun_anew_once_and_then_given_up(tmp_path: Path) -> None:
    workers = ProcessWorkers(1, time_limit=0.5)
    told = Told()
    try:
        ((_, result),) = train_all(workers, [task(tmp_path, 100)], told)
    finally:
        workers.close()
    assert result == Failed("not over after 0.5 s, in each of 2 attempts")
    assert told.repeats == [("order_100", "it took longer than 0.5 s")]
    numbers = [row["update"] for row in told.updates]
    assert len(numbers) == len(set(numbers))  # the second attempt went on, if the first got so far
