"""The console that commands print to."""

from rich.console import Console

_PLAIN_WIDTH = 130  # where there is no terminal whose width counts


def make_console() -> Console:
    """Returns the console of a run."""
    console = Console(highlight=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, width=_PLAIN_WIDTH, soft_wrap=True)  # lines stay whole


def print_whole(console: Console, text: str) -> None:
    """Prints a line with a path in it as it is, however long."""
    console.print(text, markup=False, soft_wrap=True)
