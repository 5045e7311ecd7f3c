"""Training a landscape: one exhaustive search per seed, each in its own directory."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import Execution, ExperimentConfig, whole_number
from workflow_rl.config.checks import instance_or_default
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.evaluation.selection import Games
from workflow_rl.files import check_manifest, write_json
from workflow_rl.runs.pool import Event, Pool
from workflow_rl.runs.search import Search
from workflow_rl.runs.store import (
    CONFIG_FILE,
    LANDSCAPE_FILE,
    PLAYED_FILE,
    SEARCHED_FILE,
    RunDirectory,
    describe_run,
    open_run,
    origin_of,
)
from workflow_rl.runs.trials import Trial, TrialFile, tried_in, with_status
from workflow_rl.studies.landscape import Landscape
from workflow_rl.workflow.orders import LISTABLE, Orders, orders_of

PURPOSE: Final = "landscape"
MAX_SEEDS: Final = 1_000


class LandscapeRun:
    """A landscape in its directory, on a pool that trains its orders."""

    def __init__(self, directory: RunDirectory, pool: Pool) -> None:
        """Reads which seeds the landscape is of.

        Raises:
            InvalidInputError: the directory does not say so.
        """
        self.directory = directory
        self.config = directory.config
        self._pool = pool
        self.orders = orders_of(directory.config.train, directory.config.game.network)
        self.seeds = stored_seeds(directory.path)
        directory.check_sealed()
        self.done = 0  # orders trained so far, of all seeds together, by earlier attempts as well

    def events(self) -> Iterator[tuple[int, Event]]:
        """Trains the missing orders; yields events with the index of the seed."""
        for number, seed in enumerate(self.seeds):
            sealed = check_manifest(self._path_of(number), "*", missing=True)
            if sealed and not self._failed(number):
                self.done = (number + 1) * self.orders.count
                continue
            with closing(self._part(number, exhaustive(self.config, seed))) as directory:
                search = Search(directory, self._pool, retry_failed=True)
                for event in search.events():
                    self.done = number * self.orders.count + len(search.done)
                    if not isinstance(event, Games):
                        yield number, event
            for trial in self._failed(number):
                raise TrainingFailedError(
                    f"a landscape needs every order, but {self.orders.format(trial.order)} of seed "
                    f"{seed} failed: {trial.failure}; try it again with --resume"
                )

    def table(self) -> Landscape:
        """Returns what every order gave for every seed, once all are trained."""
        tried = {seed: tried_in(self._trials(number)) for number, seed in enumerate(self.seeds)}
        return Landscape.of_tried(self.config, tried)

    def _trials(self, number: int) -> list[Trial]:
        return TrialFile(self._path_of(number), self.orders).trials

    def _failed(self, number: int) -> list[Trial]:
        return with_status(self._trials(number), "failed")

    def _path_of(self, number: int) -> Path:
        """Returns the run directory of a seed, by its place."""
        return self.directory.path / f"seed_{number:03d}"

    def _part(self, number: int, config: ExperimentConfig) -> RunDirectory:
        """Returns the directory of a seed's search, locked, new or begun by an earlier attempt."""
        path = self._path_of(number)
        if not (path / CONFIG_FILE).exists():
            command = describe_run(self.directory.path)["command"]
            return RunDirectory.create(path.parent, config, command, name=path.name)
        directory = RunDirectory.open(path)
        if directory.config != config:
            directory.close()
            raise InvalidInputError(f"{path} is of a search with other settings")
        return directory


def write_landscape(directory: RunDirectory, data: Mapping[str, Any]) -> Path:
    """Writes `landscape.json`, results and configuration, and returns its path."""
    path, noted = directory.path / LANDSCAPE_FILE, describe_run(directory.path)
    directory.unseal()
    write_json(path, {**data, **origin_of(noted), "config": noted.get("config")})
    directory.seal(LANDSCAPE_FILE, PLAYED_FILE, SEARCHED_FILE)
    return path


def stored_seeds(path: Path) -> list[int]:
    """Returns of which seeds the landscape in a directory is.

    Raises:
        InvalidInputError: the directory does not say so.
    """
    seeds = describe_run(path).get("plan", {}).get("seeds")
    if not isinstance(seeds, list) or not seeds:
        raise InvalidInputError(f"{path} does not say of which seeds it is")
    return [whole_number("a seed", seed, 0, 2**63 - 1) for seed in seeds]


@contextmanager
def open_landscape(
    config: ExperimentConfig | None = None,
    seeds: int = 3,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
) -> Iterator[LandscapeRun]:
    """Opens a new or resumed landscape; loop over its `events`.

    Arguments as `open_run`; the seed of the configuration is the first of the seeds.

    Raises:
        InvalidInputError: a number is out of range, or the landscape cannot be opened.
    """
    seeds = whole_number("--seeds", seeds, 1, MAX_SEEDS)
    config = instance_or_default("config", config, ExperimentConfig)
    parts = [exhaustive(config, config.seed + k) for k in range(seeds)]
    with open_run(
        parts[0],
        purpose=PURPOSE,
        plan={"seeds": [part.seed for part in parts]},
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        execution=execution,
    ) as (directory, pool):
        yield LandscapeRun(directory, pool)


def exhaustive(config: ExperimentConfig, seed: int) -> ExperimentConfig:
    """Returns the configuration of the search that trains every order once for a seed.

    Raises:
        InvalidInputError: there are too many orders.
    """
    orders = orders_of(config.train, config.game.network)
    check_listable(orders, "search")
    search = replace(
        config.search,
        strategy="exhaustive",
        n_workflows=orders.count,
        polish_updates=0,
        responses=0,
        total_episodes=None,
    )
    return replace(config, search=search, seed=seed)


def check_listable(orders: Orders, instead: str) -> None:
    """Checks that orders are few enough to try each.

    Raises:
        InvalidInputError: they are not; the sentence ends with what can be done instead.
    """
    if not orders.is_listable:
        raise InvalidInputError(
            f"a landscape tries every order, at most {LISTABLE:,} of them, not {orders.count:,}: "
            f"require more of them, choose fewer units, or {instead}"
        )
