"""The documentation's page of commands: `python -m workflow_rl.cli.document`."""

import argparse
from collections.abc import Iterator
from typing import Final

from workflow_rl.cli import PROGRAM, build_parser
from workflow_rl.cli.help import Parser

COMMAND: Final = "python -m workflow_rl.cli.document > docs/commands.md"
_INTRODUCTION: Final = f"""# Commands

Every command with its flags, read from the parser itself: `{PROGRAM} COMMAND --help` shows those
for everyday use, `--help-all` every one. This page is made by
`{COMMAND}`; the settings of a run, their ranges and how to give them in Python
are in [settings.md](settings.md).

Exit codes: 0 done; 1 the work failed (a full disk, a training that diverged, a worker that died); 2
the request was wrong, nothing was begun; 130 interrupted, a run goes on with `--resume`.
"""


def document() -> str:
    """Returns the page, in Markdown."""
    return "\n".join((_INTRODUCTION, *_commands(build_parser())))


def _commands(parser: Parser) -> Iterator[str]:
    """Yields the section of each command below a parser."""
    for name, command in _below(parser).items():
        yield f"## {name.removeprefix(PROGRAM).strip()}\n"
        if command.description:
            yield f"{command.description}\n"
        yield "\n".join(("```sh", *command.examples, "```\n"))
        yield "| flag | what it is |\n|---|---|"
        yield from (_row(command, action) for action in command.flags)
        yield ""


def _below(parser: Parser) -> dict[str, Parser]:
    """Returns the commands that end in a parser's subcommands, by their whole name."""
    found: dict[str, Parser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found |= _below(command) or {command.prog: command}
    return found


def _row(parser: Parser, action: argparse.Action) -> str:
    """Returns the table's row of a flag."""
    value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
    shown = " ".join(value) if isinstance(value, tuple) else value
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    flag = f"{names} {shown}".strip() if names else f"`{shown}`"
    text = (action.help or "") % (vars(action) | {"prog": parser.prog})
    unsaid = action.default in (None, argparse.SUPPRESS) or isinstance(action.default, bool)
    if action.option_strings and not unsaid and "(default: " not in text:
        text += f" (default: {action.default})"
    return f"| {_cell(flag)} | {_cell(text)} |"


def _cell(text: str) -> str:
    """Returns a text as a table's cell holds it."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(document(), end="")
