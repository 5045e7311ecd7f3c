"""The directory of a run: who may use it, and where everything in it is."""

import fcntl
import itertools
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Self, TypeVar

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json

SEARCH = "search"
BASE = "base"  # names of trainings, besides those of trials
POLISH = "polish"
_CONFIG = "experiment_config.json"
_LOCK = ".lock"
_ORIGIN = ("created", "command", "git_revision", "python", "packages")
_PATIENCE = 0.2  # seconds for which a look at the lock may be in the way of taking it
_PACKAGES = ("workflow-rl", "numpy", "numba", "gymnasium", "torch", "botorch", "gpytorch")

Opened = TypeVar("Opened")


class RunDirectory:
    """A run's directory, held by one live process at a time."""

    def __init__(self, path: Path, config: ExperimentConfig, lock: IO[str]) -> None:
        """Use `create` or `open`."""
        self.path = path
        self.config = config
        self._lock = lock

    @classmethod
    def create(
        cls,
        parent: Path,
        config: ExperimentConfig,
        command: list[str],
        purpose: str = SEARCH,
        *,
        name: str | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> Self:
        """Makes the directory of a new run below `parent` and takes hold of it.

        Args:
            parent: where to make it.
            config: what the run depends on.
            command: how it was started.
            purpose: the command whose run it is.
            name: of the directory, when it is a part of a larger run; else it is named after the
                moment.
            plan: what the run depends on beyond its configuration, as plain data.

        Raises:
            InvalidInputError: no directory can be made there.
        """
        path = _new_directory(parent) if name is None else _named_directory(parent / name)
        lock = _take_hold(path)
        noted = {
            "rules": config.game.rules,
            "purpose": purpose,
            "command": command,
            "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "git_revision": git_revision(),
            "python": platform.python_version(),
            "packages": package_versions(),
            "config": config.as_json(),
        }
        if plan is not None:
            noted["plan"] = dict(plan)
        try:
            write_json(path / _CONFIG, noted)
        except BaseException:  # a full disk, say: there is no run then
            lock.close()
            shutil.rmtree(path, ignore_errors=True)
            raise
        return cls(path, config, lock)

    @classmethod
    def open(cls, path: Path, purpose: str = SEARCH) -> Self:
        """Takes hold of an earlier run's directory.

        Args:
            path: the directory.
            purpose: the command whose run it must be.

        Raises:
            InvalidInputError: it is none, it is damaged, or a live process holds it.
        """
        file = path / _CONFIG
        if not file.is_file():
            raise InvalidInputError(f"{path} is not a run directory: it has no {_CONFIG}")
        noted = read_json(file)
        try:
            found, config = noted["purpose"], ExperimentConfig.from_json(noted["config"])
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{file} does not describe a run of this version: {error}"
            ) from error
        if found != purpose:
            raise InvalidInputError(f"{path} is not of a {purpose}, but of `workflow-rl {found}`")
        return cls(path, config, _take_hold(path))

    def close(self) -> None:
        """Lets go of the directory."""
        self._lock.close()

    def trial(self, name: str) -> Path:
        """Returns the folder of one training: its checkpoint and its raw logs."""
        return self.path / "trainings" / name

    def policy(self, name: str) -> Path:
        """Returns the file of a policy."""
        return self.path / "policies" / f"{name}.safetensors"


def _new_directory(parent: Path) -> Path:
    """Makes a directory named after the moment and the process; a second one gets a number."""
    name = f"exp_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}"
    for number in itertools.count(1):
        path = parent / (name if number == 1 else f"{name}_{number}")
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            continue
        except OSError as error:
            raise InvalidInputError(f"no run directory can be made in {parent}: {error}") from error
    raise AssertionError("unreachable")


def _named_directory(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"no run directory can be made at {path}: {error}") from error
    return path


def _take_hold(path: Path) -> IO[str]:
    lock = (path / _LOCK).open("w", encoding="utf-8")
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError as error:
            if time.monotonic() > end:
                lock.close()
                raise InvalidInputError(f"the run {path} is in use by a live process") from error
        time.sleep(_PATIENCE / 10)


def is_held(path: Path) -> bool:
    """Returns whether a live process holds a run's directory."""
    try:
        with (path / _LOCK).open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no lock, or none to be had on this disk
        return False
    return False


def package_versions() -> dict[str, str]:
    """Returns the installed version of what results depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def git_revision() -> str | None:
    """Returns the revision of these sources; None outside a git checkout."""
    here = Path(__file__).resolve().parent
    try:
        result = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return result.stdout.strip() or None


def open_run(path: Path, purpose: str, read: Callable[[RunDirectory], Opened]) -> Opened:
    """Takes hold of an earlier run's directory and makes of it what `read` makes of it.

    Raises:
        InvalidInputError: it is none of that purpose, it is damaged, or a live process holds it.
    """
    directory = RunDirectory.open(path, purpose)
    try:
        return read(directory)
    except InvalidInputError:
        directory.close()
        raise


def origin_of(noted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns, of what was noted of a run, how it came about: for files made from it later."""
    return {key: noted.get(key) for key in _ORIGIN}


def describe_run(path: Path) -> dict[str, Any]:
    """Returns what was noted of a run when it began."""
    data: dict[str, Any] = read_json(path / _CONFIG)
    return data
