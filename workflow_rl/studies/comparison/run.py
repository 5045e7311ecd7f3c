"""A comparison in its directory: every training in a process of its own, finished ones kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from workflow_rl.config import PPO_FORMS, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json
from workflow_rl.runs.store import RunDirectory, describe_run, open_run, origin_of
from workflow_rl.studies.comparison import gradient, training
from workflow_rl.studies.comparison.gradient import GradientNoise
from workflow_rl.studies.comparison.plan import Plan
from workflow_rl.studies.comparison.process import Emit, Place, run_apart
from workflow_rl.studies.comparison.summary import Summary, as_json, refusal_of_large_updates
from workflow_rl.studies.comparison.training import Measured
from workflow_rl.workflow.orders import format_order

PURPOSE: Final = "compare-updates"
_GRADIENTS: Final = "gradients"
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
        return open_run(path, PURPOSE, cls)

    @property
    def steps(self) -> int:
        """How many things there are to do: every training, and the gradients."""
        return len(self.plan.presets) * len(self.plan.seeds) + 1

    def measure(
        self,
        side_by_side: int = 1,
        *,
        place: Place | None = None,
        on_start: Callable[[str], None] = lambda what: None,
        on_news: Callable[[str, str], None] = lambda what, news: None,
        on_done: Callable[[int], None] = lambda done: None,
    ) -> tuple[list[Measured], dict[str, GradientNoise]]:
        """Measures what is not measured yet, and returns all trainings and the gradients' noise.

        Seed by seed, so that a slow moment of the machine hits every preset.

        Args:
            side_by_side: trainings at the same time.
            place: where they run; by default on this machine.
            on_start: told what begins.
            on_news: told how it goes.
            on_done: told how many of the steps are done.
        """
        names = {
            f"{preset}, seed {seed}": (preset, seed)
            for seed in self.plan.seeds
            for preset in self.plan.presets
        }
        missing: dict[str, Callable[[Emit], Any]] = {
            name: training.task(preset, self.plan.job(preset, seed))
            for name, (preset, seed) in names.items()
            if not self._path_of(preset, seed).exists()
        }
        gradients = self.directory.path / "gradients.json"
        if not gradients.exists():
            missing[_GRADIENTS] = gradient.task(self.plan)
        done = self.steps - len(missing)
        on_done(done)
        for name, found in run_apart(
            missing, side_by_side, place=place, on_start=on_start, on_news=on_news
        ):
            if name == _GRADIENTS:
                content = {preset: noise.as_json() for preset, noise in found.items()}
                write_json(gradients, {"job": self.plan.as_json(), "content": content})
            else:
                preset, seed = names[name]
                identity = self.plan.job(preset, seed).identity()
                path = self._path_of(preset, seed)
                write_json(path, {"job": identity, "content": found.as_json()})
            done += 1
            on_done(done)
        trainings = [
            _read(
                self._path_of(preset, seed),
                self.plan.job(preset, seed).identity(),
                Measured.from_json,
            )
            for preset, seed in names.values()
        ]
        return trainings, _read(gradients, self.plan.as_json(), _noise_of_all)

    def _path_of(self, preset: str, seed: int) -> Path:
        return self.directory.path / "trainings" / f"{preset}_{seed}.json"

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
        write_json(path, content | origin_of(self.noted))
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
