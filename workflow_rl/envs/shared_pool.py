"""The worker processes as their parent sees them: started, woken, asked, replaced, ended."""

import logging
import math
import multiprocessing
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, Final

from gymnasium import Env, Space
from gymnasium.vector.utils import CloudpickleWrapper, clear_mpi_env_vars

from workflow_rl.envs.shared_block import NO_ENV, AnonymousFile, Field, SharedBlock
from workflow_rl.envs.shared_worker import FAILURE, LISTEN, LOOK, OK, Job, Message, run_worker
from workflow_rl.errors import (
    EnvironmentFailedError,
    EnvironmentTimeoutError,
    InvalidInputError,
    WorkerDiedError,
)
from workflow_rl.processes import deaf_children

_LOG: Final = logging.getLogger(__name__)
LOOK_EVERY: Final = 0.02  # seconds between looks for what no descriptor tells
_TAIL: Final = 4_000  # characters of a dead worker's output that are shown

EnvFn = Callable[[], Env[Any, Any]]


@dataclass
class _Worker:
    """One worker and the parent's ends of what joins them."""

    envs: range
    process: Any  # multiprocessing has one class per start method
    wake: Connection
    talk: Connection
    output: AnonymousFile
    start_by: float  # by the monotonic clock
    is_starting: bool = True

    def __str__(self) -> str:
        first, last = self.envs[0], self.envs[-1]
        return f"environment {first}" if first == last else f"environments {first} to {last}"

    def forget(self) -> None:
        """Kills the process, if it is there, and closes everything."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.wake.close()
        self.talk.close()
        self.output.close()

    def last_output(self) -> str:
        size = os.fstat(self.output.descriptor).st_size
        start = max(0, size - _TAIL)
        text = os.pread(self.output.descriptor, _TAIL, start).decode(errors="replace").strip()
        return f"; its last output:\n{text}" if text else "; it had printed nothing"


class WorkerPool:
    """Worker processes, each with a contiguous slice of the environments."""

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        num_workers: int,
        block: SharedBlock,
        spaces: tuple[Space[Any], Space[Any]],
        infos: Sequence[Field],
        *,
        start_method: str | None,
        start_timeout: float | None,
        max_restarts: int,
        new_seeds: Callable[[range], Sequence[int]],
    ) -> None:
        """Starts the workers and returns when all environments are made.

        Args:
            env_fns: make the environments.
            num_workers: how many processes.
            block: where they find what to do and put what came of it.
            spaces: the observation and action space that every environment must have.
            infos: the info arrays of the block.
            start_method: fork, spawn or forkserver; None takes multiprocessing's default.
            start_timeout: seconds to make all environments; None waits for ever.
            max_restarts: so many dead workers are replaced.
            new_seeds: seeds for the environments of a replacement.
        """
        self._context: Any = multiprocessing.get_context(start_method)
        self._env_fns = [CloudpickleWrapper(env_fn) for env_fn in env_fns]
        self._block, self._spaces, self._infos = block, spaces, infos
        self._start_timeout, self._max_restarts = start_timeout, max_restarts
        self._new_seeds = new_seeds
        self.restarts = 0
        self._is_new = True  # no death is forgiven before all have started once
        self._bell, self._bell_rope = self._context.Pipe(duplex=False)
        os.set_blocking(self._bell.fileno(), False)
        self._workers: list[_Worker] = []
        n = len(env_fns)
        try:
            for w in range(num_workers):
                envs = range(n * w // num_workers, n * (w + 1) // num_workers)
                self._workers.append(self._start(w, envs, None))
            self._poll = self._make_poll()
            while self.is_starting:
                self.sleep(LOOK_EVERY)
        except BaseException:
            self.close(0)
            raise
        self._is_new = False

    @property
    def envs(self) -> list[range]:
        """The environments of each worker."""
        return [worker.envs for worker in self._workers]

    @property
    def pids(self) -> list[int]:
        """The process of each worker."""
        return [worker.process.pid for worker in self._workers]

    @property
    def is_starting(self) -> bool:
        """Whether a replacement is making its environments."""
        return any(worker.is_starting for worker in self._workers)

    def look(self, w: int) -> None:
        """Wakes a worker to look for environments to play; one that is starting has none."""
        worker = self._workers[w]
        if not worker.is_starting:
            self._write(worker, LOOK)

    def look_all(self) -> None:
        """Wakes all workers."""
        for w in range(len(self._workers)):
            self.look(w)

    def sleep(self, seconds: float) -> list[range]:
        """Sleeps until a worker rings, dies or has started.

        Returns:
            The environments that a replacement has started anew.

        Raises:
            WorkerDiedError: more workers died than are to be replaced.
            EnvironmentFailedError: an environment of a replacement could not be made.
        """
        ready = {descriptor for descriptor, _ in self._poll.poll(1000 * seconds)}
        if self._bell.fileno() in ready:
            os.read(self._bell.fileno(), 4096)
        renewed = []
        for w, worker in enumerate(tuple(self._workers)):
            if worker.is_starting and worker.talk.fileno() in ready:
                if self._has_started(worker):
                    renewed.append(worker.envs)
                else:
                    self._replace(w)
            elif worker.process.sentinel in ready or not (ready or worker.process.is_alive()):
                self._replace(w)
            elif worker.is_starting and time.monotonic() > worker.start_by:
                raise EnvironmentTimeoutError(
                    f"{worker} could not be made within {self._start_timeout:g} s (start_timeout)"
                )
        return renewed

    def tell(self, command: str, *arguments: Any) -> None:
        """Gives every worker a command that has no answer."""
        for worker in self._workers:
            self._command(worker, (command, *arguments))

    def ask(self, commands: Mapping[int, Message]) -> list[Any]:
        """Gives each worker its command and returns the answers.

        Raises:
            WorkerDiedError: a worker died before it answered.
        """
        for w, command in commands.items():
            self._command(self._workers[w], command)
        answers = []
        for w in commands:
            worker = self._workers[w]
            connection.wait([worker.talk, worker.process.sentinel])
            try:
                answers.append(worker.talk.recv())
            except (EOFError, OSError):
                raise WorkerDiedError(
                    f"{self._obituary(worker)}, so it gave no answer{worker.last_output()}"
                ) from None
        return answers

    def close(self, timeout: float) -> None:
        """Lets the workers close their environments and end, and kills those that do not."""
        for worker in self._workers:
            if not worker.is_starting:
                self._command(worker, ("close",))
        deadline = time.monotonic() + timeout
        for worker in self._workers:
            if not worker.is_starting:
                worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.forget()
        self._workers.clear()
        self._bell.close()
        self._bell_rope.close()

    def _command(self, worker: _Worker, message: Message) -> None:
        try:
            worker.talk.send(message)
        except OSError:
            return  # it is dead, which `sleep` finds out
        self._write(worker, LISTEN)

    @staticmethod
    def _write(worker: _Worker, message: bytes) -> None:
        # Broken: it is dead, which `sleep` finds out. Blocking: it has enough wake-ups to read.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(worker.wake.fileno(), message)

    def _start(self, w: int, envs: range, seeds: Sequence[int] | None) -> _Worker:
        wake, my_wake = self._context.Pipe(duplex=False)
        talk, my_talk = self._context.Pipe()
        output = AnonymousFile()
        forks = self._context.get_start_method() == "fork"
        ours = [my_wake, my_talk, self._bell]
        ours += [end for other in self._workers for end in (other.wake, other.talk)]
        job = Job(
            index=w,
            first=envs[0],
            env_fns=self._env_fns[envs[0] : envs[-1] + 1],
            spaces=self._spaces,
            infos=self._infos,
            block=self._block,
            wake=wake,
            talk=talk,
            bell=self._bell_rope,
            output=output,
            seeds=seeds,
            strangers=[end for end in ours if not end.closed] if forks else (),
        )
        self._block["playing"][w] = NO_ENV
        process = self._context.Process(
            target=run_worker, args=(job,), name=f"workflow-rl envs {w}", daemon=True
        )
        with deaf_children(), clear_mpi_env_vars():
            process.start()
        wake.close()
        talk.close()
        os.set_blocking(my_wake.fileno(), False)
        start_by = math.inf
        if self._start_timeout is not None:
            start_by = time.monotonic() + self._start_timeout
        return _Worker(envs, process, my_wake, my_talk, output, start_by)

    def _has_started(self, worker: _Worker) -> bool:
        """Reads the message of a worker that was starting; False if it is dead."""
        try:
            kind, *rest = worker.talk.recv()
        except (EOFError, OSError):
            return False
        if kind == FAILURE:
            raise failure(*rest)
        if kind != OK:
            env, observation, action = rest
            raise InvalidInputError(
                f"all environments must have the spaces of the first one; environment {env} has "
                f"{observation} and {action}"
            )
        worker.is_starting = False
        self._poll = self._make_poll()
        return True

    def _replace(self, w: int) -> None:
        worker = self._workers[w]
        obituary, output = self._obituary(worker), worker.last_output()
        if self._is_new:
            raise WorkerDiedError(f"{obituary} while it made its environments{output}")
        if self.restarts >= self._max_restarts:
            raise WorkerDiedError(
                f"{obituary}, and {self.restarts} workers had been replaced before "
                f"(max_restarts){output}"
            )
        self.restarts += 1
        _LOG.warning(
            "%s; it is replaced (%d of at most %d) and its episodes start anew",
            obituary,
            self.restarts,
            self._max_restarts,
        )
        envs = worker.envs
        worker.forget()
        self._workers[w] = self._start(w, envs, self._new_seeds(envs))
        self._poll = self._make_poll()

    @staticmethod
    def _obituary(worker: _Worker) -> str:
        worker.process.join(1)
        code = worker.process.exitcode
        how = f"ended with code {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        return f"the worker of {worker} {how}"

    def _make_poll(self) -> Any:
        poll = select.poll()
        poll.register(self._bell.fileno(), select.POLLIN)
        for worker in self._workers:
            poll.register(worker.process.sentinel, select.POLLIN)
            if worker.is_starting:
                poll.register(worker.talk.fileno(), select.POLLIN)
        return poll


def failure(env: int, text: str) -> EnvironmentFailedError:
    """Returns the error that tells of an environment's exception."""
    return EnvironmentFailedError(f"environment {env} raised an exception:\n{text.strip()}")
