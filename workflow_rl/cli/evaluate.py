"""`workflow-rl evaluate`: the challenge's evaluation of a policy or a baseline."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import (
    BACKEND,
    GAME,
    SEED,
    Commands,
    add_command,
    add_setting,
    add_workflow,
)
from workflow_rl.cli.console import make_console, print_whole, titled_table
from workflow_rl.config import RED_AGENTS
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.agents import BlueAgent
    from workflow_rl.evaluation.protocol import EvaluationSettings
    from workflow_rl.evaluation.results import Evaluation

_OFFICIAL_STEPS = "30,50,100"
_WIDE = 125  # columns that the leaderboard with all cells needs
_AGENT_WIDTH = 28
_EXAMPLES = """workflow-rl evaluate logs/exp_20260101_120000_4242
workflow-rl evaluate react-restore --rules competition --episodes 20000
workflow-rl evaluate best --rules competition
workflow-rl evaluate greedy --workflow "enterprise > op_server > op_host > user > defender"
workflow-rl evaluate policy.safetensors --sampled --steps 100 --red-agent bline,meander
workflow-rl evaluate bline=one.safetensors,meander=other.safetensors --rules competition"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "evaluate",
        "evaluate a policy or a baseline by the challenge's protocol, beside the leaderboard",
        _EXAMPLES,
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a run directory, a policy file, an SB3 PPO model (.zip), bline=PATH,meander=PATH (a "
        "policy for each red agent), or a baseline: sleep, random, react-restore, greedy, "
        "best (one policy for all attackers, with a memory), cardiff (the winner's method, trained "
        "here), ppo (145 actions, no workflow), universal (follows the --workflow it is told)",
    )
    _add_game(parser)
    _add_files(parser)
    parser.set_defaults(run=run)


def _add_game(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of what is played, and how."""
    add_setting(parser, GAME["rules"])
    parser.add_argument(
        "--episodes", type=int, default=1_000, metavar="N", help="episodes of each cell"
    )
    parser.add_argument(
        "--episode-length",
        "--steps",
        dest="steps",
        default=_OFFICIAL_STEPS,
        metavar="N,N",
        help="lengths of episodes, in steps",
    )
    parser.add_argument(
        "--red-agent",
        default=",".join(RED_AGENTS),
        metavar="NAME,NAME",
        help=f"who attacks: {', '.join(RED_AGENTS)}, or mixed (drawn for each episode)",
    )
    add_workflow(parser)
    parser.add_argument(
        "--sampled",
        action="store_true",
        help="draw a policy's actions by their probability instead of taking the most probable",
    )
    add_setting(parser, SEED)
    add_setting(parser, BACKEND["name"], dest="backend")
    add_setting(parser, BACKEND["cyborg_path"])


def _add_files(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of what is written, and where."""
    parser.add_argument(
        "--output",
        type=Path,
        default=None,
        metavar="DIR",
        help="where the files go (default: evaluations/<name>_<rules>_<time>, inside a run's "
        "directory or here)",
    )
    parser.add_argument(
        "--listed-episodes",
        type=int,
        default=100,
        metavar="N",
        help="episodes of each cell whose actions the text file lists",
    )
    parser.add_argument("--author", default="", help="for the text file", metavar="NAME")
    parser.add_argument("--team", default="", help="for the text file", metavar="NAME")


def run(args: argparse.Namespace) -> int:
    """Plays all cells, shows them beside the leaderboard and writes both files."""
    steps = [_number("--steps", part) for part in args.steps.split(",")]
    red_agents = [part.strip() for part in args.red_agent.split(",")]
    # Imported here: no other command needs it.
    from workflow_rl.evaluation.files import (
        checked_directory,
        default_directory,
        write_evaluation,
    )
    from workflow_rl.evaluation.protocol import EvaluationSettings
    from workflow_rl.files import refuse_links_out_of

    if args.output is not None:
        checked_directory(args.output)
    elif Path(args.what).is_dir():
        refuse_links_out_of(Path(args.what))
    console = make_console()
    settings = EvaluationSettings(
        episodes=args.episodes,
        rules=args.rules,
        steps=steps,
        red_agents=red_agents,
        workflow=getattr(args, "workflow", None),
        units=getattr(args, "units", None),
        sampled=args.sampled,
        seed=args.seed,
        backend=args.backend,
        cyborg_path=args.cyborg_path,
        logged_episodes=args.listed_episodes,
    )
    evaluation = _evaluate(console, settings.agent(args.what), settings)
    directory = args.output or default_directory(args.what, evaluation.agent, args.rules)
    paths = write_evaluation(evaluation, directory, author=args.author, team=args.team)
    print_evaluation(console, evaluation)
    print_whole(console, "written: " + ", ".join(map(str, paths)))
    return 0


def _number(flag: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"{flag} must be whole numbers with commas between them, not {text!r}"
        ) from None


def _evaluate(
    console: "Console", agent: "BlueAgent", settings: "EvaluationSettings"
) -> "Evaluation":
    """Plays all cells behind a bar of episodes."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from workflow_rl.evaluation.playing import EpisodesPlayed
    from workflow_rl.evaluation.protocol import evaluation_events
    from workflow_rl.evaluation.results import Evaluation

    with Progress(
        TextColumn("episodes"),
        BarColumn(bar_width=30),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        cells = len(settings.steps) * len(settings.red_agents)
        task = bar.add_task("", total=settings.episodes * cells)
        for event in evaluation_events(agent, settings):
            if isinstance(event, EpisodesPlayed):
                bar.advance(task, event.number)
    assert isinstance(event, Evaluation)  # the last event
    return event


def print_evaluation(console: "Console", evaluation: "Evaluation") -> None:
    """Prints the cells, the total, and the leaderboard."""
    from workflow_rl.config import VIEWS

    choice = "sampled" if evaluation.is_sampled else "deterministic"
    table = titled_table(
        f"{evaluation.agent}: rules {evaluation.rules}, {evaluation.backend}, {choice}, "
        f"{evaluation.episodes:,} episodes a cell, seed {evaluation.seed}"
    )
    views = VIEWS if evaluation.order is not None else ()
    headings = ("mean", "sd", "95 % interval", *(f"compliance, {view}" for view in views))
    table.add_column("steps", justify="right")
    table.add_column("red")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in evaluation.cells:
        width = cell.estimate.half_width
        rates = [cell.mean_compliance(view) for view in views]
        table.add_row(
            str(cell.steps),
            cell.red_agent,
            f"{cell.mean:.2f}",
            f"{cell.sd:.2f}",
            f"{cell.mean - width:.2f} to {cell.mean + width:.2f}",
            *("-" if rate is None else f"{rate:.3f}" for rate in rates),
        )
    console.print(table)
    what = "score, the sum" if evaluation.is_official else "sum"
    console.print(
        f"{what} of the {len(evaluation.cells)} means: {evaluation.total} (95 %); "
        f"{evaluation.seconds:.1f} s"
    )
    if evaluation.order is not None:
        console.print(f"compliance by: {evaluation.order}", soft_wrap=True)
        if evaluation.order.units.kind != "types":
            console.print(f"units: {evaluation.order.units}", soft_wrap=True)
    if evaluation.is_official:
        _print_leaderboard(console, evaluation)


def _print_leaderboard(console: "Console", evaluation: "Evaluation") -> None:
    from workflow_rl.evaluation.leaderboard import LEADERBOARD, LEADERBOARD_SOURCE, RERUN
    from workflow_rl.evaluation.results import OFFICIAL_STEPS

    cells = [f"{n}\n{red}" for n in OFFICIAL_STEPS for red in RED_AGENTS]
    if console.width < _WIDE:
        cells = []
    table = titled_table("beside the published scores; those of different rules are not comparable")
    table.add_column("\nagent", no_wrap=True, max_width=_AGENT_WIDTH)
    for heading in ("\ntotal", *cells):
        table.add_column(heading, justify="right", no_wrap=True)

    def add(name: str, total: str, means: Iterable[float], style: str = "") -> None:
        shown = [f"{mean:.2f}" for mean in means] if cells else []
        table.add_row(name, total, *shown, style=style)

    table.add_row(f"rules {evaluation.rules}:")
    means = [cell.mean for cell in evaluation.cells]
    add(f"   {evaluation.agent}", str(evaluation.total), means, "bold")
    if evaluation.rules != RERUN.rules:
        table.add_row(f"rules {RERUN.rules}:")
    add(f"   {RERUN.team}", f"{RERUN.total:.2f}       ", RERUN.cells)
    table.add_row(f"rules {LEADERBOARD[0].rules}:")
    for rank, row in enumerate(LEADERBOARD, 1):
        total = f"{row.total:.2f} ± {row.half_width:.2f}"
        add(f"{rank:2} {row.team}: {row.method}", total, row.cells)
    console.print(table)
    console.print(
        f"{LEADERBOARD[0].rules}: {LEADERBOARD_SOURCE}; {RERUN.team}: {RERUN.source}",
        soft_wrap=True,
    )
