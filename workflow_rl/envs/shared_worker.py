"""A worker process: it steps and resets its slice of the environments whenever it is woken."""

import faulthandler
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import Env, Space
from numpy.typing import NDArray

from workflow_rl.envs.shared_block import (
    DONE,
    FAILED,
    NO_ENV,
    RESET,
    STEP,
    STORES_REORDER,
    AnonymousFile,
    Fence,
    Field,
    SharedBlock,
)
from workflow_rl.processes import end_with_parent, leave_interrupts_to_parent

# What the parent writes into a worker's wake pipe; a worker whose wake pipe is closed ends.
WAKE_PLAY: Final = b"p"  # some environments may be STEP or RESET
WAKE_COMMAND: Final = b"c"  # a command waits in the command pipe

OK: Final = "ok"
MISMATCH: Final = "mismatch"
FAILURE: Final = "failure"

_NOTIFY_SECONDS: Final = 100e-6  # of play between two checks whether the parent waits for it
# Objects of many environments outlive the collector's young generations by waiting for their turn;
# with Python's threshold of 700 it goes through all of them again and again.
_GC_THRESHOLD: Final = 50_000
_OUTPUT_LIMIT: Final = 1 << 20  # bytes
_OUTPUT_KEPT: Final = 1 << 16  # bytes
_TRUNCATE_EVERY: Final = 1_000  # wake-ups

Message = tuple[Any, ...]
_InfoRows = list[tuple[str, NDArray[Any], Any]]  # name, values, whether they are given


def collect_garbage_rarely() -> None:
    """Makes garbage collection less frequent, for a process with many environments."""
    gc.freeze()  # what came with a fork is not collected, so its memory stays shared
    gc.set_threshold(_GC_THRESHOLD)


class WorkerTask(NamedTuple):
    """Which worker it is and which environments it makes."""

    number: int  # of the worker
    first: int  # its first environment
    env_fns: Sequence[Callable[[], Env[Any, Any]]]
    spaces: tuple[Space[Any], Space[Any]]
    infos: Sequence[Field]
    block: SharedBlock


class Job(NamedTuple):
    """A task, and the worker's ends of the pipes to its parent."""

    task: WorkerTask
    wake: Connection  # read: wakes the worker
    commands: Connection  # both ways: commands and their answers
    notify: Connection  # write: wakes the parent
    output: AnonymousFile  # what the worker prints
    seeds: Sequence[int] | None  # of a replacement, which starts all its episodes anew
    inherited: Sequence[Connection]  # the parent's ends, which a forked process closes


def run_worker(job: Job) -> None:
    """Runs a worker process: makes the environments, then plays until the parent closes it."""
    for connection in job.inherited:
        connection.close()
    _redirect_output(job.output)
    leave_interrupts_to_parent()
    end_with_parent()
    collect_garbage_rarely()
    task = job.task
    player = _Player(job)
    current = task.first
    try:
        for current, make in enumerate(task.env_fns, task.first):
            env = make()
            found = (env.observation_space, env.action_space)
            if found != task.spaces:
                job.commands.send((MISMATCH, current, *map(str, found)))
                return
            player.envs.append(env)
        for current, seed in enumerate(job.seeds or (), task.first):
            player.reset(current - task.first, seed)
    except BaseException:
        job.commands.send((FAILURE, current, traceback.format_exc()))
        return
    job.commands.send((OK,))
    _serve(job, player)
    for env in player.envs:
        env.close()


def _redirect_output(output: AnonymousFile) -> None:
    """Redirects everything the process prints to a file that the parent can read."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(output.descriptor, descriptor)
        stream = open(descriptor, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115
        setattr(sys, name, stream)
    faulthandler.enable(2)


def _serve(job: Job, player: "_Player") -> None:
    """Executes commands and plays at every wake-up, until told to close or the pipe is closed."""
    wake_ups = 0
    while received := os.read(job.wake.fileno(), 4096):
        if WAKE_COMMAND in received and not player.execute(job.commands.recv()):
            return
        player.play()
        wake_ups += 1
        if wake_ups % _TRUNCATE_EVERY == 0:
            _truncate_output(job.output.descriptor)


def _truncate_output(descriptor: int) -> None:
    """Deletes all but the last part of what the process printed, if it is long."""
    size = os.fstat(descriptor).st_size
    if size > _OUTPUT_LIMIT:
        kept = os.pread(descriptor, _OUTPUT_KEPT, size - _OUTPUT_KEPT)
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, kept)


class _Player:
    """Steps and resets the environments of the slice; k counts from the slice's first."""

    def __init__(self, job: Job) -> None:
        self.envs: list[Env[Any, Any]] = []
        task = job.task
        self._first = task.first
        self._fence = Fence()
        self._options: dict[str, Any] | None = None
        self._failures: dict[int, str] = {}
        self._notify = job.notify.fileno()
        self._commands = job.commands
        self._all_status = task.block["status"]
        self._wanted = _values(task.block["wanted"])
        self._playing = _values(task.block["playing"][task.number : task.number + 1])
        part = slice(task.first, task.first + len(task.env_fns))
        rows = {name: array[part] for name, array in task.block.arrays.items()}
        self._status_array = rows["status"]
        self._status = _values(rows["status"])
        self._seed, self._has_seed = _values(rows["seed"]), _values(rows["has_seed"])
        self._actions, self._observations = rows["action"], rows["observation"]
        self._scalar_actions = self._actions.ndim == 1
        self._rewards = _values(rows["reward"])
        self._terminated, self._truncated = _values(rows["terminated"]), _values(rows["truncated"])
        self._final_observations = rows["final_obs"]
        self._infos = _info_rows(rows, "info", task.infos)
        self._final_infos = _info_rows(rows, "final_info", task.infos)

    def play(self) -> None:
        """Steps and resets the environments that are asked to, then notifies the parent."""
        status = self._status
        asked = (self._status_array == STEP) | (self._status_array == RESET)
        self._fence()
        playing, first, clock = self._playing, self._first, time.perf_counter
        notified = clock()
        for k in np.flatnonzero(asked).tolist():
            playing[0] = first + k
            try:
                if status[k] == STEP:
                    self._step(k)
                else:
                    self.reset(k, self._seed[k] if self._has_seed[k] else None)
                outcome = DONE
            except BaseException:
                self._failures[first + k] = traceback.format_exc()
                outcome = FAILED
            if STORES_REORDER:
                self._fence()
            status[k] = outcome
            now = clock()
            if now - notified > _NOTIFY_SECONDS:
                notified = now
                self._notify_parent()
        playing[0] = NO_ENV
        self._notify_parent()

    def _step(self, k: int) -> None:
        env = self.envs[k]
        action = self._actions[k] if self._scalar_actions else self._actions[k].copy()
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            self._final_observations[k] = observation
            _write_info(self._final_infos, k, info)
            observation, info = env.reset()
        self._observations[k] = observation
        self._rewards[k] = reward
        self._terminated[k] = terminated
        self._truncated[k] = truncated
        if self._infos:
            _write_info(self._infos, k, info)

    def reset(self, k: int, seed: int | None) -> None:
        """Starts an episode of environment k and writes its row."""
        self._observations[k], info = self.envs[k].reset(seed=seed, options=self._options)
        if self._infos:
            _write_info(self._infos, k, info)
        self._rewards[k] = 0.0
        self._terminated[k] = self._truncated[k] = False

    def _notify_parent(self) -> None:
        """Wakes the parent if it waits and enough environments have finished."""
        self._fence()
        wanted = self._wanted[0]
        if wanted and np.count_nonzero(self._all_status >= DONE) >= wanted:
            os.write(self._notify, b"\0")

    def execute(self, command: Message) -> bool:
        """Executes a command of the parent's; returns False for the one that closes the worker."""
        name, *arguments = command
        if name == "close":
            return False
        if name == "options":
            (self._options,) = arguments
        elif name == "failures":
            self._commands.send(self._failures)
            self._failures = {}
        else:
            self._commands.send(self._in_every_env(name, *arguments))
        return True

    def _in_every_env(self, command: str, name: str, *arguments: Any) -> Message:
        """Calls a method or reads an attribute, or sets one, in each environment."""
        results = []
        for k, env in enumerate(self.envs):
            try:
                if command == "set_attr":
                    env.set_wrapper_attr(name, arguments[0][k])
                    continue
                found = env.get_wrapper_attr(name)
                result = found(*arguments[0], **arguments[1]) if callable(found) else found
                results.append(ForkingPickler.dumps(result).tobytes())
            except BaseException:
                return FAILURE, self._first + k, traceback.format_exc()
        return OK, results


def _values(array: NDArray[Any]) -> Any:
    """Returns a view whose single values take half the time of an array's to read or write."""
    return memoryview(array)  # type: ignore[arg-type]


def _info_rows(rows: dict[str, NDArray[Any]], prefix: str, infos: Sequence[Field]) -> _InfoRows:
    return [
        (info.name, rows[f"{prefix}.{info.name}"], _values(rows[f"{prefix}._{info.name}"]))
        for info in infos
    ]


def _write_info(fields: _InfoRows, k: int, info: dict[str, Any]) -> None:
    for name, values, given in fields:
        value = info.get(name)
        if value is None:
            given[k] = False
        else:
            values[k] = value
            given[k] = True
