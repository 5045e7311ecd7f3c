"""The flags that say where trainings run."""

import argparse
from collections.abc import Collection
from typing import Any

from workflow_rl.cli.arguments import add_settings, given_settings
from workflow_rl.config import Execution

_SECTION = "execution"


def add_execution_flags(parser: Any, *, without: Collection[str] = ()) -> None:
    """Adds the flags, in a group of their own, but for settings that do not go with a command."""
    group = parser.add_argument_group("where trainings run (no result depends on it)")
    add_settings(group, _SECTION, Execution(), without=without)


def execution_of(args: argparse.Namespace) -> Execution:
    """Returns where the flags want trainings to run.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    return Execution(**given_settings(args, _SECTION))
