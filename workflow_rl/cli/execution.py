"""The flags that say where trainings run."""

import argparse
from typing import Any

from workflow_rl.config import EXECUTORS, Execution


def add_execution_flags(parser: Any, *, time_limit: bool = True) -> None:
    """Adds the flags, in a group of their own."""
    group = parser.add_argument_group("where trainings run (no result depends on it)")
    group.add_argument(
        "--executor",
        default=argparse.SUPPRESS,
        metavar="NAME",
        help=f"{', '.join(EXECUTORS)} (default: serial, or processes if several at a time)",
    )
    group.add_argument(
        "--ray-address",
        default=argparse.SUPPRESS,
        metavar="HOST:PORT",
        help="with ray: a cluster to join, or auto (default: none, Ray is started here)",
    )
    if time_limit:
        group.add_argument(
            "--time-limit",
            type=float,
            default=argparse.SUPPRESS,
            metavar="SECONDS",
            help="begin a workflow anew after so long, give it up after twice (default: no limit)",
        )


def execution_of(args: argparse.Namespace) -> Execution:
    """Returns where the flags want trainings to run.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    names = ("executor", "ray_address", "time_limit")
    return Execution(**{name: getattr(args, name) for name in names if name in args})
