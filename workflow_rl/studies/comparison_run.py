"""A comparison in its directory: every training in a separate process, finished ones kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from workflow_rl.config import PPO_FORMS, ComparisonConfig, Execution, ExperimentConfig
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.files import read_json, write_json
from workflow_rl.runs.pool import Done, Event, Failed, Pool, Task
from workflow_rl.runs.store import TRAININGS, RunDirectory, describe_run, open_run, origin_of
from workflow_rl.studies.comparison import Comparison, refusal_of_large_updates
from workflow_rl.studies.gradient_noise import GradientNoise, NoiseTask
from workflow_rl.studies.measured_training import Measured, MeasureTask, job_of
from workflow_rl.workflow.orders import TYPES

PURPOSE: Final = "compare-updates"
Kept = TypeVar("Kept")


class ComparisonRun:
    """A comparison of update strategies in its directory, on a pool of fresh processes."""

    def __init__(self, directory: RunDirectory, pool: Pool) -> None:
        """Reads what is compared.

        Raises:
            InvalidInputError: the directory does not say so.
        """
        self.directory = directory
        self.plan = stored_plan(directory.path)
        self._pool = pool
        self._gradients = directory.path / "gradients.json"
        directory.check_sealed()

    @property
    def number(self) -> int:
        """How many tasks there are: every training, and the gradients."""
        return len(self.plan.presets) * len(self.plan.seeds) + 1

    def missing(self) -> list[Task]:
        """Returns what is not measured yet."""
        trainings = [task for task in self._trainings() if not self._path_of(task).exists()]
        gradients = [] if self._gradients.exists() else [NoiseTask(self.plan)]
        return [*trainings, *gradients]

    def _trainings(self) -> list[MeasureTask]:
        """Returns every training, seed by seed: a slow moment of the machine hits every preset."""
        return [
            MeasureTask(preset, job_of(self.plan, preset, seed))
            for seed in self.plan.seeds
            for preset in self.plan.presets
        ]

    def _path_of(self, task: MeasureTask) -> Path:
        return self.directory.path / TRAININGS / f"{task.preset}_{task.job.seed}.json"

    def events(self) -> Iterator[Event]:
        """Runs the measurements that are missing; yields events.

        Raises:
            TrainingFailedError: a task was given up.
        """
        for event in self._pool.events(self.missing()):
            if isinstance(event, Done):
                self._keep(event.task, event.result)
            elif isinstance(event, Failed):
                raise TrainingFailedError(
                    f"{event.task.name}: {event.reason}; nothing finished is lost: continue with "
                    "--resume"
                )
            yield event

    def _keep(self, task: MeasureTask | NoiseTask, found: Any) -> None:
        self.directory.unseal()
        if isinstance(task, NoiseTask):
            content = {preset: noise.as_json() for preset, noise in found.items()}
            write_json(self._gradients, {"job": self.plan.as_json(), "content": content})
        else:
            content = {"job": task.job.identity(), "content": found.as_json()}
            write_json(self._path_of(task), content)

    def results(self) -> tuple[list[Measured], dict[str, GradientNoise]]:
        """Returns all trainings and the gradients' noise, once everything is measured."""
        trainings = [
            _read(self._path_of(task), task.job.identity(), Measured.from_json)
            for task in self._trainings()
        ]
        return trainings, _read(self._gradients, self.plan.as_json(), _noise_of_all)

    def write(self, found: Comparison) -> Path:
        """Writes `comparison.json` and returns its path."""
        path, plan = self.directory.path / "comparison.json", self.plan
        content: dict[str, Any] = {
            "red_agent": plan.game.red_agent,
            "rules": plan.game.rules,
            "workflow": TYPES.format(plan.order),
            "plan": plan.as_json(),
            "equal_seconds": found.seconds,
            "presets": [summary.as_json() for summary in found.summaries],
            "updates_of_20000_steps_in_50_episodes": refusal_of_large_updates(),
        }
        self.directory.unseal()
        write_json(path, content | origin_of(describe_run(self.directory.path)))
        self.directory.seal(path.name, self._gradients.name)
        return path


def _read(path: Path, identity: dict[str, Any], of: Callable[[dict[str, Any]], Kept]) -> Kept:
    data = read_json(path)
    try:
        if data["job"] != identity:
            raise InvalidInputError(f"{path} belongs to a comparison with other settings")
        return of(data["content"])
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"{path} is damaged: it is not of this version") from error


def _noise_of_all(data: dict[str, Any]) -> dict[str, GradientNoise]:
    return {name: GradientNoise.from_json(noise) for name, noise in data.items()}


def stored_plan(path: Path) -> ComparisonConfig:
    """Returns what is compared in a directory.

    Raises:
        InvalidInputError: the directory does not say so.
    """
    return ComparisonConfig.from_json(describe_run(path).get("plan") or {})


@contextmanager
def open_comparison(
    plan: ComparisonConfig | None = None,
    *,
    parallel: int = 1,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
) -> Iterator[ComparisonRun]:
    """Opens a new or resumed comparison; loop over its `events`.

    Arguments as `open_run`; `parallel` is the number of trainings at a time.

    Raises:
        InvalidInputError: the comparison cannot be opened.
    """
    plan = plan or ComparisonConfig()
    with open_run(
        ExperimentConfig(game=plan.game, ppo=PPO_FORMS[plan.ppo], seed=plan.seeds[0]),
        purpose=PURPOSE,
        plan=plan.as_json(),
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        execution=execution,
        parallel=parallel,
        fresh=True,
    ) as (directory, pool):
        yield ComparisonRun(directory, pool)
