"""Flags that several commands share."""

import argparse
from typing import Any, Protocol

from workflow_rl.config import MIXED, OBSERVATIONS, RED_AGENTS, RULE_SETS


class TakesFlags(Protocol):
    """A parser or a group of one."""

    def add_argument(self, *names: str, **settings: Any) -> Any:
        """Adds a flag."""
        ...


Commands = Any  # argparse keeps the type of add_subparsers() to itself


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Shows each flag's default, if it has one, and keeps the line breaks of examples."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default is None else super()._get_help_string(action)


def add_command(commands: Commands, name: str, summary: str, examples: str) -> Any:
    """Adds a command whose help ends in examples."""
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.splitlines()),
        formatter_class=HelpFormatter,
    )


def add_rules(parser: TakesFlags) -> None:
    """Adds --rules."""
    parser.add_argument(
        "--rules",
        default="main",
        help=f"rule set: {' or '.join(RULE_SETS)} (the 2022 leaderboard)",
        metavar="NAME",
    )


def add_red_agent(parser: TakesFlags) -> None:
    """Adds --red-agent."""
    parser.add_argument(
        "--red-agent",
        default="bline",
        help=f"who attacks: {', '.join((*RED_AGENTS, MIXED))}",
        metavar="NAME",
    )


def add_cyborg_path(parser: TakesFlags, default: Any = None) -> None:
    """Adds --cyborg-path."""
    parser.add_argument(
        "--cyborg-path",
        default=default,
        help="where CybORG is: a clone of CAGE Challenge 2 (default: CYBORG_PATH, installed)",
        metavar="DIR",
    )


def add_observation(parser: TakesFlags) -> None:
    """Adds --observation."""
    parser.add_argument(
        "--observation",
        default="challenge",
        help=f"what Blue sees: {' or '.join(OBSERVATIONS)}",
        metavar="NAME",
    )
