"""`workflow-rl bench soak`: environments in worker processes for as long as asked."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import GAME, Commands, add_command, add_setting
from workflow_rl.cli.measuring import add_red_agent, measure_and_show, one_red_agent
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.files import named_output

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.bench.soak import SoakReport

_EXAMPLES = """workflow-rl bench soak --minutes 10
workflow-rl bench soak --minutes 60 --n-envs 20000 --red-agent meander"""


def add_to(subjects: Commands) -> None:
    """Adds the subject."""
    parser = add_command(
        subjects,
        "soak",
        "step environments in worker processes for minutes: memory, wrong rows, dead workers",
        _EXAMPLES,
    )
    parser.add_argument(
        "--minutes", type=float, default=10.0, metavar="X", help="how long to go on"
    )
    parser.add_argument("--n-envs", type=int, default=1_000, metavar="N", help="environments")
    add_red_agent(parser)
    add_setting(parser, GAME["rules"])
    parser.add_argument(
        "--json",
        type=Path,
        default=None,
        metavar="FILE",
        help="where the figures go (default: logs/bench_soak_<time>.json)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Soaks, shows what was found, and fails if a row was wrong."""
    if not 0 < args.minutes <= 10_000:
        raise InvalidInputError(f"--minutes must be above 0, to 10000, not {args.minutes}")
    number = whole_number("--n-envs", args.n_envs, 1, 1_000_000)
    config = GameConfig(red_agent=args.red_agent, rules=args.rules)
    one_red_agent(config, "soak")
    name = time.strftime("bench_soak_%Y%m%d_%H%M%S.json")
    path = named_output(args.json) if args.json else Path("logs") / name
    with explain_missing("bench soak"):
        from workflow_rl.bench.soak import soak
    wrong: list[int] = []

    def show(console: "Console", report: "SoakReport") -> None:
        wrong.append(report.wrong_rows)
        print_soak(console, report)

    measure_and_show(path, lambda tell: soak(config, 60 * args.minutes, number, tell), show)
    return int(any(wrong))


def print_soak(console: "Console", report: "SoakReport") -> None:
    """Prints what a soak found."""
    first, last = report.looks[0].memory_bytes / 1e6, report.looks[-1].memory_bytes / 1e6
    console.print(
        f"{report.steps:,} steps of {report.environments:,} environments in {report.workers} "
        f"workers, {report.seconds:.0f} s: {report.steps / report.seconds:,.0f} steps/s"
    )
    console.print(
        f"memory {first:,.0f} MB at first, {last:,.0f} MB at the end, {report.growth:.3f} of what "
        "it was after a third"
    )
    console.print(
        f"{report.wrong_rows} of {report.compared_rows:,} compared rows wrong, "
        f"{report.restarts} workers restarted"
    )
