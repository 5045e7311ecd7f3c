"""`workflow-rl train`: train the policy of one workflow."""

import argparse
import sys
from contextlib import closing
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command
from workflow_rl.cli.console import make_console, print_whole
from workflow_rl.cli.experiment import add_experiment_flags, experiment_config
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Estimate

_EXAMPLES = """workflow-rl train --workflow "op_server > enterprise > op_host > user > defender"
workflow-rl train --workflow "enterprise, op_server, op_host, user, defender" --max-episodes 500
workflow-rl train --units any --ppo modern --order-encoding ranks+due
workflow-rl train --preset original --red-agent meander
workflow-rl train --preset strongest --rules competition"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "train", "train the policy of one workflow", _EXAMPLES)
    parser.add_argument(
        "--workflow",
        default=argparse.SUPPRESS,
        metavar="ORDER",
        help="the order to follow (default: none, the policy learns all orders)",
    )
    add_experiment_flags(parser, search=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, shows how it went and says where the policy is."""
    config = experiment_config(args)
    if "workflow" in args and not config.train.conditioned:
        raise InvalidInputError(f"the preset {args.preset} trains without a workflow")
    from workflow_rl.cli.outcome import print_start
    from workflow_rl.cli.progress import SearchProgress
    from workflow_rl.evaluation.selection import Candidate, Ranking
    from workflow_rl.runs.pool import Done
    from workflow_rl.runs.store import RECOMMENDED, RunDirectory
    from workflow_rl.runs.train import order_to_train, train_events, workflow_named

    order = order_to_train(config, getattr(args, "workflow", None))

    directory = RunDirectory.create(Path(args.checkpoint_dir), config, sys.argv, "train")
    console = make_console()
    ranking: Ranking | None = None
    with closing(directory):
        print_start(console, directory)
        with SearchProgress(console, config) as progress:
            for event in train_events(directory, order):
                if isinstance(event, Done):
                    result = event.result
                if isinstance(event, Ranking):
                    ranking = event
                elif not isinstance(event, Candidate):
                    progress.show(event)
        console.print(
            f"{workflow_named(config, order)}: reward of the last "
            f"episodes {Estimate.from_error(result.env_reward, result.env_reward_error)} (95 %), "
            "compliance "
            f"{result.compliance:.3f} (true {result.compliance_true:.3f}), "
            f"{result.updates} updates, {result.stopped}"
        )
        best = f"reward {result.best_env_reward:.2f}, compliance {result.best_compliance:.3f}"
        if ranking is not None:
            chosen = ranking.candidates[0]
            best = (
                f"the best of those kept, reward {chosen.env_reward:.2f} in {chosen.episodes} games"
            )
        print_whole(console, f"best policy: {best}: {directory.policy(RECOMMENDED)}")
    return 0
