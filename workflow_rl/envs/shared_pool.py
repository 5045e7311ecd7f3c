"""All worker processes together: woken, asked, replaced when they die, ended."""

import logging
import multiprocessing
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection
from typing import Any, Final

from gymnasium import Env, Space
from gymnasium.vector.utils import CloudpickleWrapper

from workflow_rl.envs.shared_block import NO_ENV, Field, SharedBlock
from workflow_rl.envs.shared_process import WorkerProcess
from workflow_rl.envs.shared_worker import FAILURE, LOOK, OK, Message, Task
from workflow_rl.errors import (
    EnvironmentFailedError,
    EnvironmentTimeoutError,
    InvalidInputError,
    WorkerDiedError,
)

_LOG: Final = logging.getLogger(__name__)
LOOK_EVERY: Final = 0.02  # seconds between looks for what no descriptor tells

EnvFn = Callable[[], Env[Any, Any]]


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
        on_death: Callable[[range], Sequence[int]],
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
            on_death: told the environments of a dead worker, gives the seeds of their next ones.
        """
        self._context: Any = multiprocessing.get_context(start_method)
        self._env_fns = [CloudpickleWrapper(env_fn) for env_fn in env_fns]
        self._block, self._spaces, self._infos = block, spaces, infos
        self._start_timeout, self._max_restarts = start_timeout, max_restarts
        self._on_death = on_death
        self.restarts = 0
        self._is_new = True  # no death is forgiven before all have started once
        self._bell, self._bell_rope = self._context.Pipe(duplex=False)
        os.set_blocking(self._bell.fileno(), False)
        self._workers: list[WorkerProcess] = []
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
            worker.write(LOOK)

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
            elif worker.is_starting and self._is_late(worker):
                raise EnvironmentTimeoutError(
                    f"{worker} could not be made within {self._start_timeout:g} s (start_timeout)"
                )
        return renewed

    def tell(self, command: str, *arguments: Any) -> None:
        """Gives every worker a command that has no answer."""
        for worker in self._workers:
            worker.command((command, *arguments))

    def ask(self, commands: Mapping[int, Message]) -> list[Any]:
        """Gives each worker its command and returns the answers.

        Raises:
            WorkerDiedError: a worker died before it answered.
        """
        for w, command in commands.items():
            self._workers[w].command(command)
        answers = []
        for w in commands:
            worker = self._workers[w]
            connection.wait([worker.talk, worker.process.sentinel])
            try:
                answers.append(worker.talk.recv())
            except (EOFError, OSError):
                raise WorkerDiedError(
                    f"{worker.obituary()}, so it gave no answer{worker.last_output()}"
                ) from None
        return answers

    def close(self, timeout: float) -> None:
        """Lets the workers close their environments and end, and kills those that do not."""
        for worker in self._workers:
            if not worker.is_starting:
                worker.command(("close",))
        deadline = time.monotonic() + timeout
        for worker in self._workers:
            if not worker.is_starting:
                worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.forget()
        self._workers.clear()
        self._bell.close()
        self._bell_rope.close()

    def _start(self, w: int, envs: range, seeds: Sequence[int] | None) -> WorkerProcess:
        self._block["playing"][w] = NO_ENV
        env_fns = self._env_fns[envs.start : envs.stop]
        task = Task(w, envs.start, env_fns, self._spaces, self._infos, self._block)
        strangers = [self._bell, *(end for worker in self._workers for end in worker.ends)]
        return WorkerProcess(self._context, task, self._bell_rope, seeds, strangers)

    def _has_started(self, worker: WorkerProcess) -> bool:
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

    def _is_late(self, worker: WorkerProcess) -> bool:
        limit = self._start_timeout
        return limit is not None and time.monotonic() - worker.started_at > limit

    def _replace(self, w: int) -> None:
        worker = self._workers[w]
        obituary, output = worker.obituary(), worker.last_output()
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
        self._workers[w] = self._start(w, envs, self._on_death(envs))
        self._poll = self._make_poll()

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
