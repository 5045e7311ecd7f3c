"""A process with one contender in it, so that its memory and its time are its own.

Started by `bench/vector.py`; answers each line it reads with a line, and ends with its input.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from workflow_rl.config import GameConfig
from workflow_rl.errors import MissingDependencyError, WorkerDiedError

_PATIENCE: Final = 60.0  # seconds for hundreds of processes to end
_TAIL: Final = 4_000  # characters
_CPU_CLOCK: Final = 2  # of a process, as clock_getcpuclockid(3) makes it


class Played(NamedTuple):
    """What came of playing for a while."""

    steps: int  # of environments
    seconds: float
    cpu_seconds: float  # of all processes


class Host:
    """The other end: a contender in a process of its own."""

    def __init__(
        self, work: str, name: str, num_envs: int, red_agent: str, workers: int | None
    ) -> None:
        """Starts it.

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
            start_new_session=True,  # Ctrl-C is for the command; the end of its input ends this
        )
        try:
            started = self._answer()
        except BaseException:
            self._end(patience=0)
            raise
        self.start_seconds: float = started["seconds"]
        self.processes: int = started["processes"]

    def play(self, seconds: float) -> Played:
        """Plays at least so long and at least a step of all environments."""
        return Played(**self._ask("play", seconds))

    def memory(self) -> int | None:
        """Returns the bytes of all its processes, or None where the system does not tell."""
        result: int | None = self._ask("memory")["bytes"]
        return result

    def __enter__(self) -> Self:
        """Returns itself; leaving the block ends it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends it: by itself or, after an exception, at once."""
        self._end(patience=0 if kind else _PATIENCE)

    def _end(self, patience: float) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # with all that it started
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _ask(self, *question: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
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


def _tell(out: Any, **answer: Any) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


def _cpu_seconds(pids: list[int]) -> float:
    others = sum(time.clock_gettime(~pid << 3 | _CPU_CLOCK) for pid in pids)
    return time.process_time() + others


def _bytes(pids: list[int]) -> int | None:
    """Proportional set sizes: pages that processes share count once in their sum."""
    total = 0
    for pid in (os.getpid(), *pids):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def main(argument: str) -> None:
    """Is the process."""
    from workflow_rl.bench.vector_contenders import SB3, Contender, make_env_fns, subproc_vec_env

    work, name, num_envs, red_agent, workers = json.loads(argument)
    out, sys.stdout = sys.stdout, sys.stderr  # what others print must not pass for an answer
    try:
        env_fns = make_env_fns(work, num_envs, GameConfig(red_agent=red_agent))
        if name == SB3:
            subproc_vec_env([])  # imports it
        start = time.perf_counter()
        contender = Contender(name, env_fns, workers)
    except MissingDependencyError as error:
        _tell(out, missing=str(error))
        return
    seconds = time.perf_counter() - start
    _tell(out, seconds=seconds, processes=1 + len(contender.pids))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        if command == "memory":
            _tell(out, bytes=_bytes(contender.pids))
            continue
        start, cpu = time.perf_counter(), _cpu_seconds(contender.pids)
        steps = contender.play(*arguments)
        elapsed = time.perf_counter() - start
        used = _cpu_seconds(contender.pids) - cpu
        _tell(out, steps=steps, seconds=elapsed, cpu_seconds=used)
    contender.close()


if __name__ == "__main__":
    main(sys.argv[1])
