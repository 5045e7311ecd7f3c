"""`workflow-rl bench`: measure, on this machine, in one run."""

import argparse
import json
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from workflow_rl.bench import sim
from workflow_rl.cli.arguments import (
    Commands,
    add_command,
    add_observation,
    add_red_agent,
    add_rules,
)
from workflow_rl.config import MIXED, GameConfig, whole_number
from workflow_rl.errors import InvalidInputError


def add_to(commands: Commands) -> None:
    """Adds the command and what can be measured."""
    parser = commands.add_parser("bench", help="measure speed on this machine")
    subjects = parser.add_subparsers(dest="subject", metavar="WHAT", required=True)
    _add_sim(subjects)


def _add_sim(subjects: Commands) -> None:
    parser = add_command(
        subjects,
        "sim",
        "measure the simulator beside a memory copy and, where importable, CybORG and mini_CAGE",
        "workflow-rl bench sim\n"
        "workflow-rl bench sim --red-agent meander --repeats 9\n"
        "PYTHONPATH=/path/to/CybORG:/path/to/CybORG_plus_plus workflow-rl bench sim",
    )
    add_red_agent(parser)
    add_rules(parser)
    add_observation(parser)
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="rounds; the median is shown"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.2, metavar="S", help="seconds of each row in each round"
    )
    parser.add_argument(
        "--load", type=int, default=0, metavar="N", help="busy processes to run beside it"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=None,
        metavar="FILE",
        help="where the figures go (default: logs/bench_sim_<time>.json)",
    )
    parser.set_defaults(run=run_sim)


def run_sim(args: argparse.Namespace) -> int:
    """Measures, prints the table and writes the figures."""
    config = GameConfig(red_agent=args.red_agent, rules=args.rules, observation=args.observation)
    if config.red_agent == MIXED:
        raise InvalidInputError("the benchmark needs one red agent: bline, meander or sleep")
    whole_number("--repeats", args.repeats, 1, 1_000)
    whole_number("--load", args.load, 0, 1_000)
    if not 0.01 <= args.seconds <= 60:
        raise InvalidInputError(f"--seconds must be from 0.01 to 60, not {args.seconds}")
    path = args.json or Path("logs") / time.strftime("bench_sim_%Y%m%d_%H%M%S.json")
    if path.is_dir():
        raise InvalidInputError(f"--json must name a file; {path} is a folder")
    console = Console()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task("preparing", total=None)
        report = sim.run(
            config,
            repeats=args.repeats,
            seconds=args.seconds,
            load=args.load,
            progress=lambda name: bar.update(task, description=f"measuring {name}"),
        )
        bar.update(task, description="measured", total=1, completed=1)
    print_report(console, report)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"the figures cannot be written: {error}") from error
    console.print(f"figures: {path}")
    return 0


def print_report(console: Console, report: sim.Report) -> None:
    """Prints the table with its ratios."""
    machine = report.machine
    beside = f"; {report.load} busy processes beside it" if report.load else ""
    table = Table(
        title=f"red {report.config.red_agent}, rules {report.config.rules}; "
        f"{machine['cores']} cores, {machine['processor']}; "
        f"medians of {report.settings['repeat_count']}{beside}"
    )
    table.add_column("what")
    for heading in ("steps/s", "ns/step", "x CybORG"):
        table.add_column(heading, justify="right")
    cyborg = next((row.rate.median for row in report.rows if row.name == "CybORG"), None)
    for row in report.rows:
        rate = row.rate.median
        ratio = f"{rate / cyborg:,.0f}" if cyborg else "-"
        table.add_row(row.label, f"{rate:,.0f}", f"{1e9 / rate:,.1f}", ratio)
    console.print(table)
    ratios = Table(title="ratios of this run")
    for heading in ("ratio", "measured", "aim", ""):
        ratios.add_column(heading)
    for measured in report.ratios:
        ratios.add_row(
            measured.name,
            f"{measured.value:,.2f}x",
            measured.target,
            "met" if measured.met else "missed",
        )
    console.print(ratios)
    console.print(
        f"memory: {report.bytes_per_env} bytes per environment (aim: under 1,024); "
        f"first step without a compile cache: {report.cold_start_seconds:.1f} s (aim: under 30); "
        f"import and reset with it: {report.warm_reset_seconds:.2f} s (aim: under 2)"
    )
    for reason in report.skipped:
        console.print(f"not measured: {reason}")
