"""A comparison's tasks on Ray: each in a fresh process, told of, and run again when lost."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.tasks import MOST_LOSSES
from workflow_rl.studies.comparison.process import run_apart

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray"),
]

Emit = Callable[[str], None]


@pytest.fixture(scope="module", autouse=True)
def on_ray() -> Iterator[None]:
    from workflow_rl.runs.ray_cluster import connected

    with connected(None, 2):
        yield


def whoami(emit: Emit) -> int:
    emit("one")
    emit("two")
    return os.getpid()


def failing(emit: Emit) -> int:
    raise InvalidInputError("this cannot be")


def dying(file: Path, times: int) -> Callable[[Emit], int]:
    """Dies so many times, and counts in a file."""

    def die(emit: Emit) -> int:
        file.write_text(file.read_text() + "x" if file.exists() else "x")
        if len(file.read_text()) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
        return len(file.read_text())

    return die


def test_each_task_runs_in_a_process_of_its_own_and_tells_how_it_goes() -> None:
    from workflow_rl.studies.comparison.ray_place import OnRay

    told: list[tuple[str, str]] = []
    found = dict(
        run_apart(
            {"a": whoami, "b": whoami},
            place=OnRay(),
            on_news=lambda key, news: told.append((key, news)),
        )
    )
    assert len({os.getpid(), *found.values()}) == 3
    assert told == [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]


def test_a_failure_is_raised_here() -> None:
    from workflow_rl.studies.comparison.ray_place import OnRay

    with pytest.raises(InvalidInputError, match=r"^this cannot be$"):
        dict(run_apart({"a": failing, "b": whoami}, 2, place=OnRay()))


def test_a_task_that_is_lost_runs_again_but_not_any_number_of_times(tmp_path: Path) -> None:
    from workflow_rl.studies.comparison.ray_place import OnRay

    once = dying(tmp_path / "once", 1)
    assert dict(run_apart({"a": once}, place=OnRay())) == {"a": 2}
    always = dying(tmp_path / "always", 100)
    said = rf"^a was lost {MOST_LOSSES} times, at last because its process on \S+ died; nothing"
    with pytest.raises(InvalidInputError, match=said):
        dict(run_apart({"a": always}, place=OnRay()))
    assert len((tmp_path / "always").read_text()) == MOST_LOSSES
