"""The parent's side of the worker processes: asked, waited for, replaced when they die, ended."""

import itertools
import logging
import math
import multiprocessing
import os
import select
import time
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from typing import Any, Final

import numpy as np
from gymnasium import Space
from gymnasium.vector.utils import CloudpickleWrapper
from numpy.typing import NDArray

from workflow_rl.envs.shared_block import (
    DONE,
    FAILED,
    IDLE,
    NO_ENV,
    RESET,
    STEP,
    Fence,
    Field,
    SharedBlock,
    fields_of,
)
from workflow_rl.envs.shared_worker import Command, EnvFn, Task, Worker
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.errors import EnvironmentTimeoutError, WorkerDiedError

_LOG: Final = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.02  # between checks for what no descriptor signals
ALL: Final = slice(None)

Infos = dict[str, Any]
Rows = slice | NDArray[np.intp]
StepResult = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class WorkerPool:
    """Worker processes, each with a contiguous slice of the environments, and the shared block.

    The caller has checked every argument.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        num_workers: int,
        spaces: tuple[Space[Any], Space[Any]],
        infos: Sequence[Field],
        *,
        start_method: str | None,
        timeout: float | None,
        start_timeout: float | None,
        max_restarts: int,
        copy: bool,
    ) -> None:
        """Starts the workers and returns when all environments are made.

        The arguments are those of `SharedMemoryVectorEnv`, with the spaces that every environment
        must have and the info arrays of the block.
        """
        n = len(env_fns)
        self._context: Any = multiprocessing.get_context(start_method)
        self._env_fns = [CloudpickleWrapper(env_fn) for env_fn in env_fns]
        self._spaces, self._infos = spaces, infos
        self._timeout = math.inf if timeout is None else timeout
        self._start_timeout = math.inf if start_timeout is None else start_timeout
        self._max_restarts, self._copy = max_restarts, copy
        self.restarts = 0
        self._has_started = False  # a worker that dies before is not replaced
        self._has_options = False
        self._polled_at = 0.0  # when the workers were last checked
        self._seeds: list[int] = np.random.SeedSequence().generate_state(n, np.uint64).tolist()
        self._restarts = np.zeros(n, np.int64)  # of each environment's worker
        self._restarted = np.zeros(n, np.bool_)  # and no row returned has said so yet
        self._fence = Fence()
        self._block = SharedBlock(fields_of(n, num_workers, *spaces, infos))
        self._status, self._wanted = self._block["status"], self._block["wanted"]
        self._notify_reader, self._notify_writer = self._context.Pipe(duplex=False)
        os.set_blocking(self._notify_reader.fileno(), False)
        self.workers: list[Worker] = []
        bounds = [n * w // num_workers for w in range(num_workers + 1)]
        self._worker_of = np.repeat(np.arange(num_workers), np.diff(bounds))
        try:
            for w, (first, end) in enumerate(itertools.pairwise(bounds)):
                self.workers.append(self._start(w, range(first, end), None))
            self._poll = self._make_poll()
            self._wait_for_starting()
        except BaseException:
            self.close(0)
            raise
        self._has_started = True

    # --- requests to the environments, and their results

    def under_way(self, rows: Rows = ALL) -> int:
        """Returns how many of these environments were sent something and not taken since."""
        return int(np.count_nonzero(self._status[rows]))

    def begin_reset(self, seeds: Sequence[int | None], options: dict[str, Any] | None) -> None:
        """Starts a new episode in every environment; none may be stepping."""
        self._block["has_seed"][:] = [seed is not None for seed in seeds]
        self._block["seed"][:] = [seed or 0 for seed in seeds]
        self._seeds = [
            old if new is None else new for new, old in zip(seeds, self._seeds, strict=True)
        ]
        if options is not None or self._has_options:
            for worker in self.workers:
                worker.send(("options", options))
        self._has_options = options is not None
        self._restarted[:] = False
        self._status[:] = RESET
        self._wake(range(len(self.workers)))

    def begin_step(self, rows: Rows, actions: NDArray[Any]) -> None:
        """Starts a step of idle environments; one whose worker was restarted plays none."""
        self._block["action"][rows] = actions
        self._fence()
        self._status[rows] = np.where(self._restarted[rows], DONE, STEP)
        if isinstance(rows, slice):
            self._wake(range(len(self.workers)))
        else:
            self._wake(np.flatnonzero(np.bincount(self._worker_of[rows])).tolist())

    def wait(self, count: int) -> None:
        """Waits until `count` environments have finished.

        Raises:
            EnvironmentTimeoutError: they have not within the timeout.
            WorkerDiedError: more workers died than are replaced.
        """
        start = checked = time.monotonic()
        if start - self._polled_at > _POLL_SECONDS:  # even if there is never anything to wait for
            self._poll_workers(0.0)
        self._wanted[0] = count
        try:
            while True:
                self._fence()
                if np.count_nonzero(self._status >= DONE) >= count:
                    self._fence()
                    return
                now = time.monotonic()
                if self._is_starting:
                    start = now  # the clock stands still while a replacement starts
                if now - checked > _POLL_SECONDS:
                    checked = now
                    self._wake_idle_workers()
                    if now - start > self._timeout:
                        raise EnvironmentTimeoutError(self._timeout_message())
                self._poll_workers(_POLL_SECONDS)
        finally:
            self._wanted[0] = 0

    def finished(self) -> NDArray[np.intp]:
        """Returns which environments have finished."""
        return np.flatnonzero(self._status >= DONE)

    def raise_failure(self) -> None:
        """Raises EnvironmentFailedError if an environment that finished raised an exception."""
        failed = np.flatnonzero(self._status == FAILED)
        if len(failed):
            env = int(failed[0])
            (failures,) = self._answers({int(self._worker_of[env]): ("failures",)})
            raise failures[env]

    def discard(self) -> None:
        """Discards the results of finished environments."""
        self._status[:] = IDLE

    def take(self, rows: Rows) -> StepResult:
        """Returns the results of environments that have finished, which are then idle again."""
        observation, reward = self._rows_of("observation", rows), self._rows_of("reward", rows)
        terminated, truncated = self._rows_of("terminated", rows), self._rows_of("truncated", rows)
        restarted = self._restarted[rows].copy()
        if restarted.any():
            truncated |= restarted
            self._block["final_obs"][rows] = observation
            self._restarted[rows] = False
        infos = self._infos_of("info", rows)
        infos["restarted"] = restarted
        infos["_restarted"] = np.ones(len(restarted), np.bool_)
        ended = terminated | truncated
        if ended.any():
            infos["final_obs"] = self._rows_of("final_obs", rows)
            infos["final_info"] = self._infos_of("final_info", rows)
            infos["_final_obs"] = infos["_final_info"] = ended & ~restarted
        self._status[rows] = IDLE
        return observation, reward, terminated, truncated, infos

    def request(self, commands: Sequence[Command]) -> list[bytes]:
        """Sends each worker its command and returns the results of all environments."""
        self._wait_for_starting()
        return list(itertools.chain(*self._answers(dict(enumerate(commands)))))

    def _rows_of(self, name: str, rows: Rows) -> NDArray[Any]:
        array = self._block[name][rows]
        return array.copy() if self._copy and isinstance(rows, slice) else array

    def _infos_of(self, prefix: str, rows: Rows) -> Infos:
        return {
            name: self._rows_of(f"{prefix}.{name}", rows)
            for info in self._infos
            for name in (info.name, f"_{info.name}")
        }

    def _answers(self, commands: Mapping[int, Command]) -> list[Any]:
        """Sends some workers a command each and returns their answers, in the same order.

        Raises:
            EnvironmentFailedError: an environment raised an exception.
            WorkerDiedError: a worker died before it answered.
        """
        for w, command in commands.items():
            self.workers[w].send(command)
        answers = []
        for worker in (self.workers[w] for w in commands):
            connection.wait([worker.commands, worker.process.sentinel])
            try:
                answer = worker.commands.recv()
            except (EOFError, OSError):
                raise WorkerDiedError(
                    f"{worker.exit_reason()}, so it gave no answer{worker.last_output()}"
                ) from None
            if isinstance(answer, Exception):
                raise answer
            answers.append(answer)
        return answers

    # --- the processes

    def close(self, timeout: float) -> None:
        """Lets the workers close their environments and end, kills those that do not."""
        running = [worker for worker in self.workers if not worker.is_starting]
        for worker in running:
            worker.send(("close",))
        deadline = time.monotonic() + timeout
        for worker in running:
            worker.process.join(max(0.0, deadline - time.monotonic()))
        for worker in self.workers:
            worker.kill()
        self.workers.clear()
        self._notify_reader.close()
        self._notify_writer.close()
        self._block.close()

    def _start(self, w: int, envs: range, seeds: Sequence[int] | None) -> Worker:
        self._block["playing"][w] = NO_ENV
        env_fns, notify = self._env_fns[envs.start : envs.stop], self._notify_writer
        task = Task(w, envs.start, env_fns, self._spaces, self._infos, self._block, notify, seeds)
        return Worker(self._context, task)

    @property
    def _is_starting(self) -> bool:
        return any(worker.is_starting for worker in self.workers)

    def _wait_for_starting(self) -> None:
        while self._is_starting:
            self._poll_workers(_POLL_SECONDS)

    def _wake(self, numbers: Sequence[int]) -> None:
        """Wakes workers to play their environments; one that is starting has none to play."""
        for w in numbers:
            if not self.workers[w].is_starting:
                self.workers[w].wake()

    def _poll_workers(self, seconds: float) -> None:
        """Waits until a worker notifies, dies or has started; replaces those that died.

        Raises:
            WorkerDiedError: more workers died than are replaced.
            EnvironmentTimeoutError: a worker takes too long to start.
            EnvironmentFailedError: an environment could not be made.
            InvalidInputError: an environment has other spaces.
        """
        self._polled_at = time.monotonic()
        ready = {descriptor for descriptor, _ in self._poll.poll(1000 * seconds)}
        if self._notify_reader.fileno() in ready:
            os.read(self._notify_reader.fileno(), 4096)
        for w, worker in enumerate(tuple(self.workers)):
            if worker.is_starting and worker.commands.fileno() in ready:
                self._take_over(w)
            elif worker.process.sentinel in ready or not (ready or worker.process.is_alive()):
                self._replace(w)
            elif worker.is_starting and self._polled_at - worker.started_at > self._start_timeout:
                raise EnvironmentTimeoutError(
                    f"{worker} could not be made within {self._start_timeout:g} s (start_timeout)"
                )

    def _take_over(self, w: int) -> None:
        """Receives the first message of a restarted worker and marks its rows."""
        worker = self.workers[w]
        try:
            error = worker.commands.recv()
        except (EOFError, OSError):
            self._replace(w)
            return
        if error is not None:
            raise error
        worker.is_starting = False
        self._poll = self._make_poll()
        self._restarted[worker.rows] = True
        status = self._status[worker.rows]
        status[status != IDLE] = DONE

    def _replace(self, w: int) -> None:
        """Starts a new worker in the place of one that died, if that is still allowed.

        Rows that it had finished are unfinished again: the replacement writes them anew, from
        seeds derived of (seed, environment, restarts).
        """
        worker = self.workers[w]
        reason, output = worker.exit_reason(), worker.last_output()
        if not self._has_started:
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
        worker.kill()
        status = self._status[worker.rows]
        status[status >= DONE] = STEP
        self._restarts[worker.rows] += 1
        seeds = [derived_seed(self._seeds[k], k, int(self._restarts[k])) for k in worker.envs]
        self.workers[w] = self._start(w, worker.envs, seeds)
        self._poll = self._make_poll()

    def _make_poll(self) -> Any:
        poll = select.poll()
        poll.register(self._notify_reader.fileno(), select.POLLIN)
        for worker in self.workers:
            poll.register(worker.process.sentinel, select.POLLIN)
            if worker.is_starting:
                poll.register(worker.commands.fileno(), select.POLLIN)
        return poll

    # --- workers that have something to play and do not, or for too long

    def _asked(self) -> list[tuple[int, int]]:
        """Returns by worker how many of its environments are to be played, and which it is in."""
        is_asked = (self._status == STEP) | (self._status == RESET)
        asked = [int(np.count_nonzero(is_asked[worker.rows])) for worker in self.workers]
        return list(zip(asked, self._block["playing"].tolist(), strict=True))

    def _wake_idle_workers(self) -> None:
        """Wakes workers that have environments to play and do not: a wake-up was interrupted."""
        state = enumerate(self._asked())
        self._wake([w for w, (asked, playing) in state if asked and playing == NO_ENV])

    def _timeout_message(self) -> str:
        """Says which environments have not finished in time."""
        late = []
        for asked, env in self._asked():
            if asked and env != NO_ENV:
                behind = f", and {asked - 1} more wait behind it" if asked > 1 else ""
                late.append(f"environment {env} has not finished{behind}")
            elif asked:
                late.append(f"the worker of {asked} environments does nothing")
        return f"after {self._timeout:g} s (timeout) " + "; ".join(late)
