"""The console that commands print to: sentences, tables, and bars of work done."""

import textwrap
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from workflow_rl.errors import printable

if TYPE_CHECKING:  # `--help` does without it
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table

    from workflow_rl.pages.page import PageTable

_PLAIN_WIDTH: Final = 130  # where there is no terminal whose width counts
_WIDTH: Final = 80  # of sentences
_ANY_WIDTH: Final = 10_000
_MOST_ROWS: Final = 30  # of a table; of one that has more
_ENDS: Final = 10  # are shown from each end
_BLANK: Final = "\x1f"  # a blank within a path or a command, until it is printed
_LINE_EVERY: Final = 5.0  # seconds between lines of progress where there is no terminal


def make_console(*, quiet: bool = False, **settings: Any) -> "Console":
    """Returns the console of a command: text is shown as it is, none of it obeyed.

    Args:
        quiet: whether nothing is shown at all.
        **settings: of rich's console, in the place of those that the terminal asks for.
    """
    from rich.console import Console
    from rich.segment import Segment

    class PlainConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else Segment(printable(part.text), part.style)

    plain: Any = {"quiet": quiet, "highlight": False, "markup": False, "emoji": False, **settings}
    console = PlainConsole(**plain)
    if settings or console.is_terminal:
        return console
    return PlainConsole(**plain, width=_PLAIN_WIDTH, soft_wrap=True)  # lines stay whole


def unbroken(what: object) -> str:
    """Returns a path or a command as one word, which stays on one line when it is printed."""
    return str(what).replace(" ", _BLANK)


def print_sentence(console: "Console", text: str, *, indent: str = "") -> None:
    """Prints text to read in lines of at most 80 columns, fewer at a narrow terminal."""
    _print_words(console, text, min(_WIDTH, console.width), indent)


def print_whole(console: "Console", text: str) -> None:
    """Prints a line with a path or a command in it; only at a terminal is it wrapped."""
    if console.is_terminal:
        _print_words(console, text, console.width)
    else:
        console.print(text.replace(_BLANK, " "), soft_wrap=True)


def _print_words(console: "Console", text: str, width: int, indent: str = "") -> None:
    """Prints lines that break no word: a path that is too long has a line of its own."""
    lines = textwrap.fill(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    console.print(lines.replace(_BLANK, " "), soft_wrap=True)


def make_table(
    title: str, headings: Sequence[str], *, left: Collection[str] | None = None, space: int = 2
) -> "Table":
    """Returns an empty table under a title, none of whose cells is broken into lines.

    Args:
        title: above it; may be empty.
        headings: of its columns.
        left: those of columns with words, to be aligned left; by default the first.
        space: columns of the screen between two of the table.
    """
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=None, padding=(0, space, 0, 0))
    words = headings[:1] if left is None else left
    for heading in headings:
        justify: Literal["left", "right"] = "left" if heading in words else "right"
        table.add_column(heading, justify=justify, no_wrap=True)
    return table


def print_fitting(console: "Console", table: "Table", *least: str) -> None:
    """Prints a table; where it is too wide, without the columns named, as many as needed."""
    from rich.measure import Measurement
    from rich.table import Table

    for heading in least:
        options = console.options.update(max_width=_ANY_WIDTH)
        if Measurement.get(console, options, table).maximum <= console.width:
            break
        kept = [column for column in table.columns if column.header != heading]
        table = Table(title=table.title, title_justify="left", box=None, padding=table.padding)
        for column in kept:
            table.add_column(column.header, justify=column.justify, no_wrap=True)
        for row in zip(*(column.cells for column in kept), strict=True):
            table.add_row(*row)
    console.print(table)


def print_table(console: "Console", table: "PageTable") -> None:
    """Prints a table under its heading, of many rows the first and the last ones, and its caption.

    Cells are two columns apart, or one where the table would be wider than a screen.
    """
    columns = zip(table.headings, *table.rows, strict=True)
    widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    space = 2 if sum(widths) + 2 * len(widths) <= _WIDTH else 1
    shown = make_table(table.heading, table.headings, space=space)
    for number, row in enumerate(table.rows):
        if len(table.rows) <= _MOST_ROWS or not _ENDS <= number < len(table.rows) - _ENDS:
            shown.add_row(*row)
        elif number == _ENDS:
            shown.add_row("...")
    console.print(shown)
    if table.caption:
        print_sentence(console, table.caption)


@contextmanager
def waiting(console: "Console", what: str) -> Iterator[None]:
    """Shows, at a terminal, that something takes its time."""
    with console.status(what) if console.is_terminal else nullcontext():
        yield


class Bars:
    """Shows work done: a bar each at a terminal, elsewhere a line every few seconds."""

    def __init__(self, console: "Console") -> None:
        """Prepares to show it; use it as a context."""
        from rich import progress

        self.console = console
        self._progress = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=8),
            progress.TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[news]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._shown: dict[str, tuple[TaskID, int]] = {}  # each bar and its total
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        """Starts showing."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._progress.stop()

    def begin(self, name: str, total: int, done: int = 0, *, news: str = "") -> None:
        """Shows one bar more, unless there is one of that name."""
        if name not in self._shown:
            task = self._progress.add_task(name, total=total, completed=done, news=news)
            self._shown[name] = task, total

    def end(self, name: str) -> None:
        """Shows a bar no longer, if it was shown."""
        if name in self._shown:
            self._progress.remove_task(self._shown.pop(name)[0])

    def move(self, name: str, done: int, news: str = "") -> None:
        """Says how much of a bar's work is done, and what else there is to say."""
        task, total = self._shown[name]
        self._progress.update(task, completed=done, news=news)
        now = time.monotonic()
        if not self.console.is_terminal and now - self._last_line > _LINE_EVERY:
            self._last_line = now
            print_whole(self.console, f"{name} {done}/{total}{f': {news}' if news else ''}")
