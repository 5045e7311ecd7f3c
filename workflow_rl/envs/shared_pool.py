"""The worker processes as their parent sees them: started, woken, replaced when they die, ended."""

import logging
import multiprocessing
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, Final

from gymnasium import Env, Space
from gymnasium.vector.utils import CloudpickleWrapper, clear_mpi_env_vars

from workflow_rl.envs.shared_block import NO_ENV, AnonymousFile, Field, SharedBlock
from workflow_rl.envs.shared_worker import (
    FAILURE,
    OK,
    WAKE_COMMAND,
    WAKE_PLAY,
    Job,
    Message,
    WorkerTask,
    run_worker,
)
from workflow_rl.errors import (
    EnvironmentFailedError,
    EnvironmentTimeoutError,
    InvalidInputError,
    WorkerDiedError,
)
from workflow_rl.processes import interrupts_blocked

_LOG: Final = logging.getLogger(__name__)
POLL_SECONDS: Final = 0.02  # between checks for what no descriptor signals
_TAIL: Final = 4_000  # bytes of a dead worker's output that are shown
_SIGNALS: Final = {signal_.value: signal_.name for signal_ in signal.Signals}

EnvFn = Callable[[], Env[Any, Any]]


class WorkerProcess:
    """One worker process and the parent's ends of its pipes."""

    def __init__(
        self,
        context: Any,
        task: WorkerTask,
        notify: Connection,
        seeds: Sequence[int] | None,
        parent_ends: Sequence[Connection],
    ) -> None:
        """Starts the process.

        Args:
            context: of multiprocessing.
            task: which environments it makes.
            notify: the pipe by which it wakes the parent.
            seeds: of a replacement, which starts all its episodes anew.
            parent_ends: of other pipes, which a forked process inherits and closes.
        """
        self.envs = range(task.first, task.first + len(task.env_fns))
        self.is_starting = True
        self.started_at = time.monotonic()
        self._is_closed = False
        wake, self._wake = context.Pipe(duplex=False)
        commands, self.commands = context.Pipe()
        self.output = AnonymousFile()
        is_forked = context.get_start_method() == "fork"
        inherited = [*parent_ends, self._wake, self.commands] if is_forked else []
        job = Job(task, wake, commands, notify, self.output, seeds, inherited)
        self.process = context.Process(
            target=run_worker, args=(job,), name=f"workflow-rl {self}", daemon=True
        )
        with interrupts_blocked(), clear_mpi_env_vars():
            self.process.start()
        wake.close()
        commands.close()
        os.set_blocking(self._wake.fileno(), False)

    def __str__(self) -> str:
        """Returns "environment 3" or "environments 3 to 5"."""
        first, last = self.envs[0], self.envs[-1]
        return f"environment {first}" if first == last else f"environments {first} to {last}"

    @property
    def ends(self) -> list[Connection]:
        """The parent's ends of its pipes."""
        return [] if self._is_closed else [self._wake, self.commands]

    def wake(self, reason: bytes = WAKE_PLAY) -> None:
        """Wakes the process; if it is dead, the pool finds out."""
        # Broken: it is dead. Blocking: it has wake-ups enough to read.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._wake.fileno(), reason)

    def send_command(self, command: Message) -> None:
        """Sends a command and wakes the process; if it is dead, the pool finds out."""
        with suppress(OSError):
            self.commands.send(command)
            self.wake(WAKE_COMMAND)

    def exit_reason(self) -> str:
        """Says how the process, which has ended, ended: by its exit code or by a signal."""
        self.process.join(1)
        code = self.process.exitcode
        how = f"ended with code {code}"
        if code is not None and code < 0:
            how = f"was killed by {_SIGNALS.get(-code, f'signal {-code}')}"
        return f"the worker of {self} {how}"

    def last_output(self) -> str:
        """Returns the end of what the process printed, as the end of an error's sentence."""
        size = os.fstat(self.output.descriptor).st_size
        kept = os.pread(self.output.descriptor, _TAIL, max(0, size - _TAIL))
        text = kept.decode(errors="replace").strip()
        return f"; its last output:\n{text}" if text else "; it had printed nothing"

    def kill(self) -> None:
        """Kills the process, if it runs, and closes its pipes."""
        if self._is_closed:
            return
        self._is_closed = True
        self.process.kill()
        self.process.join()
        self.process.close()
        for end in (self._wake, self.commands, self.output):
            end.close()


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
        on_worker_died: Callable[[range], Sequence[int]],
    ) -> None:
        """Starts the workers and returns when all environments are made.

        Args:
            env_fns: make the environments.
            num_workers: how many processes.
            block: the memory shared with them.
            spaces: the observation and action space that every environment must have.
            infos: the info arrays of the block.
            start_method: fork, spawn or forkserver; None takes multiprocessing's default.
            start_timeout: seconds to make all environments; None waits for ever.
            max_restarts: so many dead workers are replaced.
            on_worker_died: called with the environments of a dead worker; returns the seeds with
                which its replacement starts them.
        """
        self._context: Any = multiprocessing.get_context(start_method)
        self._env_fns = [CloudpickleWrapper(env_fn) for env_fn in env_fns]
        self._block, self._spaces, self._infos = block, spaces, infos
        self._start_timeout, self._max_restarts = start_timeout, max_restarts
        self._on_worker_died = on_worker_died
        self.restarts = 0
        self._has_started_once = False  # a worker that dies before is not replaced
        self._notify_reader, self._notify_writer = self._context.Pipe(duplex=False)
        os.set_blocking(self._notify_reader.fileno(), False)
        self._workers: list[WorkerProcess] = []
        n = len(env_fns)
        try:
            for w in range(num_workers):
                envs = range(n * w // num_workers, n * (w + 1) // num_workers)
                self._workers.append(self._start(w, envs, None))
            self._poll = self._make_poll()
            while self.is_starting:
                self.wait(POLL_SECONDS)
        except BaseException:
            self.close(0)
            raise
        self._has_started_once = True

    @property
    def envs(self) -> list[range]:
        """The environments of each worker."""
        return [worker.envs for worker in self._workers]

    @property
    def pids(self) -> list[int]:
        """The process id of each worker."""
        return [worker.process.pid for worker in self._workers]

    @property
    def is_starting(self) -> bool:
        """Whether a worker is still making its environments."""
        return any(worker.is_starting for worker in self._workers)

    def wake(self, w: int) -> None:
        """Wakes a worker to play its environments; one that is starting has none to play."""
        worker = self._workers[w]
        if not worker.is_starting:
            worker.wake()

    def wake_all(self) -> None:
        """Wakes all workers."""
        for w in range(len(self._workers)):
            self.wake(w)

    def wait(self, seconds: float) -> list[range]:
        """Waits until a worker notifies, dies or has started; replaces those that died.

        Args:
            seconds: the longest to wait.

        Returns:
            The environments of each worker that has started since.

        Raises:
            WorkerDiedError: more workers died than are to be replaced.
            EnvironmentFailedError: an environment of a replacement could not be made.
        """
        ready = {descriptor for descriptor, _ in self._poll.poll(1000 * seconds)}
        if self._notify_reader.fileno() in ready:
            os.read(self._notify_reader.fileno(), 4096)
        started = []
        for w, worker in enumerate(tuple(self._workers)):
            if worker.is_starting and worker.commands.fileno() in ready:
                if self._has_started(worker):
                    started.append(worker.envs)
                else:
                    self._replace(w)
            elif worker.process.sentinel in ready or not (ready or worker.process.is_alive()):
                self._replace(w)
            elif worker.is_starting and self._is_late(worker):
                raise EnvironmentTimeoutError(
                    f"{worker} could not be made within {self._start_timeout:g} s (start_timeout)"
                )
        return started

    def broadcast(self, command: str, *arguments: Any) -> None:
        """Sends every worker a command that has no answer."""
        for worker in self._workers:
            worker.send_command((command, *arguments))

    def request(self, commands: Mapping[int, Message]) -> list[Any]:
        """Sends some workers a command each and returns their answers, in the same order.

        Raises:
            WorkerDiedError: a worker died before it answered.
        """
        for w, command in commands.items():
            self._workers[w].send_command(command)
        answers = []
        for w in commands:
            worker = self._workers[w]
            connection.wait([worker.commands, worker.process.sentinel])
            try:
                answers.append(worker.commands.recv())
            except (EOFError, OSError):
                raise WorkerDiedError(
                    f"{worker.exit_reason()}, so it gave no answer{worker.last_output()}"
                ) from None
        return answers

    def close(self, timeout: float) -> None:
        """Lets the workers close their environments and end, and kills those that do not."""
        for worker in self._workers:
            if not worker.is_starting:
                worker.send_command(("close",))
        deadline = time.monotonic() + timeout
        for worker in self._workers:
            if not worker.is_starting:
                worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.kill()
        self._workers.clear()
        self._notify_reader.close()
        self._notify_writer.close()

    def _start(self, w: int, envs: range, seeds: Sequence[int] | None) -> WorkerProcess:
        self._block["playing"][w] = NO_ENV
        env_fns = self._env_fns[envs.start : envs.stop]
        task = WorkerTask(w, envs.start, env_fns, self._spaces, self._infos, self._block)
        ends = [self._notify_reader, *(end for worker in self._workers for end in worker.ends)]
        return WorkerProcess(self._context, task, self._notify_writer, seeds, ends)

    def _has_started(self, worker: WorkerProcess) -> bool:
        """Receives the first message of a worker that was starting; False if it died.

        Raises:
            EnvironmentFailedError: an environment could not be made.
            InvalidInputError: an environment has other spaces.
        """
        try:
            kind, *rest = worker.commands.recv()
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
        """Starts a new worker in the place of one that died, if that is still allowed."""
        worker = self._workers[w]
        reason, output = worker.exit_reason(), worker.last_output()
        if not self._has_started_once:
            raise WorkerDiedError(f"{reason} while it made its environments{output}")
        if self.restarts >= self._max_restarts:
            raise WorkerDiedError(
                f"{reason}, and {self.restarts} workers had been replaced before "
                f"(max_restarts){output}"
            )
        self.restarts += 1
        _LOG.warning(
            "%s; it is replaced (%d of at most %d) and its episodes start anew",
            reason,
            self.restarts,
            self._max_restarts,
        )
        envs = worker.envs
        worker.kill()
        self._workers[w] = self._start(w, envs, self._on_worker_died(envs))
        self._poll = self._make_poll()

    def _make_poll(self) -> Any:
        poll = select.poll()
        poll.register(self._notify_reader.fileno(), select.POLLIN)
        for worker in self._workers:
            poll.register(worker.process.sentinel, select.POLLIN)
            if worker.is_starting:
                poll.register(worker.commands.fileno(), select.POLLIN)
        return poll


def failure(env: int, text: str) -> EnvironmentFailedError:
    """Returns the error that shows an environment's exception, given its traceback."""
    return EnvironmentFailedError(f"environment {env} raised an exception:\n{text.strip()}")
