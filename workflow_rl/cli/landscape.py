"""`workflow-rl landscape`: train every order for several seeds, and see what that says."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

from workflow_rl.cli.arguments import Commands, add_command, given_settings
from workflow_rl.cli.console import make_console, print_whole
from workflow_rl.cli.execution import execution_of
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    experiment_config,
    refuse_other_settings,
)
from workflow_rl.cli.landscape_played import (
    add_played_flags,
    refuse_played_flags,
    run_played,
    tell_landscape,
)
from workflow_rl.cli.resuming import add_resume, refuse_flags, resume_hint
from workflow_rl.config import ExperimentConfig, TrainConfig, whole_number
from workflow_rl.errors import InvalidInputError

_EXAMPLES = """workflow-rl landscape --red-agent bline
workflow-rl landscape --red-agent meander --seeds 5 --parallel-workflows 2
workflow-rl landscape --red-agent bline --stop-at compliance --replays 200
workflow-rl landscape --policy universal --red-agent meander
workflow-rl landscape --policy universal --units hosts --sample 500
workflow-rl landscape --executor ray --ray-address auto --parallel-workflows 120
workflow-rl landscape --resume logs/exp_20260101_120000_4242"""
# Orders are compared after equal training: a training that ends as soon as it complies leaves
# orders that are easy to comply with after fewer updates.
_DEFAULTS: Final = TrainConfig(stop_at="budget")
_REPLAYS: Final = 50
_FIXED: Final = (
    "n_workflows",
    "strategy",
    "polish",
    "polish_updates",
    "total_episodes",
    "ordered_results",
)


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "landscape",
        "train all orders, 120 of the five types, for several seeds: how much the order matters, "
        "the true ranking, and how well strategies search it",
        _EXAMPLES,
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="trainings of each order, each with a base policy of its own; the first is --seed "
        "(default: 3)",
    )
    parser.add_argument(
        "--replays",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="searches of each strategy on the finished landscape, or of a sample by playing; 0 "
        "leaves them out (default: 50; of a sample 0)",
    )
    add_played_flags(parser)
    add_resume(
        parser,
        "DIR",
        "go on with an interrupted landscape, or analyse a finished one again (default: a new one)",
    )
    add_experiment_flags(parser, search=True, without=_FIXED, train=_DEFAULTS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, analyses, prints the tables and writes figures and data."""
    replays = getattr(args, "replays", None)
    whole_number("--replays", 0 if replays is None else replays, 0, 100_000)
    refuse_played_flags(args)
    if "policy" in args:
        if "resume" in args:
            raise InvalidInputError("with --policy nothing is trained, so nothing is resumed")
        return run_played(args, _config(args), getattr(args, "seeds", 3), replays)
    replays = _REPLAYS if replays is None else replays
    # Imported here: the networks and the Gaussian process take seconds that no other command needs.
    from workflow_rl.cli.progress import LandscapeProgress
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.landscape.run import PURPOSE, open_landscape, stored_seeds

    resume: Path | None = getattr(args, "resume", None)
    seeds: int = getattr(args, "seeds", 3)
    config = None
    if resume is not None:
        refuse_other_settings(args, stored_config(resume, PURPOSE))
        if getattr(args, "seeds", None) not in (None, len(stored_seeds(resume))):
            refuse_flags(["--seeds"])
    else:
        config = _config(args)
    console = make_console()
    with open_landscape(
        config,
        seeds,
        checkpoint_dir=Path(args.checkpoint_dir),
        resume=resume,
        execution=execution_of(args),
    ) as landscape:
        path, config = landscape.directory.path, landscape.config
        with resume_hint(console, "landscape", path):
            print_whole(
                console,
                f"red {config.game.red_agent}, rules {config.game.rules}, seeds "
                f"{', '.join(map(str, landscape.seeds))}, trainings end at "
                f"{config.train.stop_at}; directory {path}",
            )
            with LandscapeProgress(console, config, len(landscape.seeds)) as progress:
                for seed, event in landscape.events():
                    progress.show(seed, event, landscape.done)
            tell_landscape(console, landscape.directory, landscape.table(), replays)
    return 0


def _config(args: argparse.Namespace) -> ExperimentConfig:
    config = experiment_config(args)
    if "stop_at" not in given_settings(args, "train"):
        config = replace(config, train=replace(config.train, stop_at=_DEFAULTS.stop_at))
    if not config.train.conditioned:
        raise InvalidInputError("the preset original trains without a workflow: choose another")
    return config
