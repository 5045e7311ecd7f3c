"""A worker process: as its parent holds it, and what runs in it.

It steps and resets its slice of the environments whenever it is woken.
"""

import faulthandler
import gc
import multiprocessing.process
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import Env, Space
from gymnasium.vector.utils import clear_mpi_env_vars
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
from workflow_rl.errors import EnvironmentFailedError, InvalidInputError
from workflow_rl.processes import end_with_parent, interrupts_blocked, leave_interrupts_to_parent

# What the parent writes into a worker's wake pipe.
_WAKE_PLAY: Final = b"p"  # some environments may be STEP or RESET
_WAKE_COMMAND: Final = b"c"  # a command waits in the command pipe

_TAIL: Final = 4_000  # bytes of a dead worker's output that are shown
_SIGNALS: Final = {signal_.value: signal_.name for signal_ in signal.Signals}
_NOTIFY_SECONDS: Final = 100e-6  # of play between two checks whether the parent waits for it
# Objects of many environments outlive the collector's young generations by waiting for their turn;
# with Python's threshold of 700 it goes through all of them again and again.
_GC_THRESHOLD: Final = 50_000
_OUTPUT_LIMIT: Final = 1 << 20  # bytes
_OUTPUT_KEPT: Final = 1 << 16  # bytes
_TRUNCATE_EVERY: Final = 1_000  # wake-ups

EnvFn = Callable[[], Env[Any, Any]]
Command = tuple[Any, ...]  # its name and its arguments
_InfoRows = list[tuple[str, NDArray[Any], Any]]  # name, values, whether they are given


def collect_garbage_rarely() -> None:
    """Makes garbage collection less frequent, for a process with many environments."""
    gc.freeze()  # what came with a fork is not collected, so its memory stays shared
    gc.set_threshold(_GC_THRESHOLD)


class Task(NamedTuple):
    """What a worker is started for."""

    number: int  # of the worker
    first: int  # its first environment
    env_fns: Sequence[EnvFn]
    spaces: tuple[Space[Any], Space[Any]]  # of observations and actions, of every environment
    infos: Sequence[Field]
    block: SharedBlock
    notify: Connection  # written to: wakes the parent
    seeds: Sequence[int] | None  # of a replacement, which starts all its episodes anew


class Worker:
    """One worker process and the parent's ends of its pipes."""

    def __init__(self, context: Any, task: Task) -> None:
        """Starts the process, which begins by making its environments."""
        self.envs = range(task.first, task.first + len(task.env_fns))
        self.rows = slice(self.envs.start, self.envs.stop)
        self.is_starting = True
        self.started_at = time.monotonic()
        wake, self._wake = context.Pipe(duplex=False)
        commands, self.commands = context.Pipe()
        self.output = AnonymousFile()
        given = (task, wake, commands, self.output)
        self.process = context.Process(
            target=_run, args=given, name=f"workflow-rl {self}", daemon=True
        )
        with interrupts_blocked(), clear_mpi_env_vars():
            self.process.start()
        # Who exits, a fork of ours too, would have multiprocessing end the daemons that it knows
        # of. The pool ends this one, or it ends by itself (`end_with_parent`).
        multiprocessing.process._children.discard(self.process)  # type: ignore[attr-defined]
        wake.close()
        commands.close()
        os.set_blocking(self._wake.fileno(), False)

    def __str__(self) -> str:
        """Returns "environment 3" or "environments 3 to 5"."""
        first, last = self.envs[0], self.envs[-1]
        return f"environment {first}" if first == last else f"environments {first} to {last}"

    def wake(self, reason: bytes = _WAKE_PLAY) -> None:
        """Wakes the process; if it is dead, the pool finds out."""
        # Broken: it is dead. Blocking: it has wake-ups enough to read.
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._wake.fileno(), reason)

    def send(self, command: Command) -> None:
        """Sends a command and wakes the process; if it is dead, the pool finds out."""
        with suppress(OSError):
            self.commands.send(command)
            self.wake(_WAKE_COMMAND)

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
        if self.commands.closed:
            return
        self.process.kill()
        self.process.join()
        self.process.close()
        for end in (self._wake, self.commands, self.output):
            end.close()


def _run(task: Task, wake: Connection, commands: Connection, output: AnonymousFile) -> None:
    """Runs a worker process: makes the environments, then plays until the parent closes it.

    Its first answer is None, or the error that kept it from making its environments.
    """
    _redirect_output(output)
    leave_interrupts_to_parent()
    end_with_parent()
    collect_garbage_rarely()
    player = _Player(task, commands)
    current = task.first
    try:
        for current, make in enumerate(task.env_fns, task.first):
            env = make()
            if (env.observation_space, env.action_space) != task.spaces:
                sentence = (
                    "all environments must have the spaces of the first one; environment "
                    f"{current} has {env.observation_space} and {env.action_space}"
                )
                commands.send(InvalidInputError(sentence))
                return
            player.envs.append(env)
        for current, seed in enumerate(task.seeds or (), task.first):
            player.reset(current - task.first, seed)
    except BaseException:
        commands.send(_failure(current))
        return
    commands.send(None)
    wake_ups = 0
    while received := os.read(wake.fileno(), 4096):
        if _WAKE_COMMAND in received and not player.execute(commands.recv()):
            break
        player.play()
        wake_ups += 1
        if wake_ups % _TRUNCATE_EVERY == 0:
            _truncate_output(output.descriptor)
    for env in player.envs:
        env.close()


def _redirect_output(output: AnonymousFile) -> None:
    """Redirects everything the process prints to a file that the parent can read."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(output.descriptor, descriptor)
        stream = open(descriptor, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115
        setattr(sys, name, stream)
    faulthandler.enable(2)


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

    def __init__(self, task: Task, commands: Connection) -> None:
        self.envs: list[Env[Any, Any]] = []
        self._first = task.first
        self._fence = Fence()
        self._options: dict[str, Any] | None = None
        self._failures: dict[int, EnvironmentFailedError] = {}
        self._notify = task.notify.fileno()
        self._commands = commands
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
                self._failures[first + k] = _failure(first + k)
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

    def execute(self, command: Command) -> bool:
        """Executes a command of the parent's; returns False for the one that closes the worker."""
        name, *arguments = command
        if name == "options":
            (self._options,) = arguments
        elif name == "failures":
            self._commands.send(self._failures)
            self._failures = {}
        elif name != "close":
            self._commands.send(self._in_every_env(name, *arguments))
        return bool(name != "close")

    def _in_every_env(
        self, command: str, name: str, *arguments: Any
    ) -> list[bytes] | EnvironmentFailedError:
        """Calls a method or reads an attribute, or sets one; returns the results, pickled."""
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
                return _failure(self._first + k)
        return results


def _failure(env: int) -> EnvironmentFailedError:
    """Returns the error that shows the exception which an environment has just raised."""
    text = traceback.format_exc().strip()
    return EnvironmentFailedError(f"environment {env} raised an exception:\n{text}")


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
