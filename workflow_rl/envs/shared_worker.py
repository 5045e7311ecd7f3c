"""A worker process: it plays its slice of the environments whenever it is woken."""

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

# What the parent writes into a worker's wake-up pipe; the end of that pipe ends the worker.
LOOK: Final = b"l"  # some environments may be STEP or RESET
LISTEN: Final = b"c"  # a command waits in the connection

OK: Final = "ok"
MISMATCH: Final = "mismatch"
FAILURE: Final = "failure"

_TELL_EVERY: Final = 100e-6  # seconds of play between two looks whether the parent waits for it
# Objects of many environments outlive the collector's young generations by waiting for their turn;
# with Python's threshold of 700 it goes through all of them again and again.
_GC_THRESHOLD: Final = 50_000
_OUTPUT_LIMIT: Final = 1 << 20
_OUTPUT_KEPT: Final = 1 << 16
_TRIM_EVERY: Final = 1_000  # wake-ups

Message = tuple[Any, ...]
_InfoRows = list[tuple[str, NDArray[Any], Any]]  # name, values, whether they are given


def collect_rarely() -> None:
    """Makes the garbage collector of a process with many environments look less often."""
    gc.freeze()  # what came with a fork is not collected, so its memory stays shared
    gc.set_threshold(_GC_THRESHOLD)


class Task(NamedTuple):
    """What a worker is to do; `first` is its first environment."""

    number: int
    first: int
    env_fns: Sequence[Callable[[], Env[Any, Any]]]
    spaces: tuple[Space[Any], Space[Any]]
    infos: Sequence[Field]
    block: SharedBlock


class Job(NamedTuple):
    """A task, and what joins the worker that does it with its parent."""

    task: Task
    wake: Connection
    talk: Connection
    bell: Connection
    output: AnonymousFile
    seeds: Sequence[int] | None  # of a replacement, which starts all its episodes anew
    strangers: Sequence[Connection]  # the parent's ends, which a forked process has as well


def run_worker(job: Job) -> None:
    """Is the worker process: makes the environments, then plays until the parent is done."""
    for connection in job.strangers:
        connection.close()
    _keep_output(job.output)
    leave_interrupts_to_parent()
    end_with_parent()
    collect_rarely()
    task = job.task
    player = _Player(job)
    current = task.first
    try:
        for current, make in enumerate(task.env_fns, task.first):
            env = make()
            found = (env.observation_space, env.action_space)
            if found != task.spaces:
                job.talk.send((MISMATCH, current, *map(str, found)))
                return
            player.envs.append(env)
        for current, seed in enumerate(job.seeds or (), task.first):
            player.reset(current - task.first, seed)
    except BaseException:
        job.talk.send((FAILURE, current, traceback.format_exc()))
        return
    job.talk.send((OK,))
    _serve(job, player)
    for env in player.envs:
        env.close()


def _keep_output(output: AnonymousFile) -> None:
    """Lets everything the process prints go to a file that the parent can read."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(output.descriptor, descriptor)
        stream = open(descriptor, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115
        setattr(sys, name, stream)
    faulthandler.enable(2)


def _serve(job: Job, player: "_Player") -> None:
    """Sleeps until it is woken, again and again, until the pipe ends or it is told to close."""
    wake_ups = 0
    while given := os.read(job.wake.fileno(), 4096):
        if LISTEN in given and not player.obey(job.talk.recv()):
            return
        player.play()
        wake_ups += 1
        if wake_ups % _TRIM_EVERY == 0:
            _trim(job.output.descriptor)


def _trim(descriptor: int) -> None:
    """Forgets the older part of what the process printed."""
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
        self._bell = job.bell.fileno()
        self._talk = job.talk
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
        """Plays what is asked for, in the order of the environments, and says when it is done."""
        status = self._status
        asked = (self._status_array == STEP) | (self._status_array == RESET)
        self._fence()
        playing, first, clock = self._playing, self._first, time.perf_counter
        told = clock()
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
            if now - told > _TELL_EVERY:
                told = now
                self._tell()
        playing[0] = NO_ENV
        self._tell()

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
        """Starts an episode."""
        self._observations[k], info = self.envs[k].reset(seed=seed, options=self._options)
        if self._infos:
            _write_info(self._infos, k, info)
        self._rewards[k] = 0.0
        self._terminated[k] = self._truncated[k] = False

    def _tell(self) -> None:
        """Rings the parent's bell if it sleeps and enough environments have finished."""
        self._fence()
        wanted = self._wanted[0]
        if wanted and np.count_nonzero(self._all_status >= DONE) >= wanted:
            os.write(self._bell, b"\0")

    def obey(self, command: Message) -> bool:
        """Does what is not on the path of a step; returns whether to go on."""
        name, *arguments = command
        if name == "close":
            return False
        if name == "options":
            (self._options,) = arguments
        elif name == "failures":
            self._talk.send(self._failures)
            self._failures = {}
        else:
            self._talk.send(self._in_every_env(name, *arguments))
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
    """Returns a view for single values, which costs half the time of an array's."""
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
