"""A process with one contender in it, so that its memory and its time are its own.

Started by `bench/vector.py`; answers each request, a line of JSON, with a line of JSON and ends
when its standard input does.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Final, NamedTuple, Self

import psutil

from workflow_rl.config import GameConfig
from workflow_rl.errors import MissingDependencyError, WorkerDiedError

_CLOSE_SECONDS: Final = 60.0  # for hundreds of processes to end
_TAIL: Final = 4_000  # characters of a dead process's output that are shown
_CPU_CLOCK: Final = 2  # of a process, as clock_getcpuclockid(3) makes it


class Played(NamedTuple):
    """What one `play` request measured."""

    steps: int  # of environments
    seconds: float
    cpu_seconds: float  # of all processes


class ContenderProcess:
    """The parent's side: starts a contender in a process of its own and sends it requests."""

    def __init__(
        self, work: str, name: str, num_envs: int, red_agent: str, workers: int | None
    ) -> None:
        """Starts the process and waits until its contender is ready.

        Raises:
            MissingDependencyError: what it needs is not installed.
            WorkerDiedError: it could not start.
        """
        self._name = f"{name} with {num_envs} envs of {work}"
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                __name__,
                json.dumps([work, name, num_envs, red_agent, workers]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # Ctrl-C goes to the command, whose end ends this process
        )
        try:
            started = self._read_answer()
        except BaseException:
            self._close(timeout=0)
            raise
        self.start_seconds: float = started["seconds"]
        self.processes: int = started["processes"]

    def play(self, seconds: float) -> Played:
        """Steps all environments, once or until the seconds are over."""
        return Played(**self._request("play", seconds))

    def memory(self) -> int | None:
        """Returns the bytes of all its processes, or None where the system does not tell."""
        result: int | None = self._request("memory")["bytes"]
        return result

    def __enter__(self) -> Self:
        """Returns itself; leaving the block ends the process."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Lets the process end by itself; after an exception kills it at once."""
        self._close(timeout=0 if kind else _CLOSE_SECONDS)

    def _close(self, timeout: float) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # with all that it started
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _request(self, *request: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read_answer()

    def _read_answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            tail = self._errors.read()[-_TAIL:].strip()
            raise WorkerDiedError(f"{self._name} ended by itself; its last output:\n{tail}")
        answer = json.loads(line)
        if "missing" in answer:
            raise MissingDependencyError(answer["missing"])
        return answer


def _write_answer(out: Any, **answer: Any) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


def _cpu_seconds(pids: list[int]) -> float:
    """Returns the processor time of this process and the given ones.

    Read from each process's own clock: psutil's times come in ticks of 10 ms, too coarse for the
    shortest measurements.
    """
    others = sum(time.clock_gettime(~pid << 3 | _CPU_CLOCK) for pid in pids)
    return time.process_time() + others


def memory_bytes(pids: list[int]) -> int | None:
    """Returns the sum of proportional set sizes, in which a shared page counts once.

    None where the system does not tell them: only Linux does.
    """
    try:
        sizes: list[int] = [
            psutil.Process(pid).memory_full_info().pss for pid in (os.getpid(), *pids)
        ]
    except (AttributeError, psutil.Error):
        return None
    return sum(sizes)


def main(argument: str) -> None:
    """Runs the process: starts the contender, then answers requests until its input ends."""
    from workflow_rl.bench.vector_contenders import SB3, Contender, make_env_fns, subproc_vec_env

    work, name, num_envs, red_agent, workers = json.loads(argument)
    out, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is not an answer
    try:
        env_fns = make_env_fns(work, num_envs, GameConfig(red_agent=red_agent))
        if name == SB3:
            subproc_vec_env([])  # imports it
        start = time.perf_counter()
        contender = Contender(name, env_fns, workers)
    except MissingDependencyError as error:
        _write_answer(out, missing=str(error))
        return
    seconds = time.perf_counter() - start
    _write_answer(out, seconds=seconds, processes=1 + len(contender.pids))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        if command == "memory":
            _write_answer(out, bytes=memory_bytes(contender.pids))
            continue
        start, cpu = time.perf_counter(), _cpu_seconds(contender.pids)
        steps = contender.play(*arguments)
        elapsed = time.perf_counter() - start
        used = _cpu_seconds(contender.pids) - cpu
        _write_answer(out, steps=steps, seconds=elapsed, cpu_seconds=used)
    contender.close()


if __name__ == "__main__":
    main(sys.argv[1])
