"""The parent's side of the shared block: what is asked of the workers, and what came of it."""

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
from workflow_rl.envs.shared_pool import LOOK_EVERY, EnvFn, WorkerPool, failure
from workflow_rl.envs.shared_worker import FAILURE, Message
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.errors import EnvironmentTimeoutError

ALL: Final = slice(None)

Infos = dict[str, Any]
Rows = slice | NDArray[np.intp]
Given = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]


class Exchange:
    """The block and the workers on its other side; the caller has checked every argument."""

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
        self._slept = 0.0  # when it last looked for news
        self._seeds: list[int] = np.random.SeedSequence().generate_state(n, np.uint64).tolist()
        self._restarts = np.zeros(n, np.int64)
        self._is_new = np.zeros(n, np.bool_)  # restarted, and no row has said so yet
        try:
            self.pool = WorkerPool(
                env_fns,
                num_workers,
                self._block,
                spaces,
                infos,
                on_death=self._bury,
                **pool_settings,
            )
        except BaseException:
            self._block.close()
            raise
        self._worker_of = np.repeat(np.arange(num_workers), [len(e) for e in self.pool.envs])

    def under_way(self, rows: Rows = ALL) -> int:
        """How many of these environments were sent something and have not been taken since."""
        return int(np.count_nonzero(self._status[rows]))

    def begin_reset(self, seeds: Sequence[int | None], options: dict[str, Any] | None) -> None:
        """Asks every environment for a new episode; none may be under way."""
        self._block["has_seed"][:] = [seed is not None for seed in seeds]
        self._block["seed"][:] = [seed or 0 for seed in seeds]
        self._seeds = [
            old if new is None else new for new, old in zip(seeds, self._seeds, strict=True)
        ]
        if options is not None or self._has_options:
            self.pool.tell("options", options)
        self._has_options = options is not None
        self._is_new[:] = False
        self._status[:] = RESET
        self.pool.look_all()

    def begin_step(self, rows: Rows, actions: NDArray[Any]) -> None:
        """Asks environments that are not under way for a step; one that is new has its row."""
        self._block["action"][rows] = actions
        self._fence()
        self._status[rows] = np.where(self._is_new[rows], DONE, STEP)
        if isinstance(rows, slice):
            self.pool.look_all()
        else:
            for w in np.flatnonzero(np.bincount(self._worker_of[rows])).tolist():
                self.pool.look(w)

    def wait(self, count: int) -> None:
        """Sleeps until so many environments have finished.

        Raises:
            EnvironmentTimeoutError: they have not within the timeout.
            WorkerDiedError: more workers died than are replaced.
        """
        start = looked = time.monotonic()
        if start - self._slept > LOOK_EVERY:  # always enough to do is no reason not to look
            self._sleep(0.0)
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
                if now - looked > LOOK_EVERY:
                    looked = now
                    self._wake_again()
                    if self._timeout is not None and now - start > self._timeout:
                        raise EnvironmentTimeoutError(self._who_is_late())
                self._sleep(LOOK_EVERY)
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
            (texts,) = self.pool.ask({int(self._worker_of[env]): ("failures",)})
            raise failure(env, texts[env])

    def forget(self) -> None:
        """Forgets what finished environments gave."""
        self._status[:] = IDLE

    def take(self, rows: Rows) -> Given:
        """Returns the rows of environments that have finished, which may then be asked again."""
        observation, reward = self._given("observation", rows), self._given("reward", rows)
        terminated, truncated = self._given("terminated", rows), self._given("truncated", rows)
        restarted = self._is_new[rows].copy()
        if restarted.any():
            truncated |= restarted
            self._block["final_obs"][rows] = observation
            self._is_new[rows] = False
        infos = self._infos("info", rows)
        infos["restarted"] = restarted
        infos["_restarted"] = np.ones(len(restarted), np.bool_)
        ended = terminated | truncated
        if ended.any():
            infos["final_obs"] = self._given("final_obs", rows)
            infos["final_info"] = self._infos("final_info", rows)
            infos["_final_obs"] = infos["_final_info"] = ended & ~restarted
        self._status[rows] = IDLE
        return observation, reward, terminated, truncated, infos

    def ask(self, commands: Sequence[Message]) -> list[Any]:
        """Gives each worker a command and returns the results of all environments.

        Raises:
            EnvironmentFailedError: an environment raised an exception.
        """
        while self.pool.is_starting:
            self._sleep(LOOK_EVERY)
        results: list[Any] = []
        for kind, *rest in self.pool.ask(dict(enumerate(commands))):
            if kind == FAILURE:
                raise failure(*rest)
            results += rest[0]
        return results

    def close(self, timeout: float) -> None:
        """Ends the workers and lets go of the block."""
        self.pool.close(timeout)
        self._block.close()

    def _given(self, name: str, rows: Rows) -> NDArray[Any]:
        array = self._block[name][rows]
        return array.copy() if self._copy and isinstance(rows, slice) else array

    def _infos(self, prefix: str, rows: Rows) -> Infos:
        return {
            name: self._given(f"{prefix}.{name}", rows)
            for info in self._info_names
            for name in (info, f"_{info}")
        }

    def _bury(self, envs: range) -> list[int]:
        """Takes back the rows of a dead worker, which its replacement is going to write.

        Returns:
            The replacement's seeds, of (seed, environment, restarts).
        """
        part = slice(envs.start, envs.stop)
        self._status[part][self._status[part] >= DONE] = STEP
        self._restarts[part] += 1
        return [derived_seed(self._seeds[k], k, int(self._restarts[k])) for k in envs]

    def _sleep(self, seconds: float) -> None:
        """Sleeps until there may be news; what a replacement was asked for has a marked row."""
        self._slept = time.monotonic()
        for envs in self.pool.sleep(seconds):
            part = slice(envs.start, envs.stop)
            self._is_new[part] = True
            self._status[part][self._status[part] != IDLE] = DONE

    def _wake_again(self) -> None:
        """Wakes workers that do nothing although they should: a wake-up was interrupted."""
        for w, playing in enumerate(self._block["playing"].tolist()):
            if playing < 0 and self._asked(w):
                self.pool.look(w)

    def _asked(self, w: int) -> int:
        envs = self.pool.envs[w]
        status = self._status[envs.start : envs.stop]
        return int(np.count_nonzero((status == STEP) | (status == RESET)))

    def _who_is_late(self) -> str:
        late = []
        for w, env in enumerate(self._block["playing"].tolist()):
            asked = self._asked(w)
            if asked and env >= 0:
                behind = f", and {asked - 1} more wait behind it" if asked > 1 else ""
                late.append(f"environment {env} has not finished{behind}")
            elif asked:
                late.append(f"the worker of {asked} environments does nothing")
        return f"after {self._timeout:g} s (timeout) " + "; ".join(late)
