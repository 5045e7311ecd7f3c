"""A run on disk: its directory, who may use it, and its file names."""

import fcntl
import itertools
import os
import platform
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from workflow_rl import __version__
from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import (
    open_unlinked,
    read_json,
    refuse_links_out_of,
    sweep,
    write_json,
)
from workflow_rl.provenance import git_revision, package_versions
from workflow_rl.runs.folder import TrainingFolder

# The files of a run, below its directory.
CONFIG_FILE: Final = "experiment_config.json"
TRIALS_FILE: Final = "trials.json"
TRAINING_LOG: Final = "training_log.csv"
DECISION_LOG: Final = "gp_sampling_log.csv"
EPISODES_FILE: Final = "episodes.parquet"
SCORES_FILE: Final = "scores.json"
SUMMARY_FILE: Final = "summary.json"
REPORT_FILE: Final = "report.html"
REPLAY_FILE: Final = "replay.html"
LANDSCAPE_FILE: Final = "landscape.json"
TENSORBOARD: Final = "tensorboard"
TRAININGS: Final = "trainings"
POLICIES: Final = "policies"
_LOCK: Final = ".lock"

SEARCH: Final = "search"  # the purpose of a run: the command that made it
BASE: Final = "base"  # names of trainings, besides those of trials
POLISH: Final = "polish"
TRAINING: Final = "training"  # of a run that trains one policy
RECOMMENDED: Final = "recommended"  # the policy that a run hands over

_ORIGIN: Final = ("created", "command", "git_revision", "python", "packages")
_PATIENCE: Final = 0.2  # seconds for which a look at the lock may be in the way of taking it


class RunDirectory:
    """A run's directory, held by one live process at a time."""

    def __init__(self, path: Path, config: ExperimentConfig, lock: BinaryIO) -> None:
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
        """Makes the directory of a new run below `parent` and locks it.

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
        try:
            lock = _take_lock(path)
        except BaseException:
            if name is None:  # nobody else's
                shutil.rmtree(path, ignore_errors=True)
            raise
        noted = {
            "version": __version__,
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
            write_json(path / CONFIG_FILE, noted)
        except BaseException:  # a full disk, say: there is no run then
            lock.close()
            shutil.rmtree(path, ignore_errors=True)
            raise
        return cls(path, config, lock)

    @classmethod
    def open(cls, path: Path, purpose: str = SEARCH) -> Self:
        """Locks an earlier run's directory, and clears away what a killed process left half done.

        Args:
            path: the directory.
            purpose: the command whose run it must be.

        Raises:
            InvalidInputError: it is none, it is damaged, a live process holds it, or a link in it
                leads out of it, where we would write.
        """
        config = stored_config(path, purpose)
        refuse_links_out_of(path)
        lock = _take_lock(path)
        sweep(path)
        return cls(path, config, lock)

    def close(self) -> None:
        """Releases the directory."""
        self._lock.close()

    def training(self, name: str) -> TrainingFolder:
        """Returns the folder of one training: its checkpoint, its raw logs, its result."""
        return TrainingFolder(self.path / TRAININGS / name)

    def policy(self, name: str) -> Path:
        """Returns the file of a policy."""
        return self.path / POLICIES / f"{name}.safetensors"


def stored_config(path: Path, purpose: str = SEARCH) -> ExperimentConfig:
    """Returns the configuration that an earlier run was begun with.

    Args:
        path: the run's directory.
        purpose: the command whose run it must be.

    Raises:
        InvalidInputError: it is no run of that purpose, another version wrote it, or it is damaged.
    """
    file = path / CONFIG_FILE
    if not file.is_file():
        raise InvalidInputError(f"{path} is not a run directory: it has no {CONFIG_FILE}")
    noted = read_json(file)
    if isinstance(noted, dict) and (version := noted.get("version")) != __version__:
        writer = "an earlier version" if version is None else f"version {version}"
        raise InvalidInputError(
            f"{file} was written by {writer} of workflow-rl, which {__version__} does not read"
        )
    try:
        found, config = noted["purpose"], ExperimentConfig.from_json(noted["config"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{file} does not describe a run of this version: {error}"
        ) from error
    if found != purpose:
        raise InvalidInputError(f"{path} is not of a {purpose}, but of `workflow-rl {found}`")
    return config


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


def _take_lock(path: Path) -> BinaryIO:
    lock = open_unlinked(path / _LOCK, os.O_RDWR | os.O_CREAT)
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
        with open_unlinked(path / _LOCK, os.O_RDONLY) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, InvalidInputError):  # there is no lock, or none to be had on this disk
        return False
    return False


def describe_run(path: Path) -> dict[str, Any]:
    """Returns what was noted of a run when it began."""
    data: dict[str, Any] = read_json(path / CONFIG_FILE)
    return data


def origin_of(noted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns, of what was noted of a run, how it came about: for files made from it later."""
    return {key: noted.get(key) for key in _ORIGIN}
