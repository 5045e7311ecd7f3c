"""Python environments in a few worker processes, stepped over shared memory."""

import os
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, Self

import numpy as np
from gymnasium import Env
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from workflow_rl.arrays import numbers
from workflow_rl.config import MAX_ENVS, one_of, positive, whole_number
from workflow_rl.config.checks import several
from workflow_rl.envs.shared_block import Field, InfoArrays, array_of, info_fields
from workflow_rl.envs.shared_pool import ALL, Infos, StepResult, WorkerPool
from workflow_rl.envs.shared_worker import EnvFn
from workflow_rl.envs.spaces import checked_seed, env_seeds
from workflow_rl.errors import EnvironmentFailedError, InvalidInputError, NotResetError, shown

START_METHODS: Final = ("fork", "spawn", "forkserver")
_MAX_RESTARTS: Final = 1_000_000
_MAX_SEED: Final = 2**64 - 1
_CLOSE_SECONDS: Final = 2.0  # for environments to close; a worker in the middle of a step is killed


class SharedMemoryVectorEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """Any Gymnasium environments, a slice of them in each of a few worker processes.

    Everything a step needs and gives lies in one anonymous block of shared memory; nothing is
    pickled on its way. An ended episode is followed by the next within the same step
    (`AutoresetMode.SAME_STEP`): the observation returned is its first one, `infos["final_obs"]`
    and `infos["final_info"]` hold the last ones of the episode that ended.

    `step` plays all environments; `send` and `recv` play some and take those that are ready
    first. An environment's trajectory is the same either way, provided that it draws its random
    numbers from its own generator.

    A worker that dies is replaced and its environments start anew, from seeds derived of (seed,
    environment, restarts). The next row of each is marked: `infos["restarted"]` and `truncated`
    are True, the reward is 0, the observation is the first of a new episode, and the action sent
    was not played; the episode that ran is to be left out.

    `infos` of every step and reset:
        restarted: (n,) whether the row is such a mark.
        one array (n, ...) for each info array, and `_<name>`: (n,) whether it was given.
        env_ids: (n,) of `recv` alone: which environments the rows are of.
        final_obs, final_info: only where episodes ended.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        num_workers: int | None = None,
        *,
        info_arrays: InfoArrays | None = None,
        start_method: str | None = None,
        timeout: float | None = None,
        start_timeout: float | None = None,
        max_restarts: int = 10,
        copy: bool = True,
    ) -> None:
        """Starts the workers, which make the environments.

        One environment is made here first, for its spaces and infos, and closed.

        Args:
            env_fns: make the environments; their spaces are alike, of Box, Discrete, MultiBinary
                or MultiDiscrete.
            num_workers: processes; None is one for each core this process may use.
            info_arrays: shape and dtype of each info that is handed on, such as
                {"red_access": (13, np.int8)}; None takes the numbers and arrays that the first
                reset gives. Other infos stay in the worker.
            start_method: fork, spawn or forkserver; None is multiprocessing's default.
            timeout: seconds that a step or a reset may take; None: no limit.
            start_timeout: seconds in which a worker must have made its environments.
            max_restarts: how many dead workers are replaced; the next one is an error.
            copy: False returns the shared arrays themselves, overwritten by the next step.

        Raises:
            InvalidInputError: an argument is not allowed, or the spaces are not.
            EnvironmentFailedError: an environment could not be made.
        """
        self.closed = True  # until there is something to close
        self._owner = os.getpid()
        self.num_envs = whole_number(
            "the number of environments", len(several("env_fns", env_fns)), 1, MAX_ENVS
        )
        workers = usable_cores() if num_workers is None else num_workers
        workers = min(whole_number("num_workers", workers, 1, MAX_ENVS), self.num_envs)
        max_restarts = whole_number("max_restarts", max_restarts, 0, _MAX_RESTARTS)
        if start_method is not None:
            one_of("start method", start_method, START_METHODS)
        for name, value in (("timeout", timeout), ("start_timeout", start_timeout)):
            if value is not None:
                positive(name, value)
        with closing(env_fns[0]()) as example:
            infos = self._describe(example, info_arrays)
        self._was_reset = False
        self._pool = WorkerPool(
            env_fns,
            workers,
            (self.single_observation_space, self.single_action_space),
            infos,
            start_method=start_method,
            timeout=timeout,
            start_timeout=start_timeout,
            max_restarts=max_restarts,
            copy=copy,
        )
        self.closed = False

    def _describe(self, example: Env[Any, Any], info_arrays: InfoArrays | None) -> list[Field]:
        """Takes spaces and metadata over from one of the environments; returns its info arrays."""
        self.metadata = {**example.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = example.render_mode
        self.single_observation_space = example.observation_space
        self.single_action_space = example.action_space
        array_of(self.single_observation_space)  # refuses what does not fit
        self._action = array_of(self.single_action_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        return info_fields(info_arrays, example)

    @property
    def restarts(self) -> int:
        """How many workers have been replaced."""
        return self._pool.restarts

    @property
    def worker_pids(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.process.pid for worker in self._pool.workers]

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[Any], Infos]:
        """Starts an episode in every environment; steps under way are finished and discarded.

        Args:
            seed: one, of which each environment's is derived (`spaces.env_seeds`), or one for each
                environment; None lets an environment go on with its own stream.
            options: given to every environment's `reset`.

        Returns:
            The first observations and the infos.

        Raises:
            InvalidInputError: a seed or an option is not allowed; and what `step` raises.
        """
        pool = self._open()
        seeds = _checked_seeds(seed, self.num_envs)
        if options and "reset_mask" in options:
            raise InvalidInputError(
                "reset_mask is no option here: the next episode starts when one has ended"
            )
        pool.wait(pool.under_way())
        pool.discard()
        self._was_reset = False
        pool.begin_reset(seeds, options)
        pool.wait(self.num_envs)
        pool.raise_failure()
        self._was_reset = True
        observation, _, _, _, infos = pool.take(ALL)
        for name in ("final_obs", "_final_obs", "final_info", "_final_info"):
            infos.pop(name, None)
        return observation, infos

    def step(self, actions: NDArray[Any]) -> StepResult:
        """Plays one step in every environment.

        Args:
            actions: (n, ...) one for each environment.

        Returns:
            Observations, rewards, terminated, truncated, infos.

        Raises:
            NotResetError: there was no `reset` yet, or none since an environment failed.
            InvalidInputError: the actions are not allowed; nothing was played.
            EnvironmentFailedError: an environment raised an exception.
            EnvironmentTimeoutError: the timeout passed; `recv` can wait again.
            WorkerDiedError: more workers died than are replaced.
        """
        self.send(actions)
        self._wait(self.num_envs)
        return self._pool.take(ALL)

    def send(
        self, actions: NDArray[Any], env_ids: Sequence[int] | NDArray[Any] | None = None
    ) -> None:
        """Begins a step in some environments; `recv` returns its results.

        Args:
            actions: (k, ...) one for each of these environments.
            env_ids: (k,) which ones, none of them under way; None is all.

        Raises:
            NotResetError: there was no `reset` yet, or none since an environment failed.
            InvalidInputError: the actions or the environments are not allowed; nothing was sent.
        """
        pool = self._open()
        if not self._was_reset:
            raise NotResetError("call reset() before step() or send()")
        rows = ALL if env_ids is None else _checked_ids(env_ids, self.num_envs)
        size = self.num_envs if isinstance(rows, slice) else len(rows)
        actions = _checked_actions(actions, size, self._action)
        if under_way := pool.under_way(rows):
            raise InvalidInputError(
                f"{under_way} of these environments are under way: recv() them first"
            )
        pool.begin_step(rows, actions)

    def recv(self, min_envs: int = 1) -> StepResult:
        """Returns the results of finished steps, after waiting for some of them.

        Args:
            min_envs: how many to wait for, of those under way.

        Returns:
            Observations, rewards, terminated, truncated, infos: rows of `infos["env_ids"]`.

        Raises:
            InvalidInputError: fewer are under way; and what `step` raises.
        """
        under_way = self._open().under_way()
        if not under_way:
            raise InvalidInputError("no environment is under way: send() comes before recv()")
        self._wait(whole_number("min_envs", min_envs, 1, under_way))
        ids = self._pool.finished()
        given = self._pool.take(ids)
        given[-1]["env_ids"] = ids
        return given

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Calls a method of every environment, or reads an attribute, and returns the results."""
        pool = self._idle()
        results = pool.request([("call", name, args, kwargs)] * len(pool.workers))
        return tuple(ForkingPickler.loads(result) for result in results)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Returns an attribute of every environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Sets an attribute of every environment, to one value or a list with one for each."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise InvalidInputError(f"{name} needs {self.num_envs} values, not {len(values)}")
        pool = self._idle()
        pool.request([("set_attr", name, values[worker.rows]) for worker in pool.workers])

    def render(self) -> tuple[Any, ...]:
        """Returns what every environment renders."""
        return self.call("render")

    def close_extras(self, timeout: float = _CLOSE_SECONDS) -> None:
        """Ends the workers; one that takes longer than `timeout` seconds is killed."""
        if os.getpid() == self._owner:  # not in a fork, which does not own the workers
            self._pool.close(timeout)

    def __reduce__(self) -> Any:
        """Refuses to be copied or pickled."""
        raise InvalidInputError(
            "a SharedMemoryVectorEnv cannot be copied or pickled: its environments are in worker "
            "processes of its own; make another one"
        )

    def __enter__(self) -> Self:
        """Returns itself; leaving the block closes it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Closes it."""
        self.close()

    def __del__(self) -> None:
        """Closes it, without waiting for anything."""
        if not getattr(self, "closed", True):
            self.close(timeout=0)

    def _open(self) -> WorkerPool:
        """Returns the pool, if the environment is open and this process made it."""
        if self.closed:
            raise NotResetError("the vector environment is closed")
        if os.getpid() != self._owner:
            raise InvalidInputError(
                "a SharedMemoryVectorEnv is played by the process that made it, and this one was "
                "forked from that: make another one here"
            )
        return self._pool

    def _idle(self) -> WorkerPool:
        """Returns the pool, if no environment is under way."""
        if under_way := self._open().under_way():
            raise InvalidInputError(f"{under_way} environments are under way: recv() them first")
        return self._pool

    def _wait(self, count: int) -> None:
        """Waits until `count` environments have finished; raises if one of them failed."""
        self._pool.wait(count)
        try:
            self._pool.raise_failure()
        except EnvironmentFailedError:
            self._was_reset = False
            raise


def usable_cores() -> int:
    """Returns how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not every system has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _checked_seeds(seed: object, num_envs: int) -> Sequence[int | None]:
    """Returns a seed for each environment, given one seed, one for each, or none."""
    if isinstance(seed, (list, tuple, np.ndarray)):
        if len(seed) != num_envs:
            raise InvalidInputError(f"{num_envs} seeds are needed, not {len(seed)}")
        seeds = [checked_seed(one) for one in seed]
        if any(one is not None and one > _MAX_SEED for one in seeds):
            raise InvalidInputError(f"a seed of one environment must be at most {_MAX_SEED}")
        return seeds
    one = checked_seed(seed)
    return [None] * num_envs if one is None else env_seeds(one, num_envs)


def _checked_ids(env_ids: Sequence[int] | NDArray[Any], num_envs: int) -> NDArray[np.intp]:
    """Returns the indices of environments, of which there must be some, each once."""
    needed = f"env_ids must be different whole numbers from 0 to {num_envs - 1}"
    ids = numbers(needed, env_ids)
    is_list = ids.ndim == 1 and ids.size > 0 and ids.dtype.kind in "iu"
    if (
        not is_list
        or ids.min() < 0
        or ids.max() >= num_envs
        or np.bincount(ids, minlength=num_envs).max() > 1
    ):
        raise InvalidInputError(f"{needed}, not {shown(env_ids)}")
    return ids.astype(np.intp, copy=False)


def _checked_actions(actions: object, size: int, action: Field) -> NDArray[Any]:
    """Returns the actions as an array, if their shape and dtype are right."""
    shape = (size, *action.shape)
    needed = f"actions must be {action.dtype} of shape {shape}"
    given = numbers(needed, actions)
    if given.shape != shape or not np.can_cast(given.dtype, action.dtype, "same_kind"):
        raise InvalidInputError(f"{needed}, not {given.dtype} of shape {given.shape}")
    return given
