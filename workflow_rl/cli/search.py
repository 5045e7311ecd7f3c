"""`workflow-rl search`: find the order in which to fix compromised machines."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_rl.cli.arguments import Commands, add_command, add_flag
from workflow_rl.cli.console import make_console, print_whole, unbroken, waiting
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    add_resume,
    both_defaults,
    execution_of,
    experiment_config,
    plan_of,
    refuse_no_workflow,
    refuse_other_settings,
    resume_hint,
)
from workflow_rl.config import PPO_FORM, Asked, ExperimentConfig

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.runs.trials import SearchOutcome

_EXAMPLES = """workflow-rl search --red-agent bline
workflow-rl search --n-envs 200 --n-workflows 20 --max-episodes 50
workflow-rl search --red-agent meander --stop-at budget --parallel-workflows 2
workflow-rl search --units units.toml --require "crown_jewels > laptops"
workflow-rl search --warm-start common --red-agent bline
workflow-rl search --network office --red-agent meander
workflow-rl search --executor ray --ray-address auto --parallel-workflows 64
workflow-rl search --resume logs/exp_20260101_120000_4242"""

_START = (
    "universal; common by parallel_train_workflow_rl.py, on another --network, and with a preset, "
    "--base-updates, --polish documented or another neural network than that of universal"
)
_FORM = "modern; with another warm start the preset's, or tuned"
_STEPS = 3  # of those that the report names


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "search",
        "search the workflows, 120 of the five types, and train a policy for each tried",
        _EXAMPLES,
    )
    usual = ExperimentConfig.for_search(Asked())
    told = both_defaults(usual, ExperimentConfig(), "with another warm start")
    told |= {"search.warm_start": _START, PPO_FORM.name: _FORM}
    add_experiment_flags(parser, search=True, usual=usual, told=told)
    add_resume(parser, "RUN", "resume an interrupted run with its own settings")
    for name, text in (("worst", "worst attacker"), ("mean", "mean over the attackers")):
        told_as = f"value a workflow by its {text}, in fresh games: --objective {name}"
        how: dict[str, Any] = {"action": "store_const", "const": name, "dest": "train.objective"}
        add_flag(parser, f"--{name}", told_as, basic=False, **how)
    no_report = "write no report.html and no replay.html"
    add_flag(parser, "--no-report", no_report, basic=False, action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Searches, shows the ranking and says where everything is."""
    console = make_console()
    run_search(args, console, partial(print_whole, console))
    return 0


def run_search(
    args: argparse.Namespace, console: "Console", complain: Callable[[str], None]
) -> "SearchOutcome":
    """Searches as flags ask, and shows it.

    Args:
        args: of the command.
        console: where it is shown; a quiet one shows nothing.
        complain: given a sentence when a report could not be written.
    """
    resume: Path | None = getattr(args, "resume", None)
    reports = not getattr(args, "no_report", False)
    config = None
    if resume is None:
        is_script = "documented" in args
        make = ExperimentConfig.of if is_script else ExperimentConfig.for_search
        config = experiment_config(args, make)
        plan_of(args, "search")  # refuses one
        refuse_no_workflow(config, "use `workflow-rl train`")
    with waiting(console, "loading what trains and searches"):  # takes seconds
        from workflow_rl.cli.progress import (
            SearchProgress,
            print_outcome,
            print_phases,
            print_start,
        )
        from workflow_rl.pages.live import LiveReport
        from workflow_rl.pages.report import next_steps
        from workflow_rl.pages.rundata import read_run
        from workflow_rl.runs.search import open_search
        from workflow_rl.runs.store import stored_config
    if resume is not None:
        refuse_other_settings(args, stored_config(resume))
    with open_search(
        config,
        checkpoint_dir=args.checkpoint_dir,
        resume=resume,
        execution=execution_of(args),
    ) as search:
        directory, was_finished = search.directory, search.is_finished
        report = LiveReport(directory.path, complain)
        with resume_hint(console, "search", directory.path):
            print_start(console, directory)
            if not was_finished:
                print_phases(console, directory.config)
            with SearchProgress(console, directory.config, search.done) as progress:
                for event in search.events():
                    progress.show(event)
                    if reports:
                        report.refresh()
            assert search.outcome is not None
            print_outcome(console, search.outcome, directory)
        if reports:
            with waiting(console, "writing report and replay"):
                files = report.conclude(only_missing=was_finished)
            for file in files:
                print_whole(console, f"{file.stem}: {unbroken(file)}")
        for what, command in next_steps(read_run(directory.path, curves=False))[:_STEPS]:
            print_whole(console, f"next: {what[:1].lower()}{what[1:]}: {unbroken(command)}")
    return search.outcome
