"""Tasks on a Ray that is started here; faults of a cluster: test_ray_cluster."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.refused import refusal
from tests.runs.processes import trainers, wait_until
from tests.runs.toys import Failing, Mortal, Toy, Writer
from workflow_rl.config import Execution
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.pool import MAX_LOSSES, Done, Event, Failed, Retried, Rows, Started
from workflow_rl.runs.store import open_pool

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray"),
]


@pytest.fixture(scope="module")
def on_ray() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    with open_pool(Execution("ray"), 1):
        assert signal.getsignal(signal.SIGTERM) is before
        yield
    import ray

    assert not ray.is_initialized()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at the clock more often than it would."""
    if importlib.util.find_spec("ray") is not None:
        monkeypatch.setattr("workflow_rl.runs.ray._POLL_SECONDS", 0.05)


def told(events: list[Event]) -> list[tuple[str, Any]]:
    """What happened, in the order in which it did: the rows of a task as their numbers."""
    found: list[tuple[str, Any]] = []
    for event in events:
        if isinstance(event, Rows):
            found += [(event.task.name, row["update"]) for row in event.rows]
        else:
            found.append((event.task.name, type(event)))
    return found


@pytest.mark.usefixtures("on_ray")
def test_tasks_tell_how_they_go_and_leave_their_files_here(tmp_path: Path) -> None:
    from workflow_rl.runs.ray import RayPool

    writer = Writer("writer", tmp_path / "ours")
    for name in ("checkpoint.safetensors", "updates.csv", "episodes.arrow"):
        writer.folder.mkdir(exist_ok=True)
        (writer.folder / name).write_text("left by a process that was killed")
    with closing(RayPool(2)) as pool:
        events = list(pool.events([writer, Toy("toy"), Toy("again")], ordered=True))
        assert told([e for e in events if e.task.name == "toy"]) == [
            ("toy", Started),
            ("toy", 1),
            ("toy", 2),
            ("toy", Done),
        ]
        results = {e.task.name: e.result for e in events if isinstance(e, Done)}
        assert list(results) == ["writer", "toy", "again"]
        assert results["writer"] == "found"
        assert results["toy"] == results["again"] != os.getpid()  # a warm process
        there = {
            path.name: path.read_bytes() for path in writer.folder.rglob("*") if path.is_file()
        }
        assert there == {
            "one": b"1",
            "result.safetensors": b"found",
            "updates.csv": b"training,update\nwriter,1\n",
        }
        # What is finished is not done again.
        assert told(list(pool.events([writer]))) == [("writer", Started), ("writer", Done)]


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_fresh_processes_are_of_one_task_and_a_mistake_is_raised_here() -> None:
    from workflow_rl.runs.ray import RayPool

    with closing(RayPool(1, fresh=True)) as pool:
        events = list(pool.events([Toy("a"), Toy("b")]))
        assert told(events) == [
            *(("a", Started), ("a", 1), ("a", 2), ("a", Done)),
            *(("b", Started), ("b", 1), ("b", 2), ("b", Done)),
        ]
        processes = {event.result for event in events if isinstance(event, Done)}
        assert len({os.getpid(), *processes}) == 3
        with pytest.raises(InvalidInputError, match=r"^this cannot be$"):
            list(pool.events([Failing("c", error=InvalidInputError("this cannot be"))]))


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_a_task_whose_process_or_disk_dies_runs_again_but_not_any_number_of_times(
    tmp_path: Path,
) -> None:
    from workflow_rl.runs.ray import RayPool

    always = Mortal("always", notes=tmp_path / "notes", deaths=100)
    full = Failing("full", error=OSError(28, "No space left on device"))
    for task, why in ((always, "its process on"), (full, "No space left on device")):
        with closing(RayPool(1)) as pool:
            *events, last = pool.events([task])
        reasons = [event.reason for event in events if isinstance(event, Retried)]
        assert len(reasons) == MAX_LOSSES - 1
        assert isinstance(last, Failed)
        assert last.reason.startswith(f"lost {MAX_LOSSES} times, at last because ")
        assert all(why in reason for reason in (*reasons, last.reason))
    assert len(always.notes.read_text()) == MAX_LOSSES


@pytest.mark.slow
@pytest.mark.usefixtures("on_ray")
def test_a_straggler_is_begun_anew_once_and_then_given_up_and_closing_ends_the_rest() -> None:
    from workflow_rl.runs.ray import RayPool

    endless = Toy("endless", rows=100_000, pause=0.05)
    with closing(RayPool(1, time_limit=0.3)) as pool:
        *events, last = pool.events([endless])
    (why,) = [event.reason for event in events if isinstance(event, Retried)]
    assert why.startswith("it took longer than 0.3 s on ")
    assert isinstance(last, Failed)
    assert last.reason == "not over after 0.3 s, in each of 2 attempts"
    wait_until(lambda: trainers(os.getpid()) == [])
    with closing(RayPool(1)) as pool:
        running = pool.events([endless])
        assert isinstance(next(running), Started)
        assert isinstance(next(running), Rows)
        assert len(trainers(os.getpid())) == 1
    wait_until(lambda: trainers(os.getpid()) == [])


# --- clusters that cannot be used


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1: [Errno 111] Connection refused"),
        ("nowhere", "--ray-address must be host:port or auto, not 'nowhere'"),
        ("ray://127.0.0.1:10001", "--ray-address must be host:port or auto"),
        ("host.invalid:6379", "no Ray cluster answers at host.invalid:6379"),
        ("127.0.0.1:99999999", "no Ray cluster answers at 127.0.0.1:99999999"),
    ],
)
def test_an_address_where_no_cluster_is(
    address: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with ExitStack() as stack:
        assert said in refusal(stack.enter_context, open_pool(Execution("ray", address), 2))


def test_what_answers_but_is_no_cluster_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("workflow_rl.runs.cluster.JOIN_SECONDS", 0.5)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        execution = Execution("ray", f"127.0.0.1:{mute.getsockname()[1]}")
        with (
            pytest.raises(InvalidInputError, match=r"there was no connection within 0\.5 s"),
            open_pool(execution, 2),
        ):
            pass


LISTENING = """
import contextlib, psutil
from workflow_rl.config import Execution
from workflow_rl.runs.store import open_pool

with open_pool(Execution("ray"), 1):
    here = psutil.Process()
    for process in (here, *here.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            for one in process.net_connections(kind="inet"):
                if one.status == psutil.CONN_LISTEN:
                    print(one.laddr.ip.removeprefix("::ffff:"))
"""


def test_a_ray_that_is_started_here_listens_to_this_machine_only() -> None:
    told = subprocess.run(
        [sys.executable, "-c", LISTENING], capture_output=True, text=True, check=True
    )
    addresses = set(told.stdout.split())
    assert addresses
    assert addresses <= {"127.0.0.1", "::1"}
