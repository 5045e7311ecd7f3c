"""A run on disk: its file names, its directory, who may use it, and how it is opened."""

import fcntl
import itertools
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from workflow_rl import __version__
from workflow_rl.config import Execution, ExperimentConfig
from workflow_rl.config.checks import file_path, instance_or_default
from workflow_rl.envs.world import check_backend
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.files import (
    MANIFEST_FILE,
    check_manifest,
    make_folder,
    open_unlinked,
    read_json,
    refuse_links_out_of,
    sweep,
    temporary_of,
    write_json,
    write_manifest,
)
from workflow_rl.provenance import git_revision, package_versions
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Pool, ProcessPool, SerialPool

# The files of a run, below its directory.
CONFIG_FILE: Final = "experiment_config.json"
TRIALS_FILE: Final = "trials.json"
TRAINING_LOG: Final = "training_log.csv"
DECISION_LOG: Final = "gp_sampling_log.csv"
EPISODES_FILE: Final = "episodes.parquet"
BY_HAND_FILE: Final = "by_hand.json"
SCORES_FILE: Final = "scores.json"
SUMMARY_FILE: Final = "summary.json"
REPORT_FILE: Final = "report.html"
REPLAY_FILE: Final = "replay.html"
LANDSCAPE_FILE: Final = "landscape.json"
ROUNDS_FILE: Final = "rounds.jsonl"  # of a population
PLAYED_FILE: Final = "played.jsonl"
SEARCHED_FILE: Final = "searched.jsonl"
TENSORBOARD: Final = "tensorboard"
TRAININGS: Final = "trainings"
POLICIES: Final = "policies"
_LOCK: Final = ".lock"
_NAMED_AFTER: Final = "exp_"  # the moment

SEARCH: Final = "search"  # the purpose of a run: the command that made it
BASE: Final = "base"  # names of trainings, besides those of trials
POLISH: Final = "polish"
TRAINING: Final = "training"  # of a run that trains one policy
RECOMMENDED: Final = "recommended"  # the policy that a run hands over
_RESPONSE: Final = "response_"  # of best responses, a number after it

_ORIGIN: Final = ("created", "command", "git_revision", "python", "packages")
_PATIENCE: Final = 0.2  # seconds for which a check of the lock may delay taking it


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
            name: of the directory, if it is a part of a larger run; by default it is named after
                the moment.
            plan: what the run depends on beyond its configuration, as plain data.

        Raises:
            InvalidInputError: no directory can be made there.
        """
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
        if name is None:
            made, path = _new_directory(parent)
        else:
            made = path = _named_directory(parent / name)
        try:
            lock = _take_lock(made)
        except BaseException:
            if name is None:  # nobody else's
                shutil.rmtree(made, ignore_errors=True)
            raise
        try:
            write_json(made / CONFIG_FILE, noted)
            made.rename(path)
        except BaseException:  # a full disk, say: there is no run then
            lock.close()
            shutil.rmtree(made, ignore_errors=True)
            raise
        return cls(path, config, lock)

    @classmethod
    def open(cls, path: Path, purpose: str = SEARCH) -> Self:
        """Locks an earlier run's directory, and clears away what a killed process left half done.

        Raises:
            InvalidInputError: it is no run of that purpose, it is damaged, a live process holds
                it, or a link in it leads out of it, where we would write.
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

    def seal(self, *names: str) -> None:
        """Notes the digests of a finished run's files: the last that is written.

        What is made of them later, pages and selected policies for example, is not among them.

        Args:
            names: of the files that it hands over, besides trainings and their policies.
        """
        trainings = self.path / TRAININGS
        policies = [self.policy(name) for name in (RECOMMENDED, *_names_in(trainings))]
        made = [self.path / name for name in names]
        made += [p.with_suffix(end) for p in policies for end in (".safetensors", ".json")]
        made += sorted(trainings.rglob("*"))
        write_manifest(self.path, [self.path / CONFIG_FILE], filter(Path.is_file, made))

    def unseal(self) -> None:
        """Marks the run as unfinished, before anything in it is changed."""
        (self.path / MANIFEST_FILE).unlink(missing_ok=True)

    def check_sealed(self) -> bool:
        """Returns whether the run is finished, with all of its files.

        Raises:
            InvalidInputError: a file of the finished run is not what was written.
        """
        return check_manifest(self.path, "*", missing=True)


def response_name(number: int) -> str:
    """Returns the name of the training of a best response, from 0."""
    return f"{_RESPONSE}{number}"


def is_response(training: str) -> bool:
    """Returns whether a training is that of a best response."""
    return training.startswith(_RESPONSE)


def _names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def stored_config(path: Path, purpose: str = SEARCH) -> ExperimentConfig:
    """Returns the configuration that an earlier run was begun with.

    Raises:
        InvalidInputError: it is no run of that purpose, another version wrote it, or it is damaged.
    """
    file = path / CONFIG_FILE
    if not file.is_file():
        raise InvalidInputError(f"{path} is not a run directory: it has no {CONFIG_FILE}")
    check_manifest(path, CONFIG_FILE)
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


def describe_run(path: Path) -> dict[str, Any]:
    """Returns what was noted of a run when it began."""
    data: dict[str, Any] = read_json(path / CONFIG_FILE)
    return data


def origin_of(noted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns, of what was noted of a run, how it came about: for files made from it later."""
    return {key: noted.get(key) for key in _ORIGIN}


def _new_directory(parent: Path) -> tuple[Path, Path]:
    """Makes a directory under a temporary name, to be renamed once it describes its run.

    What earlier processes left that were killed before they could is deleted.

    Returns:
        It, and what it is to be called: after the moment and the process; a second one has a
        number.
    """
    name = f"{_NAMED_AFTER}{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}"
    file_path("a directory of runs", parent)
    try:
        make_folder(parent)
        sweep(parent, f".{_NAMED_AFTER}*.tmp")
        for number in itertools.count(1):
            path = parent / (name if number == 1 else f"{name}_{number}")
            made = temporary_of(path)
            with suppress(FileExistsError):
                made.mkdir()
                if not path.exists():  # nor will it be: nobody else has the temporary name
                    return made, path
                made.rmdir()
    except OSError as error:
        raise InvalidInputError(f"no run directory can be made in {parent}: {error}") from error
    raise AssertionError("unreachable")


def _named_directory(path: Path) -> Path:
    try:
        make_folder(path)
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


# --- opening a run: its directory, and the pool that does its work


@contextmanager
def open_run(
    config: ExperimentConfig | None = None,
    *,
    purpose: str = SEARCH,
    plan: Mapping[str, Any] | None = None,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
    parallel: int | None = None,
    fresh: bool = False,
) -> Iterator[tuple[RunDirectory, Pool]]:
    """Gives the directory of a run, locked, and a pool; both are released with the block.

    A new run is checked before its directory is made.

    Args:
        config: what a new run depends on; by default that of the command line.
        purpose: the command whose run it is.
        plan: what a new run depends on beyond its configuration, as plain data.
        checkpoint_dir: where the directory of a new run is made.
        resume: the directory of an interrupted run to go on with, whose own configuration holds.
        execution: where tasks run: here, in processes or on Ray.
        parallel: tasks at a time; by default the configuration's parallel_workflows.
        fresh: whether every task gets a new process.

    Raises:
        InvalidInputError: what is asked for cannot be done, or the run cannot be resumed.
    """
    with ExitStack() as stack:
        directory: RunDirectory | None = None
        if resume is not None:
            directory = stack.enter_context(closing(RunDirectory.open(resume, purpose)))
            config = directory.config
        else:
            config = instance_or_default("config", config, ExperimentConfig)
            check_backend(config.game, config.backend)
        number = parallel or config.search.parallel_workflows
        chosen = instance_or_default("execution", execution, Execution)
        pool = stack.enter_context(open_pool(chosen, number, fresh=fresh))
        if directory is None:
            made = RunDirectory.create(checkpoint_dir, config, sys.argv, purpose, plan=plan)
            directory = stack.enter_context(closing(made))
        yield directory, pool


@contextmanager
def open_pool(execution: Execution, number: int, *, fresh: bool = False) -> Iterator[Pool]:
    """Gives a pool for `number` tasks at a time, and ends its workers with the block.

    The choice is checked here, before any work.

    Raises:
        InvalidInputError: the executor cannot do it, or the cluster cannot be used.
        MissingDependencyError: Ray is not installed.
    """
    executor = execution.resolve(number)
    with ExitStack() as stack:
        pool: Pool
        if executor == "ray":
            with explain_missing("the executor ray"), _read_by_ray(execution.ray_address):
                from workflow_rl.runs.cluster import connected
                from workflow_rl.runs.ray import RayPool
            stack.enter_context(connected(execution.ray_address, number))
            pool = RayPool(number, execution.time_limit, fresh=fresh)
        elif executor == "processes" or fresh:
            pool = ProcessPool(number, execution.time_limit, fresh=fresh)
        else:
            pool = SerialPool()
        stack.callback(pool.close)
        yield pool


@contextmanager
def _read_by_ray(address: str | None) -> Iterator[None]:
    """Sets, for the block, the variables that Ray reads when it is imported.

    Ray does not print its own report of a lost node; we print one line. A Ray that is started here
    listens on this machine only.
    """
    wanted = {"RAY_DEDUP_LOGS_SKIP_REGEX": "."}
    if address is None:
        wanted["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    missing = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
