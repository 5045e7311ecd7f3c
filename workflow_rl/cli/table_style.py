"""What the tables of results have in common: their look, and numbers that may be unknown."""

import math

from rich.table import Table


def titled_table(title: str) -> Table:
    """Returns an empty table under a title."""
    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))


def number_text(value: float, decimals: int = 2) -> str:
    """Writes a number; a dash if it is not known."""
    return "-" if math.isnan(value) else f"{value:.{decimals}f}"
