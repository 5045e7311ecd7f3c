"""What the commands share that can go on after an interruption."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.cli.console import print_whole
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console


def add_resume(parser: argparse.ArgumentParser, metavar: str, text: str) -> None:
    """Adds the flag; it is absent where it was not given."""
    parser.add_argument(
        "--resume", type=Path, default=argparse.SUPPRESS, metavar=metavar, help=text
    )


def refuse_flags(flags: Sequence[str]) -> None:
    """Refuses flags that say something else than the run was begun with.

    Raises:
        InvalidInputError: there are some; they would silently be ignored.
    """
    if flags:
        raise InvalidInputError(
            "--resume goes on with the settings the run was begun with: leave out "
            + ", ".join(flags)
        )


@contextmanager
def resume_hint(console: "Console", command: str, path: Path) -> Iterator[None]:
    """Says, when the block is interrupted or cannot write, how to go on with a run."""
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:  # OSError: a full disk, say
        if isinstance(error, OSError) and not path.exists():
            raise OSError(f"the run directory {path} was removed while the run went on") from error
        again = f"workflow-rl {command} --resume {shlex.quote(str(path))}"
        print_whole(console, f"stopped; go on with: {again}")
        raise
