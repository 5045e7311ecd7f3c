"""What the benchmarks share on the command line: flags, progress, ratios, the file of figures."""

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workflow_rl.bench.measure import Ratio
from workflow_rl.cli.arguments import BACKEND, GAME, add_setting
from workflow_rl.config import MIXED, RED_AGENTS, GameConfig, whole_number
from workflow_rl.envs.cyborg_import import PATH_VARIABLE, load_cyborg
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import json_text, named_output, write_named

if TYPE_CHECKING:
    from rich.console import Console


def add_measuring_flags(
    parser: argparse.ArgumentParser,
    subject: str,
    seconds: float,
    *,
    cyborg: bool = True,
    mixed: bool = False,
) -> None:
    """Adds the flags of every benchmark.

    Args:
        parser: gets them.
        subject: what is measured.
        seconds: of each row in each round, by default.
        cyborg: whether CybORG is measured beside it, so that it must be found.
        mixed: whether several red agents may play.
    """
    add_red_agent(parser, mixed=mixed)
    parser.set_defaults(mixed=mixed)
    if cyborg:
        add_setting(parser, BACKEND["cyborg_path"])
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="rounds; the median is shown"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=seconds,
        metavar="S",
        help="seconds of each row in each round",
    )
    parser.add_argument(
        "--load", type=int, default=0, metavar="N", help="busy processes to run beside it"
    )
    parser.add_argument(
        "--json",
        type=Path,
        default=None,
        metavar="FILE",
        help=f"where the figures go (default: logs/bench_{subject}_<time>.json)",
    )


def add_red_agent(parser: argparse.ArgumentParser, *, mixed: bool = False) -> None:
    """Adds --red-agent; unless several may play, its help leaves out that one is drawn."""
    field = GAME["red_agent"]
    one = f"{field.setting.text}: {', '.join(RED_AGENTS)}"
    add_setting(parser, field, text=None if mixed else one)


def one_red_agent(config: GameConfig, what: str) -> None:
    """Checks that the red agent is not drawn for each episode.

    Raises:
        InvalidInputError: it is.
    """
    if config.red_agent == MIXED:
        raise InvalidInputError(f"the {what} needs one red agent: {', '.join(RED_AGENTS)}")


def checked(args: argparse.Namespace, config: GameConfig) -> Path:
    """Checks the flags of every benchmark and returns where its figures go.

    Args:
        args: the flags.
        config: the game.

    Raises:
        InvalidInputError: a flag is not allowed.
        MissingDependencyError: CybORG is not where it was said to be.
    """
    if getattr(args, "cyborg_path", None) is not None:
        load_cyborg(args.cyborg_path)  # says so if there is none
        os.environ[PATH_VARIABLE] = args.cyborg_path
    if not args.mixed:
        one_red_agent(config, "benchmark")
    whole_number("--repeats", args.repeats, 1, 1_000)
    whole_number("--load", args.load, 0, 1_000)
    if not 0.01 <= args.seconds <= 60:
        raise InvalidInputError(f"--seconds must be from 0.01 to 60, not {args.seconds}")
    path = args.json or Path("logs") / time.strftime(f"bench_{args.subject}_%Y%m%d_%H%M%S.json")
    return named_output(path) if args.json else path


def parts_of(text: str) -> Sequence[str]:
    """Returns what a flag lists, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))


def numbers_of(flag: str, text: str, least: int, most: int) -> list[int]:
    """Returns the numbers that a flag lists.

    Raises:
        InvalidInputError: one of them is no whole number, or out of range.
    """
    return [
        whole_number(flag, int(part) if part.isdecimal() else part, least, most)
        for part in parts_of(text)
    ]


@contextmanager
def show_progress(console: "Console") -> Iterator[Callable[[str], None]]:
    """Shows a progress line; yields the function that changes its text."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        task = bar.add_task("preparing", total=None)
        yield lambda text: bar.update(task, description=text)
        bar.update(task, description="measured", total=1, completed=1)


class BenchmarkReport(Protocol):
    """The report of a benchmark."""

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        ...


_Report = TypeVar("_Report", bound=BenchmarkReport)


def measure_and_show(
    path: Path,
    measure: Callable[[Callable[[str], None]], _Report],
    show: "Callable[[Console, _Report], None]",
) -> int:
    """Measures with its progress shown, prints the report and writes it to a file.

    Args:
        path: of the file of figures.
        measure: measures; its argument is called with what is being done.
        show: prints the report.

    Returns:
        0, the exit code.
    """
    from rich.console import Console

    console = Console()
    with show_progress(console) as progress:
        report = measure(progress)
    show(console, report)
    _write_figures(console, path, report.as_json())
    return 0


def _write_figures(console: "Console", path: Path, figures: dict[str, Any]) -> None:
    """Writes the figures and prints the file's name."""
    write_named(path, (json_text(figures, indent=2) + "\n").encode())
    console.print(f"figures: {path}")


def print_ratios(console: "Console", ratios: Sequence[Ratio]) -> None:
    """Prints the ratios of a run."""
    from rich.table import Table

    table = Table(title="ratios of this run")
    for heading in ("ratio", "measured"):
        table.add_column(heading)
    for ratio in ratios:
        table.add_row(ratio.name, f"{ratio.value:,.2f}x")
    console.print(table)
