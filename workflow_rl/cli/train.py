"""`workflow-rl train`: train the policy of one workflow."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import Commands, add_command, add_flag, given_settings
from workflow_rl.cli.console import Bars, make_console, print_whole, unbroken
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    add_resume,
    experiment_config,
    plan_of,
    refuse_flags,
    refuse_no_workflow,
    refuse_other_settings,
    resume_hint,
)
from workflow_rl.config import ExperimentConfig

if TYPE_CHECKING:
    from rich.console import Console

_BAR = "updates"
_EXAMPLES = """workflow-rl train --workflow op_server,enterprise,op_host,user,defender
workflow-rl train --preset strongest --rules competition
workflow-rl train --workflow "jewels > rest" --units units.toml
workflow-rl train --units any --ppo modern --order-encoding ranks+due
workflow-rl train --preset original --red-agent meander
workflow-rl train --preset robust
workflow-rl train --side red --against best
workflow-rl train --resume logs/exp_20260101_120000_4242"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "train", "train the policy of one workflow", _EXAMPLES)
    text = "the order to follow"
    add_flag(parser, "--workflow", text, "none, the policy learns all orders", metavar="ORDER")
    add_experiment_flags(parser, search=False, population=True)
    add_resume(parser, "RUN", "resume an interrupted training with its own settings")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, shows how it went and says where the policy is."""
    resume: Path | None = getattr(args, "resume", None)
    config, workflow = None, getattr(args, "workflow", None)
    is_red = given_settings(args, "train").get("side") == "red"
    if is_red and not {"preset", "config"} & set(vars(args)):
        args.preset = "best-response"
    if resume is None:
        config = experiment_config(args)
        planned = plan_of(args, "train", "workflow").get("workflow")
        workflow = planned if workflow is None else workflow
        if workflow is not None:
            refuse_no_workflow(config, "leave out --workflow")
    # Imported here: the networks take seconds that no other command needs.
    from workflow_rl.cli.progress import SearchProgress, print_start, print_training
    from workflow_rl.evaluation.selection import Candidate, Ranking
    from workflow_rl.runs.store import stored_config
    from workflow_rl.runs.train import PURPOSE, open_training, order_to_train, stored_order

    if resume is not None:
        begun = stored_config(resume, PURPOSE)
        refuse_other_settings(args, begun)
        if workflow is not None and order_to_train(begun, workflow) != stored_order(resume, begun):
            refuse_flags(["--workflow"])
        config = begun
    assert config is not None
    console = make_console()
    if config.population.rounds:
        return _run_robust(console, config, args.checkpoint_dir, resume)
    with open_training(
        None if resume else config, workflow, checkpoint_dir=args.checkpoint_dir, resume=resume
    ) as training:
        directory = training.directory
        with resume_hint(console, "train", directory.path):
            print_start(console, directory)
            with SearchProgress(console, directory.config) as progress:
                for event in training.events():
                    if not isinstance(event, Candidate | Ranking):
                        progress.show(event)
            print_training(console, training)
    return 0


def _run_robust(
    console: "Console", config: ExperimentConfig, checkpoint_dir: Path, resume: Path | None
) -> int:
    """Trains a defender against a population, and shows each round."""
    from workflow_rl.cli.progress import print_start, show_task
    from workflow_rl.nets.policy_file import RECOMMENDED_FILE
    from workflow_rl.runs.pool import Rows
    from workflow_rl.runs.robust import Round, open_robust

    with open_robust(
        None if resume else config, checkpoint_dir=checkpoint_dir, resume=resume
    ) as robust:
        path = robust.directory.path
        with resume_hint(console, "train", path):
            print_start(console, robust.directory)
            done = 0
            with Bars(console) as bars:
                bars.begin(_BAR, robust.updates)
                for event in robust.events():
                    if isinstance(event, Round):
                        print_whole(console, f"round {event.number}: {event}")
                    else:
                        done += len(event.rows) if isinstance(event, Rows) else 0
                        show_task(bars, _BAR, event, done)
    print_whole(console, f"policy: {RECOMMENDED_FILE} in {unbroken(path)}")
    return 0
