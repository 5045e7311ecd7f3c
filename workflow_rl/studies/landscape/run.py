"""Training a landscape: one exhaustive search for each seed, in a directory of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.config import ExperimentConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.run import SearchRun
from workflow_rl.runs.store import RunDirectory, describe_run, open_run, origin_of
from workflow_rl.runs.tasks import Workers
from workflow_rl.studies.landscape.analysis import Analysis
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.workflow.orders import NUM_ORDERS

PURPOSE: Final = "landscape"
_CONFIG: Final = "experiment_config.json"
_SUMMARY: Final = "summary.json"
MAX_SEEDS: Final = 1_000


class LandscapeRun:
    """A landscape in its directory."""

    def __init__(self, directory: RunDirectory) -> None:
        """Reads which seeds the landscape is of.

        Raises:
            InvalidInputError: the directory does not say so.
        """
        self.directory = directory
        self.config = directory.config
        self.noted = describe_run(directory.path)
        seeds = self.noted.get("plan", {}).get("seeds")
        if not isinstance(seeds, list) or not seeds:
            raise InvalidInputError(f"{directory.path} does not say of which seeds it is")
        self.seeds = [whole_number("a seed", seed, 0, 2**63 - 1) for seed in seeds]

    @classmethod
    def create(
        cls, parent: Path, config: ExperimentConfig, seeds: int, command: list[str]
    ) -> "LandscapeRun":
        """Makes the directory of a new landscape.

        Args:
            parent: where to make it.
            config: of every training; its seed is the first of the seeds.
            seeds: trainings of each order.
            command: how it was started.

        Raises:
            InvalidInputError: a number is out of range, or no directory can be made there.
        """
        whole_number("--seeds", seeds, 1, MAX_SEEDS)
        of_seeds = [exhaustive(config, config.seed + k) for k in range(seeds)]
        plan = {"seeds": [one.seed for one in of_seeds]}
        return cls(RunDirectory.create(parent, of_seeds[0], command, PURPOSE, plan=plan))

    @classmethod
    def open(cls, path: Path) -> "LandscapeRun":
        """Takes hold of an earlier landscape's directory.

        Raises:
            InvalidInputError: it is none, it is damaged, or a live process holds it.
        """
        return open_run(path, PURPOSE, cls)

    def train(
        self,
        listen: Callable[[int, ExperimentConfig], Listener],
        workers: Workers | None = None,
    ) -> Landscape:
        """Trains what is not trained yet and returns the whole landscape.

        Args:
            listen: makes who is told how a seed's search goes.
            workers: train the orders; by default here, or in processes if several at a time.
        """
        trials: dict[int, Any] = {}
        for number, seed in enumerate(self.seeds):
            summary = self.path_of(number) / _SUMMARY
            if not summary.exists() or read_json(summary).get("failed"):
                config = exhaustive(self.config, seed)
                with self._part(number, config) as directory:
                    listener = listen(number, config)
                    SearchRun(directory, listener, workers, retry_failed=True).run()
            found = read_json(summary)
            for failure in found.get("failed", ()):
                raise InvalidInputError(
                    f"a landscape needs every order, but {failure['workflow']} of seed {seed} "
                    f"failed: {failure['reason']}; try it again with --resume"
                )
            trials[seed] = found["trials"]
        game, threshold = self.config.game, self.config.train.compliance_threshold
        return Landscape.of_trials(game.red_agent, game.rules, threshold, trials)

    def path_of(self, number: int) -> Path:
        """Returns the run directory of a seed, by its place."""
        return self.directory.path / f"seed_{number:03d}"

    @contextmanager
    def _part(self, number: int, config: ExperimentConfig) -> Iterator[RunDirectory]:
        path = self.path_of(number)
        if (path / _CONFIG).exists():
            directory = RunDirectory.open(path)
        else:
            command = self.noted["command"]
            directory = RunDirectory.create(path.parent, config, command, name=path.name)
        try:
            if directory.config != config:
                raise InvalidInputError(f"{path} is of a search with other settings")
            yield directory
        finally:
            directory.close()

    def write(self, analysis: Analysis) -> Path:
        """Writes `landscape.json` and returns its path."""
        path = self.directory.path / "landscape.json"
        write_json(
            path, analysis.as_json() | origin_of(self.noted) | {"config": self.noted.get("config")}
        )
        return path


def exhaustive(config: ExperimentConfig, seed: int) -> ExperimentConfig:
    """Returns the configuration of the search that trains every order once for a seed."""
    search = replace(
        config.search,
        strategy="exhaustive",
        n_workflows=NUM_ORDERS,
        polish_updates=0,
        total_episodes=None,
    )
    return replace(config, search=search, seed=seed)
