"""`workflow-rl select`: the best of the policies saved during trainings."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import GAME, Commands, add_command, add_network, add_setting
from workflow_rl.cli.console import Bars, make_console, print_whole, unbroken
from workflow_rl.config import whole_number
from workflow_rl.files import refuse_links_out_of

_EXAMPLES = """workflow-rl select logs/exp_20260101_120000_4242
workflow-rl select logs/exp_A logs/exp_B --last 50 --red-agent meander"""
_SHOWN = 5


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "select",
        "choose the best of the policies saved during trainings, on held-out games",
        _EXAMPLES,
    )
    parser.add_argument(
        "directories", type=Path, nargs="+", metavar="RUN", help="run directory of a training"
    )
    length = GAME["episode_length"]
    names = (*length.flags, "--steps")
    add_setting(parser, length, dest="steps", names=names, default="that of the training")
    parser.add_argument(
        "--episodes",
        type=int,
        default=6_400,
        metavar="N",
        help="held-out episodes of the last round",
    )
    add_setting(parser, GAME["red_agent"], default="as in training")
    add_setting(parser, GAME["rules"], default="that of the training")
    add_setting(parser, GAME["green_agent"], default="that of the training")
    add_network(parser, "that of the training")
    parser.add_argument(
        "--last", type=int, default=0, metavar="N", help="only the last N of each run; 0 for all"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays rounds, shows the best and puts the winner into its run."""
    from workflow_rl.agents.policy import load_policy
    from workflow_rl.evaluation.selection import Games, Ranking, select, snapshots_of

    console = make_console()
    last = whole_number("last", args.last, 0, 10**9)
    same = ("red_agent", "rules", "green_agent", "network")
    flags = {"steps": "episode_length"} | {name: name for name in same}
    given = {field: getattr(args, flag) for flag, field in flags.items() if flag in args}
    changes = {name: GAME[name].check(value) for name, value in given.items()}
    for directory in args.directories:
        refuse_links_out_of(directory)
    paths = [path for directory in args.directories for path in snapshots_of(directory)[-last:]]
    console.print(f"{len(paths)} saved policies")
    with Bars(console) as bars:
        for event in select(paths, changes, episodes=args.episodes):
            if isinstance(event, Games):
                bars.begin(event.purpose, event.total)
                bars.move(event.purpose, event.done, "games played")
    assert isinstance(event, Ranking)  # the last event
    for place, candidate in enumerate(event.candidates[:_SHOWN], 1):
        result = candidate.result
        complied = (
            f", compliance {result.compliance.mean:.3f}" if result.compliance.mean >= 0 else ""
        )
        print_whole(
            console,
            f"{place}. {candidate.path.stem}: reward {result.reward.mean:.2f}{complied} "
            f"({result.games} episodes)",
        )
    best = event.candidates[0].path
    home = next(d for d in args.directories if d in best.parents)
    chosen = home / "policies" / "selected.safetensors"
    load_policy(best).save(chosen)
    print_whole(console, f"selected: {unbroken(chosen)}")
    return 0
