"""How rules are compiled: `@rule` for the game's functions, `@kernel` for the loops over a batch.

`@formula` is for functions of network arithmetic.

Kernels are cached on disk. Numba only notices a change in the file of the kernel itself, so a
changed rule, or another compile option, would go on running as the old machine code. The name of
the cache folder is therefore a fingerprint of every source file that kernels are made of, of this
file with its options, and of numba's own options: a change of any of them compiles anew.
"""

import functools
import hashlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from workflow_rl.config.checks import not_allowed, numbers_allowed
from workflow_rl.errors import InvalidInputError

_THREADS: Final = "NUMBA_NUM_THREADS"
_MOST_THREADS: Final = 4096


def check_threads(given: str) -> None:
    """Checks numba's limit of threads in the environment; numba itself ends in a traceback.

    Raises:
        InvalidInputError: it is not a number of threads.
    """
    try:
        number = int(given)
    except ValueError:
        number = 0
    if not 1 <= number <= _MOST_THREADS:
        allowed = numbers_allowed("whole number", 1, _MOST_THREADS)
        raise not_allowed(f"the environment variable {_THREADS}", given, allowed)


check_threads(os.environ.get(_THREADS, "1"))

import numba  # noqa: E402 (it reads the variable)
from numba.core import config as numba_config  # noqa: E402
from numba.core import event as numba_event  # noqa: E402
from numba.core.dispatcher import Dispatcher  # noqa: E402

_Function = TypeVar("_Function", bound=Callable[..., Any])
_FORKED_WITH: Final[set[str]] = set()  # threads of the process that this one was forked from

_PACKAGE = Path(__file__).resolve().parent
_COMPILED_FOLDERS = ("scenario", "sim", "belief", "workflow", "agents", "ppo", "train")
# Options of numba's environment that change machine code and that its own cache does not look at.
_NUMBA_OPTIONS = (
    *("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("DISABLE_INTEL_SVML", "DEBUGINFO_DEFAULT"),
)
_MESSAGE_AFTER_SECONDS = 1.0
_UNUSED_SECONDS = 30 * 24 * 3600.0
# Sums may be added in another order and products be fused into them.
_REORDERED = frozenset({"reassoc", "contract", "nsz"})


def rule(function: _Function) -> _Function:
    """Compiles a rule of the game, written for one environment; kernels are made of such parts.

    Left to itself the compiler calls the longer ones as functions, and a step takes a quarter more.
    """
    compiled: _Function = numba.njit(error_model="numpy", forceinline=True)(function)
    return compiled


def formula(function: _Function) -> _Function:
    """Compiles a piece of network arithmetic that kernels with `reorder` are made of.

    It becomes a part of each kernel. As a function of its own it would be optimised once for every
    kernel that calls it, and which of these versions all of them run would depend on which kernel
    the process has loaded first: the same sums in another order.
    """
    compiled: _Function = numba.njit(
        error_model="numpy", fastmath=set(_REORDERED), forceinline=True
    )(function)
    return compiled


def kernel(*, parallel: bool = False, reorder: bool = False) -> Callable[[_Function], _Function]:
    """Compiles a loop over a batch, cached on disk and released from the GIL.

    Args:
        parallel: share the outer loop among threads.
        reorder: let sums be added in another order and products be fused into them, so that the
            processor's vector instructions can be used; for network arithmetic, never for rules.
    """
    fastmath = set(_REORDERED) if reorder else False

    def decorate(function: _Function) -> _Function:
        with _cache_folder(cache_folder()):
            compiled: _Function = numba.njit(
                cache=True,
                nogil=True,
                parallel=parallel,
                error_model="numpy",
                fastmath=fastmath,
            )(function)
        return compiled

    return decorate


def entry_of(function: _Function, *arguments: Any) -> _Function:
    """Returns a kernel's machine code for arguments of these types.

    Numba dispatches on the types of the arguments in every call, which takes longer than a step of
    one environment; calling the machine code itself avoids that.
    """
    if not isinstance(function, Dispatcher):  # interpreted
        return function
    types = tuple(map(function.typeof_pyval, arguments))
    function.compile(types)
    entry: _Function = function.overloads[types].entry_point
    return entry


def use_threads(number: int) -> None:
    """Sets the number of threads of parallel kernels.

    Raises:
        InvalidInputError: this process was forked from one that had started them.
    """
    if "omp" in _FORKED_WITH:
        raise InvalidInputError(
            "num_threads must be 1 here: this process was forked from one that has used several "
            "threads, which OpenMP does not survive; start processes by spawn or forkserver"
        )
    numba.set_num_threads(number)


def _note_fork() -> None:
    """In a forked process: notes what kind of threads its parent had started."""
    with suppress(ValueError):  # of numba: none
        _FORKED_WITH.add(numba.threading_layer())


os.register_at_fork(after_in_child=_note_fork)


@functools.cache
def cache_folder() -> Path:
    """Returns the folder of this version's compiled kernels, and drops long unused ones."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(home) / "workflow_rl" / fingerprint(_PACKAGE)
    drop_old(folder.parent, keep=folder.name)
    return folder


def drop_old(parent: Path, keep: str) -> None:
    """Deletes the kernels of versions that have not been used for a month; marks one as used."""
    now = time.time()
    try:
        for folder in parent.iterdir():
            if folder.name == keep:
                os.utime(folder)
            elif now - folder.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # none there yet, or not ours to change
        pass


def fingerprint(package: Path) -> str:
    """Returns a short hash of all that a kernel's machine code depends on: sources and options."""
    options = {name: getattr(numba_config, name) for name in _NUMBA_OPTIONS}
    digest = hashlib.sha256(repr(options).encode())
    sources = [path for folder in _COMPILED_FOLDERS for path in (package / folder).rglob("*.py")]
    for path in (package / Path(__file__).name, *sorted(sources)):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """Makes numba place the caches of kernels defined inside the block in `folder`."""
    before = numba_config.CACHE_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        numba_config.CACHE_DIR = str(folder)
    except OSError:  # no writable home: numba falls back to its own choice of folder
        pass
    try:
        yield
    finally:
        numba_config.CACHE_DIR = before


class _CompileTeller(numba_event.Listener):  # type: ignore[misc]  # numba has no types
    """Reports a compilation; numba sends no event where its cache has the code."""

    def __init__(self) -> None:
        self._depth = 0  # compiling a kernel compiles its rules, too
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Sets the timer when a compilation begins."""
        self._depth += 1
        if self._timer is None:
            self._timer = threading.Timer(_MESSAGE_AFTER_SECONDS, _say_compiling)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """Cancels the message if the compilation ends before it is due."""
        self._depth -= 1
        if not self._depth and self._timer is not None and self._timer.is_alive():
            self._timer.cancel()
            self._timer = None


@functools.cache
def _say_compiling() -> None:
    message = "workflow-rl: compiling the simulator (once after an install or a change) ..."
    print(message, file=sys.stderr, flush=True)


@contextmanager
def compile_message() -> Iterator[None]:
    """Prints a message on standard error if something in the block takes a second to compile.

    A process prints it once.
    """
    with numba_event.install_listener("numba:compile", _CompileTeller()):
        yield
