"""The commands as functions: their flags are keywords, and they do what the commands do."""

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.cli import build_parser
from workflow_rl.cli.console import make_console
from workflow_rl.cli.landscape import run_landscape
from workflow_rl.cli.replay import run_replay
from workflow_rl.cli.report import run_report
from workflow_rl.cli.search import run_search
from workflow_rl.config import Execution, ExperimentConfig
from workflow_rl.config.checks import file_path, instance_or_default, not_allowed, several
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.pages.live import LiveReport
from workflow_rl.runs.store import REPORT_FILE, stored_config
from workflow_rl.runs.trials import SearchOutcome
from workflow_rl.studies.landscape_analysis import Analysis
from workflow_rl.studies.played_landscape import PlayedSample
from workflow_rl.workflow.orders import Order, orders_of


class SearchResult(SearchOutcome):
    """What a search found: the order, its policy, the report, and every trial."""

    def __repr__(self) -> str:
        """Says what is recommended, what its policy is worth and where everything is."""
        game = self.config.game
        worth = self.handed_over.result(game)
        return (
            f"SearchResult(recommended: '{self.recommended}', reward {worth.reward} and compliance "
            f"{worth.compliance.mean:.3f} against {game.red_agent}, {len(self.trials)} trials, "
            f"path: {str(self.path)!r})"
        )

    @cached_property
    def config(self) -> ExperimentConfig:
        """Everything the search depended on."""
        return stored_config(self.path)

    @property
    def recommended(self) -> Order:
        """The order that is recommended; the closest one where none complied."""
        return orders_of(self.config.train, self.config.game.network)[self.recommendation.order]

    @cached_property
    def policy(self) -> Policy:
        """The policy that follows it, ready to play: `get_action(observation)`."""
        return load_policy(self.path)

    def report(self) -> Path:
        """Returns the path of the report; writes it, and the replay, if it is missing."""
        path = self.path / REPORT_FILE
        if not path.exists():
            LiveReport(self.path, warnings.warn).conclude(only_missing=True)
        return path


@dataclass(frozen=True, repr=False)
class LandscapeResult:
    """Every order compared, or a sample of them."""

    path: Path  # of the run: landscape.json and, unless it is a sample, landscape.html
    found: Analysis | PlayedSample

    def __repr__(self) -> str:
        """Says how many orders there are, the best one and where everything is."""
        order, reward = self.ranking[0]
        return (
            f"LandscapeResult({len(self.ranking)} orders, best: '{order}' with {reward:.2f}, "
            f"path: {str(self.path)!r})"
        )

    @cached_property
    def ranking(self) -> list[tuple[Order, float]]:
        """Each order and its mean reward, the best first."""
        if isinstance(self.found, Analysis):
            land, standings = self.found.landscape, self.found.standings
            return [(land.order(one.order), one.reward.mean) for one in standings]
        orders, played = self.found.player.orders, self.found.played
        means = [(orders[one.order], one.value) for one in played]
        return sorted(means, key=lambda pair: -pair[1])


def search(
    config: ExperimentConfig | str | Path | None = None,
    *,
    progress: bool = True,
    execution: Execution | None = None,
    **flags: Any,
) -> SearchResult:
    """Searches the workflows, as `workflow-rl search` does, and writes the run's report.

    `search(red_agent="meander", n_workflows=3)`. An interrupted search loses nothing:
    `search(resume="logs/exp_...")` goes on with it.

    Args:
        config: everything the run depends on, or a file of it; by default that of the command.
        progress: whether to print what the command prints.
        execution: where workflows are trained; its settings are flags, too.
        **flags: of the command, by their names: `--n-envs` is `n_envs`; they win over the
            configuration. `resume` goes on with a run, `checkpoint_dir` says where a new one is
            made, `units` may be groups of hosts, `require` is a list.

    Returns:
        The recommended order, its policy, the report and every trial.

    Raises:
        InvalidInputError: something is not allowed; nothing was begun.
    """
    args = _arguments("search", flags, config, execution)
    outcome = run_search(args, make_console(quiet=not progress), warnings.warn)
    return SearchResult(**vars(outcome))


def landscape(
    config: ExperimentConfig | str | Path | None = None,
    *,
    progress: bool = True,
    execution: Execution | None = None,
    **flags: Any,
) -> LandscapeResult:
    """Compares all orders, as `workflow-rl landscape` does: each trained, or played by one policy.

    `landscape(policy="universal", red_agent="meander")` trains nothing and takes half a minute.

    Args:
        config: everything the run depends on, or a file of it; by default that of the command.
        progress: whether to print what the command prints.
        execution: where orders are trained; its settings are flags, too.
        **flags: of the command, by their names: `--seeds` is `seeds`; they win over the
            configuration.

    Returns:
        What was found, with the ranking of the orders, and where it is written.

    Raises:
        InvalidInputError: something is not allowed; nothing was begun.
    """
    args = _arguments("landscape", flags, config, execution)
    return LandscapeResult(*run_landscape(args, make_console(quiet=not progress)))


def report(runs: str | Path | Sequence[str | Path], **flags: Any) -> Path:
    """Writes a run, or several side by side, as one HTML page, as `workflow-rl report` does.

    Args:
        runs: the directory of a run, or a list of them.
        **flags: of the command: `output` is the file, by default report.html in the run, or here
            for several; `landscape` a file with the true mean of every workflow.

    Returns:
        Where the page is.

    Raises:
        InvalidInputError: a directory holds no run, or there are too many.
    """
    args = _arguments("report", flags)
    listed = [runs] if isinstance(runs, str | Path) else several("runs", runs)
    args.runs = [file_path("a run", run) for run in listed]
    return run_report(args)


def replay(source: str | Path, **flags: Any) -> Path:
    """Writes an episode on the network diagram as one HTML page, as `workflow-rl replay` does.

    Args:
        source: a run directory, a policy file, whatever else `evaluate` takes by name, or a
            recording (.npz).
        **flags: of the command: red_agent, episode_length, seed, sampled, rules, workflow, units,
            episode (of a recording), and `output`, by default replay.html in the run, or here.

    Returns:
        Where the page is.

    Raises:
        InvalidInputError: there is no such agent, or something else is not allowed.
    """
    args = _arguments("replay", flags)
    args.source = str(file_path("what is replayed", source))
    return run_replay(args)[0]


def _arguments(
    command: str,
    given: Mapping[str, Any],
    config: object = None,
    execution: Execution | None = None,
) -> argparse.Namespace:
    """Returns what a command is given by flags, of which None stands for one that is not."""
    actions = [action for action in build_parser().commands[command].flags if action.option_strings]
    by_name = {
        option.removeprefix("--").replace("-", "_"): action
        for action in actions
        for option in action.option_strings
    }
    defaults = {action.dest: action.default for action in actions}
    args = argparse.Namespace(**{k: v for k, v in defaults.items() if v is not argparse.SUPPRESS})
    if config is not None:
        is_file = isinstance(config, str | Path) and config != ""
        if not is_file and not isinstance(config, ExperimentConfig):
            raise not_allowed("config", config, "an ExperimentConfig or a file")
        args.config = file_path("config", config) if is_file else config
    for name, value in vars(instance_or_default("execution", execution, Execution)).items():
        if execution is not None:
            setattr(args, f"execution.{name}", value)
    for name, value in given.items():
        if name not in by_name:
            nearest = ", ".join(get_close_matches(name, by_name)) or "none"
            raise InvalidInputError(
                f"{command} has no setting {shown(name)}: there are the flags of `workflow-rl "
                f"{command} --help-all`; similar to it: {nearest}"
            )
        action = by_name[name]
        if action.nargs == 0 and not isinstance(value, bool | None):
            raise not_allowed(name, value, "True or False")
        if value is not None:
            setattr(args, action.dest, file_path(name, value) if action.type is Path else value)
    return args
