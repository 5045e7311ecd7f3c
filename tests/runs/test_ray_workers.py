"""Trainings on a Ray cluster of several nodes, and what may befall them."""

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from workflow_rl.ordersearch.loop import Failed
from workflow_rl.runs.api import search
from workflow_rl.runs.execution import Execution
from workflow_rl.runs.tasks import MOST_LOSSES, train_all

from tests.runs.ray_host import RayHost, ray_host, trainers, wait_until
from tests.runs.toy import assert_same, tiny
from tests.runs.work import (
    Told,
    assert_same_folder,
    assert_same_result,
    expected,
    task,
)
from workflow_rl.runs.logs import Row
from workflow_rl.runs.training import TrainingFolder
from workflow_rl.train.job import TrainResult

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayHost]:
    import ray
    from workflow_rl.runs.ray_cluster import connected

    before = signal.getsignal(signal.SIGTERM)
    with ray_host(2) as host:
        with connected(host.address, 2):
            assert signal.getsignal(signal.SIGTERM) is before
            yield host
        assert not ray.is_initialized()


def test_results_and_folders_are_those_of_trainings_done_here(
    cluster: RayHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray
    from workflow_rl.runs.ray_workers import RayWorkers

    puts: list[Any] = []
    put = ray.put
    monkeypatch.setattr(ray, "put", lambda value: puts.append(value) or put(value))
    tasks = [task(tmp_path / "ours", order, updates=4, base=True) for order in (3, 4, 5)]
    told = Told()
    workers = RayWorkers(2)
    found = dict(train_all(workers, tasks, told))
    theirs = expected(tmp_path / "theirs", tasks)
    assert len(found) == 3
    for ended, result in found.items():
        assert isinstance(result, TrainResult)
        assert_same_result(result, theirs[ended.name])
        assert_same_folder(ended.folder, tmp_path / "theirs" / ended.name)
    assert len(puts) == 1  # the base policy travels once
    told_of = sorted((row["training"], row["update"]) for row in told.updates)
    assert told_of == [(f"order_{n}", update) for n in (3, 4, 5) for update in (1, 2, 3, 4)]

    again = Told()
    for ended, result in train_all(workers, tasks, again):  # finished ones are not done again
        assert isinstance(result, TrainResult)
        assert_same_result(result, theirs[ended.name])
    assert again.updates == []


def test_what_a_node_or_a_worker_takes_with_it_is_done_again_elsewhere(
    cluster: RayHost, tmp_path: Path
) -> None:
    """Both trainings are under way when a node is removed; then the other worker is killed."""
    from workflow_rl.runs.ray_workers import RayWorkers

    tasks = [task(tmp_path / "ours", order, updates=120) for order in (3, 4)]
    theirs = expected(tmp_path / "theirs", tasks)

    def strike(row: Row) -> None:
        if not told.repeats and {row["training"] for row in told.updates} == set(theirs):
            if len(cluster.raylets) == 2:
                cluster.remove_node(cluster.raylets[0])
        elif len(told.repeats) == 1 and not killed:
            killed.extend(trainers(cluster.pid))
            for process in killed:
                os.kill(process, signal.SIGKILL)

    killed: list[int] = []
    told = Told(strike)
    found = {ended.name: result for ended, result in train_all(RayWorkers(2), tasks, told)}
    cluster.add_node()
    reasons = [why for _, why in told.repeats]
    assert len(reasons) in (2, 3)  # two workers were killed if the lost one had begun again
    assert reasons[0].startswith("the node ")
    assert reasons[0].endswith(" went away")
    assert all("its process on" in why and why.endswith("died") for why in reasons[1:])
    for one in tasks:
        result = found[one.name]
        assert isinstance(result, TrainResult)
        assert_same_result(result, theirs[one.name])
        assert_same_folder(one.folder, tmp_path / "theirs" / one.name)


@pytest.mark.slow
def test_a_search_picks_and_finds_the_same_on_ray_as_in_processes(
    cluster: RayHost, tmp_path: Path
) -> None:
    config = tiny(
        strategy="gp-ucb",
        n_workflows=6,
        initial_design=3,
        parallel_workflows=2,
        ordered_results=True,
    )
    runs = [
        search(config, checkpoint_dir=tmp_path / executor, execution=Execution(executor)).path
        for executor in ("ray", "processes")
    ]
    assert_same(*runs)


@pytest.mark.slow
def test_a_killed_worker_costs_an_attempt_and_leaves_no_trace(
    cluster: RayHost, tmp_path: Path
) -> None:
    """Order 3 loses its first worker, order 100 each at its first rows."""
    from workflow_rl.runs.ray_workers import RayWorkers

    tasks = [task(tmp_path / "ours", order, updates=1_000) for order in (3, 100)]

    def kill_it(row: Row) -> None:
        if row["training"] == "order_100" or not told.repeats:
            for process in trainers(cluster.pid):
                os.kill(process, signal.SIGKILL)

    told = Told(kill_it)
    found = {ended.name: result for ended, result in train_all(RayWorkers(1), tasks, told)}
    names = [name for name, _ in told.repeats]
    assert names == ["order_3"] + ["order_100"] * (MOST_LOSSES - 1)
    assert all("its process on" in why and why.endswith("died") for _, why in told.repeats)
    failure = found["order_100"]
    assert isinstance(failure, Failed)
    assert failure.reason.startswith(f"lost {MOST_LOSSES} times, at last because its process on")
    result = found["order_3"]
    assert isinstance(result, TrainResult)
    assert_same_result(result, expected(tmp_path / "theirs", tasks[:1])["order_3"])
    assert_same_folder(tasks[0].folder, tmp_path / "theirs" / "order_3")


def test_a_straggler_is_begun_anew_once_and_then_given_up(cluster: RayHost, tmp_path: Path) -> None:
    from workflow_rl.runs.ray_workers import RayWorkers

    told = Told()
    straggler = task(tmp_path, 100)
    ((_, result),) = train_all(RayWorkers(1, time_limit=0.7), [straggler], told)
    assert result == Failed("not over after 0.7 s, in each of 2 attempts")
    ((name, why),) = told.repeats
    assert name == "order_100"
    assert why.startswith("it took longer than 0.7 s on ")
    wait_until(lambda: trainers(cluster.pid) == [])


@pytest.mark.slow
def test_what_an_attempt_elsewhere_left_is_dropped(cluster: RayHost, tmp_path: Path) -> None:
    from workflow_rl.runs.ray_workers import RayWorkers

    one = task(tmp_path / "ours", 3)
    folder = TrainingFolder(one.folder)
    folder.path.mkdir(parents=True)
    for path in (folder.checkpoint, folder.updates.path, folder.episodes.path):
        path.write_text("left by a process that was killed")
    ((_, result),) = train_all(RayWorkers(1), [one], Told())
    assert isinstance(result, TrainResult)
    expected(tmp_path / "theirs", [one])
    assert_same_folder(one.folder, tmp_path / "theirs" / "order_3")


def test_closing_ends_what_is_under_way(cluster: RayHost, tmp_path: Path) -> None:
    from workflow_rl.runs.ray_workers import RayWorkers

    workers = RayWorkers(2)
    for order in (100, 101):
        workers.begin(task(tmp_path, order))
    wait_until(lambda: len(trainers(cluster.pid)) == 2)
    workers.close()
    wait_until(lambda: trainers(cluster.pid) == [])


@pytest.mark.slow
def test_the_disk_of_a_node_is_the_nodes_fault_and_a_mistake_is_ours(
    cluster: RayHost, tmp_path: Path
) -> None:
    from workflow_rl.runs.ray_workers import RayWorkers

    from workflow_rl.errors import InvalidInputError

    def no_room(*job: Any) -> Any:
        raise OSError(28, "No space left on device")
        yield

    def mistaken(*job: Any) -> Any:
        raise InvalidInputError("this is wrong")
        yield

    told = Told()
    ((_, result),) = train_all(RayWorkers(1, work=no_room), [task(tmp_path, 3)], told)
    assert isinstance(result, Failed)
    assert "No space left on device" in result.reason
    assert len(told.repeats) == MOST_LOSSES - 1
    with pytest.raises(InvalidInputError, match=r"^this is wrong$"):
        list(train_all(RayWorkers(1, work=mistaken), [task(tmp_path, 3)], told))
