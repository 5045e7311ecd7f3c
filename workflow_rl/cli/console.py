"""The console that commands print to, and what their bars and tables have in common."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:  # `--help` does without it
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

T = TypeVar("T")
_PLAIN_WIDTH: Final = 130  # where there is no terminal whose width counts
_WIDTH: Final = 80  # that sentences keep to
_ENDS: Final = 10  # of a ranking, shown from each end


def make_console() -> "Console":
    """Returns the console of a run."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, width=_PLAIN_WIDTH, soft_wrap=True)  # lines stay whole


def print_sentence(console: "Console", text: str, *, indent: str = "") -> None:
    """Prints what is read, not copied: no line is longer than 80 columns.

    Args:
        console: where to.
        text: the sentence, or several.
        indent: of all lines but the first.
    """
    lines = textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    console.print(lines, markup=False)


def print_whole(console: "Console", text: str) -> None:
    """Prints a line with a path in it as it is, however long."""
    console.print(text, markup=False, soft_wrap=True)


def both_ends(ranked: Sequence[T]) -> Iterator[tuple[int, T] | None]:
    """Yields the first and the last ten of a ranking with their places; None for those between."""
    for place, one in enumerate(ranked, 1):
        if not _ENDS < place <= len(ranked) - _ENDS:
            yield place, one
        elif place == _ENDS + 1:
            yield None


@contextmanager
def waiting(console: "Console", what: str) -> Iterator[None]:
    """Shows, at a terminal, that something takes its time."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def make_bars(console: "Console", clock: "ProgressColumn | None" = None) -> "Progress":
    """Returns bars of things done, each with its `news` beside it; shown at a terminal only.

    Args:
        console: where they are shown.
        clock: how time is told; by default by how much is left.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        clock or TimeRemainingColumn(),
        TextColumn("{task.fields[news]}"),
        console=console,
        disable=not console.is_terminal,
    )


def titled_table(title: str) -> "Table":
    """Returns an empty table under a title."""
    from rich.table import Table

    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))


def number_text(value: float, decimals: int = 2) -> str:
    """Writes a number; a dash if it is not known."""
    return "-" if math.isnan(value) else f"{value:.{decimals}f}"
