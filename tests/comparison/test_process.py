import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from workflow_rl.comparison.process import run_alone
from workflow_rl.errors import InvalidInputError

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


def test_a_task_runs_in_a_process_of_its_own_and_tells_how_it_goes() -> None:
    told: list[str] = []
    first, second = run_alone(whoami, told.append), run_alone(whoami)
    assert len({os.getpid(), first, second}) == 3
    assert told == ["one", "two"]
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_failure_is_raised_here() -> None:
    with pytest.raises(InvalidInputError, match="this cannot be"):
        run_alone(failing)


def test_a_process_that_dies_is_one_sentence() -> None:
    with pytest.raises(InvalidInputError, match="a process died"):
        run_alone(dying)


def test_ctrl_c_is_for_the_parent_to_answer() -> None:
    assert run_alone(deaf)


PARENT = """
import os, time
from workflow_rl.comparison.process import run_alone

def endless(emit):
    emit(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    run_alone(endless, lambda news: print(news, flush=True))
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
