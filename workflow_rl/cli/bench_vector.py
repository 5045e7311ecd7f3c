"""`workflow-rl bench vector`: what it costs to step Python environments in other processes."""

import argparse
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import Commands, add_command
from workflow_rl.cli.measuring import (
    add_measuring_flags,
    checked,
    measure_and_show,
    numbers_of,
    parts_of,
    print_ratios,
)
from workflow_rl.config import GameConfig, one_of, whole_number

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.bench import vector

_MAX_SIZE = 100_000


def add_to(subjects: Commands) -> None:
    """Adds what can be measured of vector environments."""
    parser = add_command(
        subjects,
        "vector",
        "measure environments in worker processes beside Gymnasium's and Stable-Baselines3's",
        "workflow-rl bench vector\n"
        "workflow-rl bench vector --work zero --envs 200 --contenders sync,gym-pipes\n"
        "PYTHONPATH=/path/to/CybORG workflow-rl bench vector --work cyborg --envs 25,200",
    )
    add_measuring_flags(parser, "vector", seconds=1.0)
    parser.add_argument(
        "--envs", default="25,200,500", metavar="N,...", help="numbers of environments"
    )
    parser.add_argument(
        "--work",
        default="zero,cyborg",
        metavar="NAME,...",
        help="zero (environments that do nothing), cyborg (the real one, where importable)",
    )
    parser.add_argument(
        "--contenders",
        default="single,apart,serial,sync,async,gym-pipes,gym-shared,sb3",
        metavar="NAME,...",
        help="single (one environment) and serial (all of them) in one process; apart (as "
        "many processes as ours has workers, with their share of environments, exchanging "
        "nothing); ours by step (sync) or by send and recv (async); with a process for each "
        "environment gym-pipes, gym-shared, sb3",
    )
    parser.add_argument(
        "--process-limit",
        type=int,
        default=200,
        metavar="N",
        help="of CybORG, which takes seconds and megabytes per process, start no contender with "
        "more processes",
    )
    parser.add_argument(
        "--workers", type=int, default=None, metavar="N", help="processes of ours (all cores)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measures, prints the tables and writes the figures."""
    config = GameConfig(red_agent=args.red_agent)
    path = checked(args, config)
    from workflow_rl.bench import vector  # it needs gymnasium, which `--help` does without
    from workflow_rl.bench.vector_contenders import LABELS, WORKS

    sizes = numbers_of("--envs", args.envs, 1, _MAX_SIZE)
    if args.workers is not None:
        whole_number("--workers", args.workers, 1, _MAX_SIZE)
    plan = vector.VectorPlan(
        works=[one_of("--work", name, WORKS) for name in parts_of(args.work)],
        contenders=[one_of("--contenders", n, tuple(LABELS)) for n in parts_of(args.contenders)],
        sizes=sizes,
        process_limit=whole_number("--process-limit", args.process_limit, 0, _MAX_SIZE),
        workers=args.workers,
        repeats=args.repeats,
        seconds=args.seconds,
        load=args.load,
    )
    return measure_and_show(path, lambda progress: vector.run(config, plan, progress), print_vector)


def print_vector(console: "Console", report: "vector.VectorReport") -> None:
    """Prints a table for each work, and the ratios."""
    from rich.table import Table

    machine = report.machine
    beside = f"; {report.load} busy processes beside it" if report.load else ""
    load = machine["load_average"]
    before = f"; load average {load[0]:.2f} before it" if load else ""
    console.print(
        f"{machine['cores']} cores, {machine['processor']}; medians of "
        f"{report.settings['repeat_count']}{beside}{before}"
    )
    for work in dict.fromkeys(row.work for row in report.rows):
        title = "environments that do nothing"
        if work != "zero":
            title = f"CybORG, red {report.config.red_agent}, resets included"
        table = Table(title=title)
        table.add_column("what", no_wrap=True)
        for heading in (
            "envs",
            "processes",
            "steps/s",
            "cores busy",
            "CPU µs/step",
            "MB",
            "start",
        ):
            table.add_column(heading, justify="right")
        for row in report.rows:
            if row.work == work:
                memory = row.memory_bytes
                table.add_row(
                    row.contender,
                    f"{row.num_envs:,}",
                    f"{row.processes:,}",
                    f"{row.rate.median:,.0f}",
                    f"{row.cpu_cores:.2f}",
                    f"{row.cpu_microseconds:,.1f}",
                    "-" if memory is None else f"{memory / 1e6:,.0f}",
                    f"{row.start_seconds:.2f} s",
                )
        console.print(table)
    for name, label in {row.contender: row.label for row in report.rows}.items():
        console.print(f"{name}: {label}", soft_wrap=True)
    console.print("MB: proportional set sizes of all processes of a row, shared pages counted once")
    print_ratios(console, report.ratios)
    for reason in report.skipped:
        console.print(f"not measured: {reason}")
