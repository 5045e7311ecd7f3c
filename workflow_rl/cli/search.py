"""`workflow-rl search`: find the order in which to fix compromised machines."""

import argparse
from functools import partial
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command
from workflow_rl.cli.console import make_console, print_whole, waiting
from workflow_rl.cli.execution import execution_of
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    experiment_config,
    refuse_other_settings,
)
from workflow_rl.cli.resuming import add_resume, resume_hint
from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError

_EXAMPLES = """workflow-rl search --red-agent bline
workflow-rl search --n-envs 200 --n-workflows 20 --max-episodes 50 --min-episodes 5
workflow-rl search --red-agent meander --stop-at budget --parallel-workflows 2
workflow-rl search --units units.toml --require "crown_jewels > laptops"
workflow-rl search --executor ray --ray-address auto --parallel-workflows 64
workflow-rl search --resume logs/exp_20260101_120000_4242"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "search",
        "search the workflows, 120 of the five types, and train a policy for each tried",
        _EXAMPLES,
    )
    add_experiment_flags(parser, search=True)
    add_resume(
        parser,
        "RUN",
        "go on with an interrupted run, with the settings it began with (default: a new run)",
    )
    parser.add_argument(
        "--no-report", action="store_true", help="write no report.html and no replay.html"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Searches, shows the ranking and says where everything is."""
    resume: Path | None = getattr(args, "resume", None)
    config = None if resume is not None else _config(args)
    console = make_console()
    with waiting(console, "loading what trains and searches"):  # takes seconds
        from workflow_rl.cli.outcome import print_outcome, print_phases, print_start
        from workflow_rl.cli.progress import SearchProgress
        from workflow_rl.report.live import LiveReport
        from workflow_rl.runs.search import open_search
        from workflow_rl.runs.store import stored_config
    if resume is not None:
        refuse_other_settings(args, stored_config(resume))
    with open_search(
        config,
        checkpoint_dir=Path(args.checkpoint_dir),
        resume=resume,
        execution=execution_of(args),
    ) as search:
        directory, was_finished = search.directory, search.is_finished
        report = LiveReport(directory.path, partial(print_whole, console))
        with resume_hint(console, "search", directory.path):
            print_start(console, directory)
            if not was_finished:
                print_phases(console, directory.config)
            with SearchProgress(console, directory.config, search.done) as progress:
                for event in search.events():
                    progress.show(event)
                    if not args.no_report:
                        report.refresh()
            assert search.outcome is not None
            print_outcome(console, search.outcome, directory)
        if not args.no_report:
            with waiting(console, "writing report and replay"):
                files = report.conclude(only_missing=was_finished)
            for file in files:
                print_whole(console, f"{file.stem}: {file}")
    return 0


def _config(args: argparse.Namespace) -> ExperimentConfig:
    config = experiment_config(args)
    if not config.train.conditioned:
        raise InvalidInputError(
            f"the preset {args.preset} trains one policy without a workflow: use "
            "`workflow-rl train`"
        )
    return config
