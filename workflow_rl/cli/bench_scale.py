"""`workflow-rl bench scale`: what a search gains by workers, and what its driver costs."""

import argparse
from typing import TYPE_CHECKING, Final

from workflow_rl.cli.arguments import Commands, add_command
from workflow_rl.cli.measuring import (
    add_measuring_flags,
    checked,
    measure_and_show,
    numbers_of,
    parts_of,
    print_ratios,
)
from workflow_rl.config import ExecutorName, GameConfig, one_of, whole_number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from workflow_rl.bench import scale

_EXECUTORS: Final[tuple[ExecutorName, ...]] = ("processes", "ray")
_MOST = 100_000


def add_to(subjects: Commands) -> None:
    """Adds what can be measured of a search with many workers."""
    parser = add_command(
        subjects,
        "scale",
        "measure a whole search with 1 and 2 workers, the driver's time for tiny workflows on a "
        "simulated Ray cluster, and the Gaussian process; forecast larger clusters from that",
        "workflow-rl bench scale\n"
        "workflow-rl bench scale --executors processes --nodes 0\n"
        "workflow-rl bench scale --nodes 8,16,32 --tiny 1000 --repeats 5",
    )
    add_measuring_flags(parser, "scale", seconds=0.5, cyborg=False)
    parser.add_argument(
        "--executors",
        default=",".join(_EXECUTORS),
        metavar="NAME,...",
        help="whose whole searches are measured: processes, ray",
    )
    parser.add_argument(
        "--workflows", type=int, default=12, metavar="N", help="workflows of a whole search"
    )
    parser.add_argument(
        "--updates",
        type=int,
        default=50,
        metavar="N",
        help="updates of each; the base policy has twice as many",
    )
    parser.add_argument(
        "--envs", type=int, default=200, metavar="N", help="environments of each training"
    )
    parser.add_argument(
        "--nodes",
        default="8,16",
        metavar="N,...",
        help="nodes of simulated clusters with tiny workflows; 0 leaves them out",
    )
    parser.add_argument(
        "--tiny", type=int, default=200, metavar="N", help="tiny workflows on each of them"
    )
    parser.add_argument(
        "--observations",
        default="20,120,1000",
        metavar="N,...",
        help="observations that the Gaussian process is fitted to",
    )
    parser.set_defaults(run=run, repeats=3)


def run(args: argparse.Namespace) -> int:
    """Measures, prints the tables and writes the figures."""
    config = GameConfig(red_agent=args.red_agent)
    path = checked(args, config)
    executors = [one_of("--executors", name, _EXECUTORS) for name in parts_of(args.executors)]
    for flag in ("workflows", "updates", "envs", "tiny"):
        whole_number(f"--{flag}", getattr(args, flag), 1, _MOST)
    nodes = [number for number in numbers_of("--nodes", args.nodes, 0, 1_000) if number]
    observations = numbers_of("--observations", args.observations, 2, 10_000)
    from workflow_rl.bench import scale  # it needs the networks, which `--help` does without
    from workflow_rl.bench.scale_runs import ScalePlan

    plan = ScalePlan(
        executors=executors,
        workflows=args.workflows,
        updates=args.updates,
        envs=args.envs,
        nodes=nodes,
        tiny=args.tiny,
        observations=observations,
        repeats=args.repeats,
        seconds=args.seconds,
        load=args.load,
    )
    return measure_and_show(path, lambda progress: scale.run(config, plan, progress), print_scale)


def print_scale(console: "Console", report: "scale.ScaleReport") -> None:
    """Prints a table for each thing measured, and the forecast."""
    machine, plan = report.machine, report.plan
    beside = f"; {plan.load} busy processes beside it" if plan.load else ""
    console.print(
        f"red {report.config.red_agent}; {machine['cores']} cores, {machine['processor']}; "
        f"medians of {plan.repeats}{beside}"
    )
    title = (
        f"a search of {plan.workflows} workflows with {plan.updates} updates of {plan.envs} "
        f"environments each, after {2 * plan.updates} of the base policy"
    )
    table = _table(title, "executor", "workers", "whole search", "workflows alone")
    for row in report.searches:
        rates = (f"{rate.median:,.0f} transitions/s" for rate in (row.whole, row.trials))
        table.add_row(row.executor, str(row.workers), *rates)
    console.print(table)
    print_ratios(console, report.ratios)
    if report.tiny:
        headings = ("nodes", "updates of each", "ms/workflow", "of the driver's processor time")
        table = _table(f"{plan.tiny} tiny workflows on a simulated cluster", *headings)
        for one in report.tiny:
            times = (f"{1e3 * seconds:.1f}" for seconds in (one.wall, one.driver))
            table.add_row(str(one.nodes), str(one.updates), *times)
        console.print(table)
    table = _table("the Gaussian process, ms", "observations", *report.gp)
    for number in plan.observations:
        cells = (f"{1e3 * found[number]:.1f}" for found in report.gp.values())
        table.add_row(f"{number:,}", *cells)
    console.print(table)
    if report.constants is not None:
        _print_forecast(console, report)
    for reason in report.skipped:
        console.print(f"not measured: {reason}")


def _print_forecast(console: "Console", report: "scale.ScaleReport") -> None:
    constants = report.constants
    assert constants is not None
    console.print(
        f"a workflow: {constants.training:.2f} s of a core; of the driver "
        f"{1e3 * constants.scheduling:.1f} ms, {1e3 * constants.row:.2f} ms for each of its "
        f"{constants.updates} updates, and its pick"
    )
    table = _table(
        f"forecast for nodes of {report.machine['cores']} cores like these",
        "strategy",
        "nodes",
        "trainings at a time",
        "driver ms/workflow",
        "it can feed",
        "workers busy",
        "workflows/hour",
        "first bottleneck",
    )
    for one in report.forecasts:
        table.add_row(
            one.strategy,
            f"{one.nodes:,}",
            f"{one.slots:,}",
            f"{1e3 * one.driver:,.0f}",
            f"{one.most_slots:,.0f}",
            f"{one.busy:.0%}",
            f"{one.workflows_per_hour:,.0f}",
            one.first,
        )
    console.print(table)


def _table(title: str, *headings: str) -> "Table":
    from rich.table import Table

    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    return table
