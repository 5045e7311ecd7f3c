"""The block of anonymous shared memory between a vector environment and its workers."""

import mmap
import os
import platform
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import Env, Space, spaces
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError, shown

# Who may write an environment's row: its worker while it is STEP or RESET, else the parent. FAILED:
# the environment raised an exception.
IDLE, STEP, RESET, DONE, FAILED = range(5)
NO_ENV: Final = -1  # of a worker that waits
_ALIGNMENT: Final = 64
_SPACES: Final = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)
_NUMBERS: Final = "biufc"  # kinds of dtypes

InfoArrays = Mapping[str, tuple[int | tuple[int, ...], Any]]  # name -> (shape, dtype)

# Whether another process may see a row's status before the row itself: not on x86.
STORES_REORDER: Final = platform.machine().lower() not in ("x86_64", "amd64")


class Fence:
    """Keeps memory accesses before a call before those after it, for other processes too.

    A lock's release and acquire are atomic instructions: the cheapest barrier Python has. A fence
    is not shared: each process and each thread makes its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def __call__(self) -> None:
        """Executes the barrier."""
        self._lock.release()
        self._lock.acquire()


class Field(NamedTuple):
    """One array of the block."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class AnonymousFile:
    """A file without a name: it is gone when the last process that has it open is gone."""

    def __init__(self, sent: Any = None) -> None:
        """Makes a file, or receives one that another process has sent."""
        if sent is not None:
            self.descriptor: int = sent.detach()
        elif hasattr(os, "memfd_create"):
            self.descriptor = os.memfd_create("workflow-rl")
        else:
            with tempfile.TemporaryFile() as file:
                self.descriptor = os.dup(file.fileno())

    def __reduce__(self) -> Any:
        """Duplicates the descriptor for a process that is being started."""
        return AnonymousFile, (DupFd(self.descriptor),)

    def close(self) -> None:
        """Closes this process's descriptor."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class SharedBlock:
    """Named arrays in one anonymous file, mapped by every process that is given the block."""

    def __init__(self, fields: Sequence[Field], file: AnonymousFile | None = None) -> None:
        """Makes the block, all zeros, or maps the one in a file."""
        self._fields, self._file = fields, file or AnonymousFile()
        offsets = [0]
        for field in fields:
            size = field.dtype.itemsize * int(np.prod(field.shape))
            offsets.append(offsets[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
        nbytes = max(offsets[-1], _ALIGNMENT)  # nothing cannot be mapped
        os.ftruncate(self._file.descriptor, nbytes)
        memory = mmap.mmap(self._file.descriptor, nbytes)
        self.arrays: dict[str, NDArray[Any]] = {
            field.name: np.ndarray(field.shape, field.dtype, memory, offset)
            for field, offset in zip(fields, offsets, strict=False)
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns an array; all processes see the same one."""
        return self.arrays[name]

    def __reduce__(self) -> Any:
        """Maps the file again in a process that is being started; a forked one has the map."""
        return SharedBlock, (self._fields, self._file)

    def close(self) -> None:
        """Closes the file; arrays that are still in use stay mapped until they are dropped."""
        self.arrays.clear()
        self._file.close()


def fields_of(
    num_envs: int,
    num_workers: int,
    observation: Space[Any],
    action: Space[Any],
    infos: Sequence[Field],
) -> list[Field]:
    """Returns the arrays of a block for environments with these spaces and infos."""

    def per_env(name: str, dtype: Any, shape: tuple[int, ...] = ()) -> Field:
        return Field(name, (num_envs, *shape), np.dtype(dtype))

    observations, actions = array_of(observation), array_of(action)
    fields = [
        Field("wanted", (1,), np.dtype(np.int64)),  # finished environments the parent waits for
        Field("playing", (num_workers,), np.dtype(np.int64)),  # the environment each worker is in
        per_env("status", np.uint8),
        per_env("seed", np.uint64),
        per_env("has_seed", np.bool_),
        per_env("action", actions.dtype, actions.shape),
        per_env("observation", observations.dtype, observations.shape),
        per_env("reward", np.float64),
        per_env("terminated", np.bool_),
        per_env("truncated", np.bool_),
        per_env("final_obs", observations.dtype, observations.shape),
    ]
    for info in infos:
        for prefix in ("info", "final_info"):
            fields.append(per_env(f"{prefix}.{info.name}", info.dtype, info.shape))
            fields.append(per_env(f"{prefix}._{info.name}", np.bool_))  # whether it was given
    return fields


def array_of(space: Space[Any]) -> Field:
    """Returns the array that holds one element of a space.

    Raises:
        InvalidInputError: its elements are no arrays of one size.
    """
    if not isinstance(space, _SPACES):
        names = ", ".join(kind.__name__ for kind in _SPACES)
        raise InvalidInputError(
            f"environments in shared memory need spaces of {names}, not {type(space).__name__}"
        )
    assert space.shape is not None
    return Field("", space.shape, np.dtype(space.dtype))


def info_fields(declared: InfoArrays | None, env: Env[Any, Any]) -> list[Field]:
    """Returns the info arrays: those declared or, without a declaration, those of a reset.

    Args:
        declared: shape and dtype of each by name; None resets the environment and takes every
            number and array of its info.
        env: one of the environments.

    Raises:
        InvalidInputError: a shape or a dtype is not one.
    """
    if declared is None:
        return [
            Field(name, np.shape(value), np.asarray(value).dtype)
            for name, value in env.reset()[1].items()
            if isinstance(value, (np.ndarray, np.generic, bool, int, float))
            and np.asarray(value).dtype.kind in _NUMBERS
        ]
    fields = []
    for name, given in declared.items():
        try:
            shape, dtype = given
            example = np.empty(shape, dtype)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"info array {shown(name)} needs a shape and a dtype, not {shown(given)}"
            ) from error
        if example.dtype.kind not in _NUMBERS:
            raise InvalidInputError(
                f"info array {shown(name)} must hold numbers, not {shown(dtype)}"
            )
        fields.append(Field(name, example.shape, example.dtype))
    return fields
