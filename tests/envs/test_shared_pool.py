"""What happens when workers die, environments raise, hang, or the parent is gone."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import psutil
import pytest

from tests.envs.toys import END, EXIT, HOLD, KILL, NAP, QUIT, RAISE, SLEEP, Troubled
from workflow_rl.envs.shared import START_METHODS, SharedMemoryVectorEnv
from workflow_rl.envs.shared_worker import Worker
from workflow_rl.envs.spaces import derived_seed, env_seeds
from workflow_rl.errors import (
    EnvironmentFailedError,
    EnvironmentTimeoutError,
    NotResetError,
    WorkerDiedError,
)

N = 6  # environments, in two workers: 0 to 2 and 3 to 5
QUIET = np.zeros(N, np.int64)


def make(**settings: Any) -> SharedMemoryVectorEnv:
    return SharedMemoryVectorEnv([Troubled] * N, 2, **settings)


def trouble(what: int, *envs: int) -> Any:
    actions = QUIET.copy()
    actions[list(envs)] = what
    return actions


def anew(seed: int, restarts: int, *envs: int) -> list[int]:
    """What environments show first after `restarts` deaths of their workers."""
    seeds = env_seeds(seed, N)
    return [derived_seed(seeds[k], k, restarts) % 1_000 for k in envs]


def gone(pids: list[int], seconds: float = 10) -> bool:
    """Waits until no process of these is left; one that nobody has waited for counts as gone."""

    def left(pid: int) -> bool:
        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    end = time.monotonic() + seconds
    while any(map(left, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("start_method", START_METHODS)
def test_a_worker_killed_in_mid_step_is_replaced_and_its_rows_are_marked(
    start_method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with make(start_method=start_method) as env:
        first, _ = env.reset(seed=4)
        assert first.tolist() == [seed % 1_000 for seed in env_seeds(4, N)]
        env.step(QUIET)
        pids = env.worker_pids
        with caplog.at_level(logging.WARNING):
            observation, reward, terminated, truncated, infos = env.step(trouble(KILL, 4))
        assert observation.tolist() == [2, 2, 2, *anew(4, 1, 3, 4, 5)]
        assert reward.tolist() == [1, 1, 1, 0, 0, 0]
        assert truncated.tolist() == infos["restarted"].tolist() == [False] * 3 + [True] * 3
        assert not terminated.any()
        assert not infos["_final_obs"].any()
        assert infos["final_obs"][3:].tolist() == anew(4, 1, 3, 4, 5)
        assert "the worker of environments 3 to 5 was killed by SIGKILL" in caplog.text
        assert "it is replaced (1 of at most 10)" in caplog.text
        assert (env.worker_pids[0] == pids[0], env.worker_pids[1] == pids[1]) == (True, False)
        observation, _, _, truncated, infos = env.step(QUIET)  # and the run goes on
        assert observation.tolist() == [3, 3, 3, 1, 1, 1]
        assert not truncated.any()
        assert not infos["restarted"].any()
        assert env.restarts == 1


def test_a_worker_that_ends_itself_or_dies_between_two_steps_is_replaced_as_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with SharedMemoryVectorEnv([Troubled] * 2, 2) as env:
        env.reset()
        *_, infos = env.step(np.array([EXIT, 0]))
        assert infos["restarted"].tolist() == [True, False]
        assert "the worker of environment 0 ended with code 7" in caplog.text
        os.kill(env.worker_pids[1], signal.SIGKILL)
        *_, truncated, infos = env.step(QUIET[:2])
        assert truncated.tolist() == infos["restarted"].tolist() == [False, True]
        assert env.step(QUIET[:2])[0].tolist() == [2, 1]


def test_the_other_environments_go_on_while_a_replacement_starts() -> None:
    with SharedMemoryVectorEnv([partial(Troubled, made=NAP)] * 4, 2, timeout=0.1) as env:
        env.reset(seed=0)
        env.send(np.array([KILL, 0]), [2, 1])
        seen: list[int] = []
        marks: dict[int, bool] = {}
        while not marks.get(2):
            given = env.recv()
            ids = given[-1]["env_ids"]
            seen += ids.tolist()
            marks.update(zip(ids.tolist(), given[-1]["restarted"].tolist(), strict=True))
            if 1 in ids:
                env.send(np.zeros(1, np.int64), [1])
        assert seen.count(1) > 20
        assert marks == {1: False, 2: True}
        env.recv()
        env.send(np.zeros(1, np.int64), [3])  # of the same worker; its row is not marked yet
        _, _, _, truncated, infos = env.recv()
        assert (infos["env_ids"].tolist(), infos["restarted"].tolist()) == ([3], [True])
        assert truncated.all()
        env.send(np.zeros(1, np.int64), [3])
        assert env.recv()[0].tolist() == [1]


def test_rows_that_a_dead_worker_had_finished_are_not_mixed_with_those_of_its_replacement() -> None:
    with make() as env:
        env.reset(seed=4)
        env.send(trouble(NAP, 0))
        assert env.recv(3)[-1]["env_ids"].tolist() == [3, 4, 5]
        env.send(np.zeros(2, np.int64), [3, 4])
        time.sleep(0.05)  # they are finished, and waiting
        os.kill(env.worker_pids[1], signal.SIGKILL)
        observation, _, _, _, infos = env.recv(5)
        assert infos["env_ids"].tolist() == [0, 1, 2, 3, 4]
        assert infos["restarted"].tolist() == [False] * 3 + [True] * 2
        assert observation.tolist() == [1, 1, 1, *anew(4, 1, 3, 4)]
        assert env.call("clock") == (1, 1, 1, 0, 0, 0)


def test_a_worker_that_dies_in_a_reset_gives_first_observations_all_the_same() -> None:
    with SharedMemoryVectorEnv([Troubled] * 2, 1) as env:
        env.reset(seed=1)
        observation, infos = env.reset(seed=2, options={"do": KILL})
        seeds = env_seeds(2, 2)
        assert observation.tolist() == [derived_seed(seeds[k], k, 1) % 1_000 for k in range(2)]
        assert infos["restarted"].all()
        assert env.reset(seed=2)[0].tolist() == [seed % 1_000 for seed in seeds]


def test_repeated_deaths_end_in_one_error_with_the_last_output() -> None:
    with make(max_restarts=2) as env:
        env.reset(seed=4)
        for restarts in (1, 2):  # another death starts other episodes
            observation, *_ = env.step(trouble(KILL, 1))
            assert observation[:3].tolist() == anew(4, restarts, 0, 1, 2)
        with pytest.raises(WorkerDiedError) as error:
            env.step(trouble(KILL, 1))
        assert "environments 0 to 2 was killed by SIGKILL, and 2 workers" in str(error.value)
        assert "these are my last words" in str(error.value)


@pytest.mark.parametrize(
    ("does", "error", "sentence"),
    [
        (KILL, WorkerDiedError, "while it made its environments; its last output:\n"),
        (HOLD, EnvironmentTimeoutError, "environment 0 could not be made within"),
    ],
)
def test_a_worker_that_cannot_start_is_an_error(does: int, error: Any, sentence: str) -> None:
    timeout = 0.2 if does == HOLD else 60.0
    with pytest.raises(error, match=sentence):
        SharedMemoryVectorEnv([partial(Troubled, made=does)] * 2, 2, start_timeout=timeout)


def test_an_exception_reaches_the_user_with_its_traceback_and_the_environments_index() -> None:
    with make() as env:
        env.reset()
        with pytest.raises(EnvironmentFailedError) as error:
            env.step(trouble(RAISE, 4))
        assert str(error.value).startswith("environment 4 raised an exception:\nTraceback")
        assert "in act\n    raise ArithmeticError" in str(error.value)
        assert str(error.value).endswith("ArithmeticError: two and two are five")
        with pytest.raises(NotResetError):
            env.step(QUIET)
        env.reset()
        assert env.step(QUIET)[0].tolist() == [1] * N
        assert env.restarts == 0


def test_many_exceptions_at_once_are_one_error() -> None:
    with SharedMemoryVectorEnv([Troubled] * 500, 2) as env:
        env.reset()
        with pytest.raises(EnvironmentFailedError, match="environment 0 raised"):
            env.step(np.full(500, RAISE))
        env.reset()
        env.send(np.full(1, QUIT), [5])  # leaving the program is one like any other
        with pytest.raises(EnvironmentFailedError, match=r"environment 5 (.|\n)*SystemExit: 3"):
            env.recv(1)


@pytest.mark.parametrize("when", ["made", "reset", "called"])
def test_exceptions_outside_of_steps_are_reported_likewise(when: str) -> None:
    def use() -> None:
        env_fns: list[Any] = [Troubled, partial(Troubled, **{when: RAISE}), Troubled]
        with SharedMemoryVectorEnv(env_fns, 2) as env:
            env.reset()
            env.render()

    with pytest.raises(EnvironmentFailedError, match=r"environment 1 (.|\n)*two are five"):
        use()


def test_a_hung_environment_hits_the_timeout_and_is_named() -> None:
    with make(timeout=0.2) as env:
        env.reset()
        with pytest.raises(EnvironmentTimeoutError) as error:
            env.step(trouble(SLEEP, 3))
        assert str(error.value) == (
            "after 0.2 s (timeout) environment 3 has not finished, and 2 more wait behind it"
        )
        *_, infos = env.recv(3)  # the others of the step are there
        assert infos["env_ids"].tolist() == [0, 1, 2]
        pids = env.worker_pids
        env.close(timeout=0.1)
        assert gone(pids, 0)  # closing does not wait for it


def test_a_step_that_was_interrupted_does_not_block_the_next_reset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with make() as env:
        env.reset()
        with monkeypatch.context() as patch:  # Ctrl-C comes just before the workers are woken
            patch.setattr(Worker, "wake", lambda worker: signal.raise_signal(signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                env.step(QUIET)
        env.reset()
        assert env.step(QUIET)[0].tolist() == [1] * N


PROGRAM = """
import sys
import numpy as np
from tests.envs.toys import END, Troubled
from workflow_rl.envs.shared import SharedMemoryVectorEnv

if __name__ == "__main__":
    start_method, action = sys.argv[1], int(sys.argv[2])
    env = SharedMemoryVectorEnv([Troubled] * 4, 2, start_method=start_method)
    env.reset()
    print(*env.worker_pids, flush=True)
    actions = np.array([0, 0, action, 0])
    while action != END:
        env.step(actions)
"""


@contextmanager
def program(start_method: str, action: int) -> Iterator[tuple[Any, list[int]]]:
    """Runs a program of its own that steps without end; gives it and its workers' process ids."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, start_method, str(action)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield process, [int(pid) for pid in process.stdout.readline().split()]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("start_method", "action"), [("fork", 0), *((method, HOLD) for method in START_METHODS)]
)
def test_nothing_is_left_of_a_parent_that_was_killed(start_method: str, action: int) -> None:
    before = sorted(os.listdir("/dev/shm"))
    with program(start_method, action) as (process, workers):
        assert len(workers) == 2
        time.sleep(0.1)
        assert not gone(workers, 0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert gone(workers, 2)
    assert sorted(os.listdir("/dev/shm")) == before


@pytest.mark.parametrize("start_method", START_METHODS)
def test_ctrl_c_is_the_parents_to_answer(start_method: str) -> None:
    with program(start_method, SLEEP) as (process, workers):
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == -signal.SIGINT
        assert errors.count("Traceback") == 1
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert gone(workers)


@pytest.mark.parametrize("start_method", START_METHODS)
def test_a_program_may_end_without_closing(start_method: str) -> None:
    with program(start_method, END) as (process, workers):
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
        assert gone(workers)
