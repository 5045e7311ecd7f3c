"""The parent's side of the shared block: requests to the workers, waiting, and their results."""

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from workflow_rl.envs.shared_block import (
    DONE,
    FAILED,
    IDLE,
    RESET,
    STEP,
    Fence,
    Field,
    SharedBlock,
    fields_of,
)
from workflow_rl.envs.shared_pool import POLL_SECONDS, EnvFn, WorkerPool, failure
from workflow_rl.envs.shared_worker import FAILURE, Message
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.errors import EnvironmentTimeoutError

ALL: Final = slice(None)

Infos = dict[str, Any]
Rows = slice | NDArray[np.intp]
StepResult = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class Exchange:
    """The shared block and the pool of workers; the caller has checked every argument."""

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        num_workers: int,
        spaces: tuple[Space[Any], Space[Any]],
        infos: Sequence[Field],
        *,
        timeout: float | None,
        copy: bool,
        **pool_settings: Any,
    ) -> None:
        """Starts the workers; the arguments are those of `SharedMemoryVectorEnv`."""
        n = len(env_fns)
        self._block = SharedBlock(fields_of(n, num_workers, *spaces, infos))
        self._fence = Fence()
        self._status, self._wanted = self._block["status"], self._block["wanted"]
        self._info_names = [info.name for info in infos]
        self._timeout, self._copy = timeout, copy
        self._has_options = False
        self._polled_at = 0.0  # when the workers were last checked
        self._seeds: list[int] = np.random.SeedSequence().generate_state(n, np.uint64).tolist()
        self._restarts = np.zeros(n, np.int64)
        self._restarted = np.zeros(n, np.bool_)  # and no row returned has said so yet
        try:
            self.pool = WorkerPool(
                env_fns,
                num_workers,
                self._block,
                spaces,
                infos,
                on_worker_died=self._on_worker_died,
                **pool_settings,
            )
        except BaseException:
            self._block.close()
            raise
        self._worker_of = np.repeat(np.arange(num_workers), [len(e) for e in self.pool.envs])

    def under_way(self, rows: Rows = ALL) -> int:
        """Returns how many of these environments were sent something and not taken since."""
        return int(np.count_nonzero(self._status[rows]))

    def begin_reset(self, seeds: Sequence[int | None], options: dict[str, Any] | None) -> None:
        """Asks every environment for a new episode; none may be under way."""
        self._block["has_seed"][:] = [seed is not None for seed in seeds]
        self._block["seed"][:] = [seed or 0 for seed in seeds]
        self._seeds = [
            old if new is None else new for new, old in zip(seeds, self._seeds, strict=True)
        ]
        if options is not None or self._has_options:
            self.pool.broadcast("options", options)
        self._has_options = options is not None
        self._restarted[:] = False
        self._status[:] = RESET
        self.pool.wake_all()

    def begin_step(self, rows: Rows, actions: NDArray[Any]) -> None:
        """Asks environments that are not under way for a step; a restarted one plays none."""
        self._block["action"][rows] = actions
        self._fence()
        self._status[rows] = np.where(self._restarted[rows], DONE, STEP)
        if isinstance(rows, slice):
            self.pool.wake_all()
        else:
            for w in np.flatnonzero(np.bincount(self._worker_of[rows])).tolist():
                self.pool.wake(w)

    def wait(self, count: int) -> None:
        """Waits until so many environments have finished.

        Raises:
            EnvironmentTimeoutError: they have not within the timeout.
            WorkerDiedError: more workers died than are replaced.
        """
        start = checked = time.monotonic()
        if start - self._polled_at > POLL_SECONDS:  # even if there is never anything to wait for
            self._poll_workers(0.0)
        self._wanted[0] = count
        try:
            while True:
                self._fence()
                if np.count_nonzero(self._status >= DONE) >= count:
                    self._fence()
                    return
                now = time.monotonic()
                if self.pool.is_starting:
                    start = now  # the clock stands still while a replacement starts
                if now - checked > POLL_SECONDS:
                    checked = now
                    self._wake_idle_workers()
                    if self._timeout is not None and now - start > self._timeout:
                        raise EnvironmentTimeoutError(self._timeout_message())
                self._poll_workers(POLL_SECONDS)
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
            (texts,) = self.pool.request({int(self._worker_of[env]): ("failures",)})
            raise failure(env, texts[env])

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
        infos = self._infos("info", rows)
        infos["restarted"] = restarted
        infos["_restarted"] = np.ones(len(restarted), np.bool_)
        ended = terminated | truncated
        if ended.any():
            infos["final_obs"] = self._rows_of("final_obs", rows)
            infos["final_info"] = self._infos("final_info", rows)
            infos["_final_obs"] = infos["_final_info"] = ended & ~restarted
        self._status[rows] = IDLE
        return observation, reward, terminated, truncated, infos

    def request(self, commands: Sequence[Message]) -> list[Any]:
        """Sends each worker its command and returns the results of all environments.

        Raises:
            EnvironmentFailedError: an environment raised an exception.
        """
        while self.pool.is_starting:
            self._poll_workers(POLL_SECONDS)
        results: list[Any] = []
        for kind, *rest in self.pool.request(dict(enumerate(commands))):
            if kind == FAILURE:
                raise failure(*rest)
            results += rest[0]
        return results

    def close(self, timeout: float) -> None:
        """Ends the workers and closes the block."""
        self.pool.close(timeout)
        self._block.close()

    def _rows_of(self, name: str, rows: Rows) -> NDArray[Any]:
        array = self._block[name][rows]
        return array.copy() if self._copy and isinstance(rows, slice) else array

    def _infos(self, prefix: str, rows: Rows) -> Infos:
        return {
            name: self._rows_of(f"{prefix}.{name}", rows)
            for info in self._info_names
            for name in (info, f"_{info}")
        }

    def _on_worker_died(self, envs: range) -> list[int]:
        """Marks a dead worker's finished rows as unfinished: its replacement writes them anew.

        Returns:
            The seeds of the replacement's environments, derived of (seed, environment, restarts).
        """
        part = slice(envs.start, envs.stop)
        self._status[part][self._status[part] >= DONE] = STEP
        self._restarts[part] += 1
        return [derived_seed(self._seeds[k], k, int(self._restarts[k])) for k in envs]

    def _poll_workers(self, seconds: float) -> None:
        """Waits for the workers; what a replacement was asked for is done, its rows are marked."""
        self._polled_at = time.monotonic()
        for envs in self.pool.wait(seconds):
            part = slice(envs.start, envs.stop)
            self._restarted[part] = True
            self._status[part][self._status[part] != IDLE] = DONE

    def _wake_idle_workers(self) -> None:
        """Wakes workers that have environments to play and do not: a wake-up was interrupted."""
        for w, playing in enumerate(self._block["playing"].tolist()):
            if playing < 0 and self._asked(w):
                self.pool.wake(w)

    def _asked(self, w: int) -> int:
        """Returns how many environments of a worker are still to be stepped or reset."""
        envs = self.pool.envs[w]
        status = self._status[envs.start : envs.stop]
        return int(np.count_nonzero((status == STEP) | (status == RESET)))

    def _timeout_message(self) -> str:
        """Says which environments have not finished in time."""
        late = []
        for w, env in enumerate(self._block["playing"].tolist()):
            asked = self._asked(w)
            if asked and env >= 0:
                behind = f", and {asked - 1} more wait behind it" if asked > 1 else ""
                late.append(f"environment {env} has not finished{behind}")
            elif asked:
                late.append(f"the worker of {asked} environments does nothing")
        return f"after {self._timeout:g} s (timeout) " + "; ".join(late)
