"""`workflow-rl bench`: measure, on this machine, in one run."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.bench import sim
from workflow_rl.cli import bench_belief, bench_scale, bench_soak, bench_vector
from workflow_rl.cli.arguments import GAME, Commands, add_command, add_setting
from workflow_rl.cli.measuring import (
    add_measuring_flags,
    checked,
    measure_and_show,
    print_ratios,
)
from workflow_rl.config import GameConfig, whole_number

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.bench import train


def add_to(commands: Commands) -> None:
    """Adds the command and what can be measured."""
    parser = commands.add_parser("bench", help="measure speed on this machine, and the belief")
    subjects = parser.add_subparsers(dest="subject", metavar="WHAT", required=True)
    _add_sim(subjects)
    _add_train(subjects)
    bench_vector.add_to(subjects)
    bench_scale.add_to(subjects)
    bench_belief.add_to(subjects)
    bench_soak.add_to(subjects)


def _add_sim(subjects: Commands) -> None:
    parser = add_command(
        subjects,
        "sim",
        "measure the simulator beside a memory copy and, where importable, CybORG and mini_CAGE",
        "workflow-rl bench sim\n"
        "workflow-rl bench sim --red-agent meander --repeats 9\n"
        "PYTHONPATH=/path/to/CybORG:/path/to/CybORG_plus_plus workflow-rl bench sim",
    )
    _add_flags(parser, "sim", seconds=0.2)
    parser.set_defaults(run=run_sim)


def _add_train(subjects: Commands) -> None:
    parser = add_command(
        subjects,
        "train",
        "measure training, on one thread, beside Stable-Baselines3 and, where importable, CybORG",
        "workflow-rl bench train\n"
        "workflow-rl bench train --red-agent meander --settle 300\n"
        "PYTHONPATH=/path/to/CybORG workflow-rl bench train",
    )
    _add_flags(parser, "train", seconds=0.5)
    parser.add_argument(
        "--settle",
        type=int,
        default=150,
        metavar="N",
        help="updates of training after which a policy counts as settled",
    )
    parser.set_defaults(run=run_train)


def _add_flags(parser: argparse.ArgumentParser, subject: str, seconds: float) -> None:
    add_measuring_flags(parser, subject, seconds)
    add_setting(parser, GAME["rules"])
    add_setting(parser, GAME["observation"])


def run_sim(args: argparse.Namespace) -> int:
    """Measures the simulator, prints the tables and writes the figures."""
    config, path = _checked(args)
    return measure_and_show(
        path,
        lambda progress: sim.run(
            config,
            repeats=args.repeats,
            seconds=args.seconds,
            load=args.load,
            progress=lambda name: progress(f"measuring {name}"),
        ),
        print_sim,
    )


def run_train(args: argparse.Namespace) -> int:
    """Measures training, prints the tables and writes the figures."""
    config, path = _checked(args)
    whole_number("--settle", args.settle, 0, 1_000_000)
    from workflow_rl.bench import train  # it needs torch, which the other commands do without

    return measure_and_show(
        path,
        lambda progress: train.run(
            config,
            repeats=args.repeats,
            seconds=args.seconds,
            settle=args.settle,
            load=args.load,
            progress=progress,
        ),
        print_train,
    )


def _checked(args: argparse.Namespace) -> tuple[GameConfig, Path]:
    config = GameConfig(red_agent=args.red_agent, rules=args.rules, observation=args.observation)
    return config, checked(args, config)


def _title(report: "sim.SimReport | train.TrainReport") -> str:
    machine = report.machine
    beside = f"; {report.load} busy processes beside it" if report.load else ""
    return (
        f"red {report.config.red_agent}, rules {report.config.rules}; "
        f"{machine['cores']} cores, {machine['processor']}; "
        f"medians of {report.settings['repeat_count']}{beside}"
    )


def print_sim(console: "Console", report: sim.SimReport) -> None:
    """Prints the simulator's table with its ratios."""
    from rich.table import Table

    table = Table(title=_title(report))
    table.add_column("what")
    for heading in ("steps/s", "ns/step", "x CybORG"):
        table.add_column(heading, justify="right")
    cyborg = next((row.rate.median for row in report.rows if row.name == "CybORG"), None)
    for row in report.rows:
        rate = row.rate.median
        ratio = f"{rate / cyborg:,.0f}" if cyborg else "-"
        table.add_row(row.label, f"{rate:,.0f}", f"{1e9 / rate:,.1f}", ratio)
    console.print(table)
    print_ratios(console, report.ratios)
    console.print(
        f"memory: {report.bytes_per_env} bytes per environment; "
        f"first step without a compile cache: {report.cold_start_seconds:.1f} s; "
        f"import and reset with it: {report.warm_reset_seconds:.2f} s"
    )
    for reason in report.skipped:
        console.print(f"not measured: {reason}")


def print_train(console: "Console", report: "train.TrainReport") -> None:
    """Prints training's tables: rates, phases, arithmetic and ratios."""
    from rich.table import Table

    from workflow_rl.bench.train import CYBORG, PEAK, PHASES, sb3_beside

    size = report.transitions
    table = Table(title=f"{_title(report)}; one thread")
    table.add_column("what")
    for heading in ("transitions/s", f"ms per {size:,}", "x SB3", "x CybORG"):
        table.add_column(heading, justify="right")
    for name, rate in report.rates.items():
        if name == PEAK:
            continue
        ratios = [
            f"{rate.median / report.rates[other].median:,.1f}" if other in report.rates else "-"
            for other in (sb3_beside(name), CYBORG)
        ]
        table.add_row(name, f"{rate.median:,.0f}", f"{1e3 * size / rate.median:,.1f}", *ratios)
    console.print(table)
    phases = Table(title=f"an update of {report.num_envs} environments, by phase")
    for heading in ("policy", *PHASES, "distinct inputs", "reward", "compliance"):
        phases.add_column(heading)
    for stage in report.stages:
        total = sum(stage.phase_seconds.values())
        phases.add_row(
            f"{stage.name} ({stage.updates} updates)",
            *(f"{1e3 * s:.1f} ms, {s / total:.0%}" for s in stage.phase_seconds.values()),
            f"{stage.distinct_inputs:,}",
            f"{stage.env_reward:.1f}",
            f"{stage.compliance:.2f}",
        )
    console.print(phases)
    peak = report.rates[PEAK].median
    console.print(f"{PEAK}: {peak / 1e9:,.1f} GFLOP/s on one thread")
    for stage in report.stages:
        done, plain = report.update_flops(stage), report.update_flops(stage, naive=True)
        console.print(
            f"update, {stage.name}: {stage.update_flop / 1e9:.2f} GFLOP at {done / 1e9:,.1f} "
            f"GFLOP/s, {done / peak:.0%} of it; with every transition's whole input it would be "
            f"{stage.naive_flop / 1e9:.2f} GFLOP at {plain / 1e9:,.1f} GFLOP/s, {plain / peak:.0%}"
        )
    print_ratios(console, report.ratios)
    for reason in report.skipped:
        console.print(f"not measured: {reason}")
