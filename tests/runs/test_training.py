"""One training in a folder of its own."""

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.toy import tiny, without_costs
from tests.runs.work import assert_same_folder, expected, task
from workflow_rl.agents.policy import load_policy
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.pool import Done, ProcessPool, Result, Rows
from workflow_rl.runs.store import TrainingFolder
from workflow_rl.runs.training import TrainTask
from workflow_rl.train.job import TrainJob

SMALL = tiny(max_episodes=2)


def job(order: int | None = 4, seed: int = 1) -> TrainJob:
    return TrainJob(SMALL.game, SMALL.ppo, SMALL.train, seed, order)


def test_a_finished_training_is_not_trained_again(tmp_path: Path) -> None:
    *rows, first = TrainTask("one", job(), tmp_path).run()
    assert isinstance(first, Result)
    assert len(rows) == first.value.updates == 2
    files = TrainingFolder(tmp_path).files()
    assert list(TrainTask("one", job(), tmp_path).run()) == [first]
    assert TrainTask("one", job(), tmp_path).stored() == first.value
    assert TrainingFolder(tmp_path).files() == files
    assert not TrainingFolder(tmp_path).checkpoint.exists()


def test_the_result_of_another_training_is_refused(tmp_path: Path) -> None:
    list(TrainTask("one", job(order=4), tmp_path).run())
    for other in (job(order=5), job(seed=2), job(order=None)):
        with pytest.raises(InvalidInputError, match="another configuration"):
            list(TrainTask("one", other, tmp_path).run())


@pytest.mark.parametrize("killed_at", [1, 2])
def test_a_training_whose_reader_stops_goes_on_after_its_last_update(
    tmp_path: Path, killed_at: int
) -> None:
    *expected, whole = TrainTask("one", job(), tmp_path / "whole").run()
    one = TrainTask("one", job(), tmp_path / "ours")
    steps = one.run()
    first = [next(steps) for _ in range(killed_at)]
    steps.close()
    *rest, again = one.run()
    assert without_costs([*first, *rest]) == without_costs(expected)
    assert again == whole
    assert_same_folder(one.folder, tmp_path / "whole")


def test_policies_are_kept_on_the_way_if_asked_for(tmp_path: Path) -> None:
    train = replace(SMALL.train, snapshot_every=2, max_episodes=5, stop_at="budget")
    list(TrainTask("one", replace(job(), train=train), tmp_path).run())
    names = sorted(path.stem for path in (tmp_path / "snapshots").glob("*.safetensors"))
    assert names == ["update_000002", "update_000004"]
    policy = load_policy(tmp_path / "snapshots" / "update_000004.safetensors")
    assert policy.description["update"] == 4


@pytest.mark.slow
def test_a_training_outlives_its_worker_process(tmp_path: Path) -> None:
    """The worker is killed at its fourth row; another goes on from the checkpoint."""
    one = task(tmp_path / "ours", 3, updates=12)
    pool, killed, updates = ProcessPool(1), False, []
    try:
        for event in pool.events([one]):
            if isinstance(event, Rows):
                updates += [row["update"] for row in event.rows]
            if not killed and updates[-1:] == [4]:
                killed = True
                for process in multiprocessing.active_children():
                    process.kill()
    finally:
        pool.close()
    assert isinstance(event, Done)
    assert event.result == expected(tmp_path / "theirs", [one])[one.name]
    assert_same_folder(one.folder, tmp_path / "theirs" / one.name)
    assert len(updates) == len(set(updates)) >= 11  # one row may be lost, but not in the log
