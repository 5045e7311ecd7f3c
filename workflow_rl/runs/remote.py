"""A task on a machine that shares nothing with the one that asked for it."""

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

import workflow_rl
from workflow_rl.errors import InvalidInputError
from workflow_rl.processes import is_running
from workflow_rl.provenance import package_versions
from workflow_rl.runs.logs import Row
from workflow_rl.runs.pool import Result
from workflow_rl.runs.store import TrainingFolder

_SEND_EVERY: Final = 0.5  # seconds between messages with rows
_FOLDER: Final = "workflow-rl-training"
_VARIABLE: Final = "WORKFLOW_RL_FOLDERS"  # where a Ray that was started here keeps them
_MATTER: Final = ("numpy", "numba", "torch")  # besides our sources, for the bits of a result


@dataclass(frozen=True)
class Begun:
    """A task has begun on a node."""

    host: str
    pid: int


@dataclass(frozen=True)
class Finished:
    """A task is over: its result, and the files that it has left in its folder."""

    result: Any
    files: dict[str, bytes]


Message = Begun | list[Row] | Finished
Installed = dict[str, str]


@functools.cache
def installed() -> Installed:
    """Returns what is installed here of what a result depends on, by name."""
    versions = package_versions()
    return {
        "workflow-rl": workflow_rl.__version__,
        "sources": _sources(Path(workflow_rl.__file__).parent),
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: versions[name] for name in _MATTER},
    }


def _sources(package: Path) -> str:
    """Returns a short hash of every source file of the package."""
    digest = hashlib.sha256()
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


def refuse_others(asked_by: Installed) -> None:
    """Checks that this machine has what the one has that asks for a result.

    Raises:
        InvalidInputError: something else is installed here, so the result could be another.
    """
    other = difference(installed(), asked_by)
    if other is not None:
        raise InvalidInputError(f"the node {socket.gethostname()} {other}")


def run_remotely(task: Any, asked_by: Installed) -> Iterator[Message]:
    """Runs a task from its start to its end in a folder of its own, and tells how it goes.

    Args:
        task: of a pool; if it has a folder, it gets a temporary one here.
        asked_by: what is installed where the result is wanted.

    Raises:
        InvalidInputError: something else is installed here, so the result could be another.
    """
    yield Begun(socket.gethostname(), os.getpid())
    refuse_others(asked_by)
    with _folder_of_its_own() as path:
        if task.folder is not None:
            task = replace(task, folder=path)
        rows: list[Row] = []
        sent = time.monotonic()
        for step in task.run():
            if isinstance(step, Result):
                if rows:
                    yield rows
                yield Finished(step.value, TrainingFolder(path).files())
                return
            rows.append(step)
            if time.monotonic() - sent > _SEND_EVERY:
                yield rows
                rows, sent = [], time.monotonic()


@contextmanager
def folder_of_trainings() -> Iterator[None]:
    """Keeps the folders of tasks on this machine in one that goes with the block.

    Workers that are ended by force clear nothing away; this process does so for all that it starts.
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
