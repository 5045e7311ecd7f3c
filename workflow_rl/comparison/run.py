"""A comparison in its directory: every training in a process of its own, finished ones kept."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from workflow_rl.comparison import gradient, training
from workflow_rl.comparison.gradient import GradientNoise
from workflow_rl.comparison.plan import Plan
from workflow_rl.comparison.process import Call, Emit, run_alone
from workflow_rl.comparison.runner import Runner, alone
from workflow_rl.comparison.summary import Summary, as_json, refusal_of_large_updates
from workflow_rl.comparison.training import Measured
from workflow_rl.config import PPO_FORMS, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.experiment.rundir import RunDirectory, describe_run
from workflow_rl.files import read_json, write_json
from workflow_rl.workflow.orders import format_order

PURPOSE: Final = "compare-updates"
_KEPT: Final = ("created", "command", "git_revision", "python", "packages")
Kept = TypeVar("Kept")


class ComparisonRun:
    """A comparison of update strategies in its directory."""

    def __init__(self, directory: RunDirectory) -> None:
        """Reads what is compared.

        Raises:
            InvalidInputError: the directory does not say so.
        """
        self.directory = directory
        self.noted = describe_run(directory.path)
        self.plan = Plan.from_json(self.noted.get("plan") or {})

    @classmethod
    def create(cls, parent: Path, plan: Plan, command: list[str]) -> "ComparisonRun":
        """Makes the directory of a new comparison.

        Raises:
            InvalidInputError: no directory can be made there.
        """
        config = ExperimentConfig(game=plan.game, ppo=PPO_FORMS[plan.ppo], seed=plan.seeds[0])
        directory = RunDirectory.create(parent, config, command, PURPOSE, plan=plan.as_json())
        return cls(directory)

    @classmethod
    def open(cls, path: Path) -> "ComparisonRun":
        """Takes hold of an earlier comparison's directory.

        Raises:
            InvalidInputError: it is none, it is damaged, or a live process holds it.
        """
        directory = RunDirectory.open(path, PURPOSE)
        try:
            return cls(directory)
        except InvalidInputError:
            directory.close()
            raise

    @property
    def steps(self) -> int:
        """How many things there are to do: every training, and the gradients."""
        return len(self.plan.presets) * len(self.plan.seeds) + 1

    def measure(
        self, on_step: Callable[[str], None], on_news: Emit, runner: Runner = alone
    ) -> tuple[list[Measured], dict[str, GradientNoise]]:
        """Trains what is not trained yet, and returns all trainings and the gradients' noise.

        Seed by seed, so that a slow moment of the machine hits every preset.

        Args:
            on_step: told what begins.
            on_news: told how it goes.
            runner: runs the trainings; one after the other by default.
        """
        jobs = {
            f"{preset}_{seed}": (preset, self.plan.job(preset, seed))
            for seed in self.plan.seeds
            for preset in self.plan.presets
        }

        found: dict[str, Measured] = {}

        def missing() -> Iterator[tuple[str, Call[Measured]]]:
            for name, (preset, job) in jobs.items():
                on_step(f"{preset}, seed {job.seed}")
                if self._path(name).exists():
                    found[name] = _read(self._path(name), job.identity(), Measured.from_json)
                else:
                    yield name, training.task(preset, job)

        for name, measured in runner(missing(), on_news):
            content = {"job": jobs[name][1].identity(), "content": measured.as_json()}
            write_json(self._path(name), content)
            found[name] = measured
        on_step("gradients")
        return [found[name] for name in jobs], self._gradients(on_news)

    def _path(self, name: str) -> Path:
        return self.directory.path / "trainings" / f"{name}.json"

    def _gradients(self, on_news: Emit) -> dict[str, GradientNoise]:
        path = self.directory.path / "gradients.json"
        if path.exists():
            return _read(path, self.plan.as_json(), _noise_of_all)
        found = run_alone(gradient.task(self.plan), on_news)
        content = {name: noise.as_json() for name, noise in found.items()}
        write_json(path, {"job": self.plan.as_json(), "content": content})
        return found

    def write(self, summaries: list[Summary], seconds: float) -> Path:
        """Writes `comparison.json` and returns its path."""
        path = self.directory.path / "comparison.json"
        plan = self.plan
        content: dict[str, Any] = {
            "red_agent": plan.red_agent,
            "rules": plan.rules,
            "workflow": format_order(plan.order),
            "plan": plan.as_json(),
            "equal_seconds": seconds,
            "presets": as_json(summaries),
            "updates_of_20000_steps_in_50_episodes": refusal_of_large_updates(),
        }
        write_json(path, content | {key: self.noted.get(key) for key in _KEPT})
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
