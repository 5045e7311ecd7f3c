"""`workflow-rl watch`: a running search, live in the terminal, from its directory alone."""

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_rl.cli.arguments import Commands, add_command
from workflow_rl.config import positive
from workflow_rl.errors import printable

if TYPE_CHECKING:
    from workflow_rl.pages.snapshot import Snapshot

_LAST_TRIALS = 8
_LAST_UPDATES = 40
_NAMES = {  # of what TensorBoard shows, in plain words
    "charts/episodic_return": "reward",
    "charts/compliance_observed": "compliance",
    "charts/compliance_true": "true compliance",
    "charts/alignment_weight": "weight of compliance",
    "charts/SPS": "steps/s",
    "losses/policy_loss": "policy loss",
    "losses/value_loss": "value loss",
    "losses/entropy": "entropy",
    "losses/approx_kl": "KL divergence",
    "losses/clipfrac": "clipped share",
    "losses/explained_variance": "explained variance",
    "system/cpu_percent": "processor, %",
    "system/rss_mb": "memory, MB",
}


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "watch",
        "show a running search live in the terminal, from its directory alone",
        "workflow-rl watch logs/exp_20260101_120000_4242\n"
        "workflow-rl watch logs/exp_20260101_120000_4242 --once",
    )
    parser.add_argument("path", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--once", action="store_true", help="show the progress once and exit")
    parser.add_argument(
        "--every",
        type=float,
        default=1.0,
        metavar="X",
        help="seconds between updates of the display",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Looks again and again until the run's process has ended."""
    from rich.live import Live

    from workflow_rl.cli.console import make_console, print_whole, unbroken
    from workflow_rl.cli.experiment import resume_command
    from workflow_rl.pages.snapshot import take_snapshot

    every = positive("--every", args.every)
    console = make_console()
    shot = take_snapshot(args.path)
    if args.once or not shot.run.is_live:
        console.print(frame(shot))
    elif console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            for shot in _shots(args.path, every):
                live.update(frame(shot), refresh=True)
    else:
        before = ""
        for shot in _shots(args.path, every):
            if (line := one_line(shot)) != before:
                print(printable(line), flush=True)
                before = line
    run = shot.run
    if run.config is not None and not run.is_live and not run.is_finished:
        again = resume_command(run.purpose.split()[0], args.path)
        print_whole(console, f"go on with: {unbroken(again)}")
    return 0


def _shots(path: Path, every: float) -> "Iterator[Snapshot]":
    """Yields how far a run is, again and again, until it is no longer live."""
    from workflow_rl.pages.snapshot import take_snapshot

    while (shot := take_snapshot(path)).run.is_live:
        yield shot
        time.sleep(every)
    yield shot


def one_line(shot: "Snapshot") -> str:
    """Says in one line how far a run is."""
    from workflow_rl.pages.words import speed, status_of
    from workflow_rl.runs.tables import SPEED

    parts = [f"{shot.run.name}: {status_of(shot.run)}"]
    if shot.planned:
        parts.append(f"{shot.done}/{shot.planned} workflows")
    if shot.training:
        parts.append(f"{shot.training} update {shot.update}/{shot.updates or '?'}")
    for name, form in (("charts/episodic_return", ".2f"), ("charts/compliance_observed", ".3f")):
        value = shot.scalars.get(name, math.nan)
        if not math.isnan(value):
            parts.append(f"{_NAMES[name]} {value:{form}}")
    rate = shot.scalars.get(SPEED, math.nan)
    parts += [] if math.isnan(rate) else [speed(rate)]
    if shot.best and shot.best.tried:
        parts.append(f"best {shot.best.tried.value:.2f}")
    return ", ".join(parts)


def frame(shot: "Snapshot") -> Any:
    """Returns what the terminal shows of a run."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    from workflow_rl.pages.words import duration, game_of, status_of

    run = shot.run
    head = Text(f"{game_of(run)}; {status_of(run)}")
    if not math.isnan(shot.seconds_left):
        head.append(f"; about {duration(shot.seconds_left)} of trials left")
    parts: list[Any] = [head, Text()]
    parts += [_bars(shot), Text()] if shot.training or shot.planned else []
    if shot.scalars:
        parts += [_scalars(shot), Text()]
    if shot.done:
        parts.append(_trials(shot))
    if not run.is_live:
        parts += [Text(f"- {problem}") for problem in run.problems]
    return Panel(Group(*parts), title=Text(run.name), title_align="left")


def _bars(shot: "Snapshot") -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    workflows, updates = (shot.done, shot.planned), (shot.update, shot.updates)
    for label, (done, total) in (("workflows", workflows), (shot.training, updates)):
        if label and total:
            bar = ProgressBar(total=total, completed=min(done, total), width=30)
            table.add_row(Text(label), bar, f"{done}/{total}")
    return table


def _scalars(shot: "Snapshot") -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from workflow_rl.pages.words import sparkline, speed
    from workflow_rl.runs.tables import SPEED

    table = Table.grid(padding=(0, 3))
    cells = [f"{_NAMES[name]} {_shown(value)}" for name, value in shot.scalars.items()]
    if not math.isnan(rate := shot.scalars.get(SPEED, math.nan)):
        cells[list(shot.scalars).index(SPEED)] = speed(rate)
    for row in range(0, len(cells), 2):
        table.add_row(*cells[row : row + 2])
    curve = sparkline(shot.rewards[-_LAST_UPDATES:])
    return Group(Text(f"reward by update {curve}"), table)


def _shown(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _trials(shot: "Snapshot") -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None,
        padding=(0, 1, 0, 0),
        header_style="underline",
        caption=Text(shot.run.orders.units.legend),
        caption_justify="left",
    )
    for heading in ("trial", "workflow", "why", "reward", "compliance"):
        table.add_column(heading, no_wrap=True)
    ended = [(t, t.tried) for t in shot.run.trials if t.tried is not None]
    for trial, tried in ended[-_LAST_TRIALS:]:
        is_best = trial is shot.best
        table.add_row(
            trial.name,
            shot.run.orders[trial.order].short,
            Text(trial.decision.reason),
            Text(f"{tried.value:.2f}" + (" best" if is_best else "")),
            f"{tried.compliance:.3f}" + ("" if tried.is_compliant else " below"),
            style="bold" if is_best else "",
        )
    return table
