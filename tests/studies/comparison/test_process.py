import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.comparison.process import run_apart

Emit = Callable[[str], None]


def whoami(emit: Emit) -> int:
    emit("one")
    emit("two")
    return os.getpid()


def failing(emit: Emit) -> int:
    raise InvalidInputError("this cannot be")


def dying(emit: Emit) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def deaf(emit: Emit) -> bool:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    return True


def slow(emit: Emit) -> float:
    emit("begun")
    time.sleep(1.0)
    return time.time()


def test_each_task_runs_in_a_process_of_its_own_and_tells_how_it_goes() -> None:
    begun: list[str] = []
    told: list[tuple[str, str]] = []
    found = dict(
        run_apart(
            {"a": whoami, "b": whoami},
            on_start=begun.append,
            on_news=lambda key, news: told.append((key, news)),
        )
    )
    assert list(found) == begun == ["a", "b"]
    assert len({os.getpid(), *found.values()}) == 3
    assert told == [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]
    with pytest.raises(ProcessLookupError):
        os.kill(found["a"], 0)


def test_as_many_run_side_by_side_as_asked_for() -> None:
    events: list[str] = []
    for key, _ in run_apart(
        dict.fromkeys("abc", slow), 2, on_start=lambda key: events.append(f"+{key}")
    ):
        events.append(f"-{key}")
    assert events[:2] == ["+a", "+b"]
    assert events.index("+c") > min(events.index("-a"), events.index("-b"))
    assert sorted(events) == sorted(["+a", "-a", "+b", "-b", "+c", "-c"])


def test_a_failure_is_raised_here_and_ends_the_others() -> None:
    started: list[str] = []
    with pytest.raises(InvalidInputError, match="this cannot be"):
        dict(run_apart({"a": failing, "b": slow, "c": slow}, 2, on_start=started.append))
    assert "c" not in started


def test_a_process_that_dies_is_one_sentence() -> None:
    with pytest.raises(InvalidInputError, match="a process died"):
        dict(run_apart({"a": dying}))


def test_ctrl_c_is_for_the_parent_to_answer() -> None:
    assert dict(run_apart({"a": deaf})) == {"a": True}


def test_nothing_to_do_is_nothing_done() -> None:
    assert dict(run_apart({})) == {}


PARENT = """
import os, time
from workflow_rl.studies.comparison.process import run_apart

def endless(emit):
    emit(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    dict(run_apart({0: endless}, on_news=lambda key, news: print(news, flush=True)))
"""


def test_it_ends_with_its_parent_however_that_came_about(tmp_path: object) -> None:
    script = f"{tmp_path}/parent.py"
    with open(script, "w", encoding="utf-8") as file:
        file.write(PARENT)
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        child = int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("the child is still there")
