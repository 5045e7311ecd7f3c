"""`workflow-rl select`: the best of the policies that trainings kept."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import GAME, Commands, add_command, add_setting
from workflow_rl.cli.console import make_console, print_whole
from workflow_rl.config import RED_AGENTS, RULE_SETS, one_of, red_agent_name, whole_number
from workflow_rl.files import refuse_links_out_of

_EXAMPLES = """workflow-rl train --preset original --red-agent meander
workflow-rl select logs/train_20260101_120000_4242
workflow-rl evaluate logs/train_20260101_120000_4242/policies/selected.safetensors"""
_SHOWN = 5


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "select",
        "choose the best of the policies that trainings kept, by games of their own",
        _EXAMPLES,
    )
    parser.add_argument(
        "directories", type=Path, nargs="+", metavar="RUN", help="run directory of a training"
    )
    length = GAME["episode_length"]
    add_setting(parser, length, dest="steps", names=(*length.setting.flags, "--steps"))
    parser.add_argument(
        "--episodes", type=int, default=6_400, metavar="N", help="episodes of the last round"
    )
    add_setting(parser, GAME["red_agent"], default="whom the policies were trained against")
    add_setting(parser, GAME["rules"], default="that of the training")
    parser.add_argument(
        "--last", type=int, default=0, metavar="N", help="only the last N of each run; 0 for all"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays rounds, shows the best and puts the winner into its run."""
    from rich.progress import Progress

    from workflow_rl.agents.policy import load_policy
    from workflow_rl.evaluation.selection import Ranking, select, snapshots_of

    steps = whole_number("steps", args.steps, 1, 10**6)
    last = whole_number("last", args.last, 0, 10**9)
    red = red_agent_name(args.red_agent) if "red_agent" in args else None
    if red is not None:
        one_of("red agent", red, RED_AGENTS)
    rules = one_of("rule set", args.rules, RULE_SETS) if "rules" in args else None
    for directory in args.directories:
        refuse_links_out_of(directory)
    paths = [path for directory in args.directories for path in snapshots_of(directory)[-last:]]
    console = make_console()
    console.print(f"{len(paths)} kept policies")
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("playing", total=None)
        for event in select(paths, steps=steps, red_agent=red, rules=rules, episodes=args.episodes):
            if not isinstance(event, Ranking):
                progress.advance(task)
    assert isinstance(event, Ranking)  # the last event
    for place, candidate in enumerate(event.candidates[:_SHOWN], 1):
        complied = f", compliance {candidate.compliance:.3f}" if candidate.compliance >= 0 else ""
        print_whole(
            console,
            f"{place}. {candidate.path.stem}: reward {candidate.env_reward:.2f}{complied} "
            f"({candidate.episodes} episodes)",
        )
    best = event.candidates[0].path
    home = next(d for d in args.directories if d in best.parents)
    chosen = home / "policies" / "selected.safetensors"
    load_policy(best).save(chosen)
    print_whole(console, f"selected: {chosen}")
    return 0
