"""Tasks on a Ray cluster, each on a node that shares no files with this machine."""

import functools
import hashlib
import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import ray
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayError,
    RaySystemError,
    RayTaskError,
    WorkerCrashedError,
)

import workflow_rl
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.processes import is_running
from workflow_rl.provenance import package_versions
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Attempt, Begun, LostWorkerError, ParallelPool, Returned, Row

_POLL_SECONDS: Final = 1.0  # between checks of the time limit
_SEND_EVERY: Final = 0.5  # seconds between messages with rows
_UNKNOWN_NODE: Final = "an unknown node"
_FOLDER: Final = "workflow-rl-training"
_VARIABLE: Final = "WORKFLOW_RL_FOLDERS"  # where a Ray that was started here keeps them
_MATTER: Final = ("numpy", "numba", "torch")  # besides our sources, what a result depends on
Installed = dict[str, str]


@dataclass(frozen=True)
class Finished:
    """A task is over, with its result and the files that it has left in its folder."""

    result: Any
    files: dict[str, bytes]


Message = Begun | list[Row] | Finished


def run_remotely(task: Any, asked_by: Installed) -> Iterator[Message]:
    """Runs a task on a node, in a temporary folder, and yields messages on the way.

    Raises:
        InvalidInputError: something else is installed here than where the result is wanted
            (`asked_by`), so the result could be another.
    """
    yield Begun(socket.gethostname())
    if (other := difference(installed(), asked_by)) is not None:
        raise InvalidInputError(f"the node {socket.gethostname()} {other}")
    with _folder_of_its_own() as path:
        if task.folder is not None:
            task = replace(task, folder=path)
        rows: list[Row] = []
        sent = time.monotonic()
        for step in task.run():
            if isinstance(step, Returned):
                if rows:
                    yield rows
                yield Finished(step.value, TrainingFolder(path).files())
                return
            rows.append(step)
            if time.monotonic() - sent > _SEND_EVERY:
                yield rows
                rows, sent = [], time.monotonic()


class RayPool(ParallelPool):
    """Runs each task as one Ray task, in a temporary folder of its node that is sent here.

    No file system is shared. When a node is lost, so are its tasks and their checkpoints: they
    start again elsewhere.
    """

    def __init__(
        self, capacity: int, time_limit: float | None = None, *, fresh: bool = False
    ) -> None:
        """Prepares a pool; `connected` has made the connection.

        Args:
            capacity: tasks at a time; those for which the cluster has no processor wait.
            time_limit: seconds after which an attempt is given up.
            fresh: whether every task gets a new process.
        """
        super().__init__(capacity, time_limit)
        # Attempts are counted here, not by Ray: a second one must not be mistaken for the first.
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": 0, "num_returns": "streaming"}
        options |= {"max_calls": 1} if fresh else {}
        self._work = ray.remote(**options)(run_remotely)
        self._streams: dict[Attempt, Any] = {}
        self._hosts: dict[Attempt, str] = {}

    def _begin(self, attempt: Attempt) -> None:
        self._forget(attempt)
        self._streams[attempt] = self._work.remote(attempt.task, installed())
        self._hosts[attempt] = _UNKNOWN_NODE

    def _forget(self, attempt: Attempt) -> None:
        if attempt.task.folder is not None:
            TrainingFolder(attempt.task.folder).clear()

    def _ready(self, running: list[Attempt]) -> list[Attempt]:
        streams = [self._streams[attempt] for attempt in running]
        ready, _ = ray.wait(streams, num_returns=1, timeout=_POLL_SECONDS)
        if ready and len(streams) > 1:
            ready, _ = ray.wait(streams, num_returns=len(streams), timeout=0)
        known = {id(stream) for stream in ready}
        return [a for a in running if id(self._streams[a]) in known]

    def _receive(self, attempt: Attempt) -> Begun | list[Row] | Returned:
        host, folder = self._hosts[attempt], attempt.task.folder
        try:
            message: Message = ray.get(next(self._streams[attempt]))
        except RayTaskError as error:
            cause = _cause_of(error, host)
            if isinstance(cause, OSError):  # the disk of a node is the node's fault
                raise LostWorkerError(f"{host} says: {cause}") from error
            raise cause from error
        except (RayError, StopIteration) as error:
            raise LostWorkerError(_how_lost(error, host)) from error
        if isinstance(message, Finished):
            if folder is not None:
                TrainingFolder(folder).complete(message.files)
            return Returned(message.result)
        if isinstance(message, Begun):
            self._hosts[attempt] = message.host
        elif folder is not None:  # whoever reads the run meanwhile sees how far it is
            TrainingFolder(folder).updates.append(*message)
        return message

    def _stop(self, attempt: Attempt) -> str:
        ray.cancel(self._streams[attempt], force=True)
        return f" on {self._hosts[attempt]}"

    def close(self) -> None:
        """Ends what is running."""
        for attempt, stream in self._streams.items():
            if attempt.end is None:
                ray.cancel(stream, force=True)
        self._streams, self._hosts = {}, {}


def _cause_of(error: RayTaskError, host: str) -> Exception:
    """Returns what to raise here for an error that was raised on a node."""
    cause: Exception = error.cause
    if isinstance(cause, MissingDependencyError):
        return InvalidInputError(f"on the node {host}: {cause}")
    if isinstance(cause, (ImportError, RaySystemError)):
        why = str(cause).splitlines()[0].removeprefix("System error: ")
        return InvalidInputError(
            f"a node that joined the cluster cannot load workflow-rl ({why}): install "
            f"version {installed()['workflow-rl']} on every node, then go on with --resume"
        )
    return cause


def _how_lost(error: Exception, host: str) -> str:
    """Returns in words how a task on a node was lost."""
    known = {
        NodeDiedError: f"the node {host} went away",
        OutOfMemoryError: f"the node {host} ran out of memory",
        WorkerCrashedError: f"its process on {host} died",
        ObjectLostError: f"its result went away with the node {host}",
    }
    other = f"of {type(error).__name__} on {host}"
    return next((words for kind, words in known.items() if isinstance(error, kind)), other)


# --- what is installed on a node


@functools.cache
def installed() -> Installed:
    """Returns what is installed here of what a result depends on, by name."""
    versions = package_versions()
    return {
        "workflow-rl": workflow_rl.__version__,
        "sources": _digest_of_sources(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: versions[name] for name in _MATTER},
    }


def _digest_of_sources() -> str:
    package, digest = Path(workflow_rl.__file__).parent, hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def difference(there: Installed, here: Installed) -> str | None:
    """Returns in words how another machine's installation differs from this one's, if it does."""
    for name, version in here.items():
        other = there.get(name, "none")
        if other == version:
            continue
        if name == "sources":
            return f"has other sources of workflow-rl {here['workflow-rl']} than this machine"
        return f"has {name} {other}, this machine {version}"
    return None


# --- where tasks keep their files


@contextmanager
def folder_of_trainings() -> Iterator[None]:
    """Keeps the folders of tasks on this machine in one that goes with the block.

    Workers that are killed delete nothing; this process deletes the folders of all that it starts.
    """
    with _folder_of_its_own() as path:
        os.environ[_VARIABLE] = str(path)
        try:
            yield
        finally:
            del os.environ[_VARIABLE]


def clear_folder_of_trainings() -> None:
    """Deletes what `folder_of_trainings` gave, where its block is never left."""
    if _VARIABLE in os.environ:
        shutil.rmtree(os.environ[_VARIABLE], ignore_errors=True)


@contextmanager
def _folder_of_its_own() -> Iterator[Path]:
    """Gives a temporary folder, and deletes those that killed processes have left."""
    home = os.environ.get(_VARIABLE) or tempfile.gettempdir()
    for old in Path(home).glob(f"{_FOLDER}-*-*"):
        owner = old.name.split("-")[-2]
        if owner.isdecimal() and not is_running(int(owner)):
            shutil.rmtree(old, ignore_errors=True)
    prefix = f"{_FOLDER}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=home, ignore_cleanup_errors=True) as path:
        yield Path(path)
