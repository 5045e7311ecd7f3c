"""The parser of a command, and its help: the basic flags on one screen, or every flag."""

import argparse
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, Final

_WIDEST: Final = 100  # columns of help
_FEW_EXAMPLES: Final = 2  # of `--help`
# Negative numbers, one or several with commas between them, are values and not flags.
_NEGATIVE: Final = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(,[-+.\de]*)*$", re.IGNORECASE)


class _HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows each flag's default, if it has one, and breaks no word at the end of a line."""

    def __init__(self, prog: str) -> None:
        columns = min(shutil.get_terminal_size().columns, _WIDEST)
        super().__init__(prog, max_help_position=26, width=columns - 2)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = action.default is None or action.nargs == 0
        return action.help if told else super()._get_help_string(action)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, action.dest.upper())
        return f"{', '.join(action.option_strings)} {value}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        plain = " ".join(text.split())
        return textwrap.wrap(plain, width, break_long_words=False, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(f"{indent}{line}" for line in self._split_lines(text, width))


class Parser(argparse.ArgumentParser):
    """The parser of a command: `--help` shows its basic flags on one screen, `--help-all` all."""

    def __init__(self, *, examples: str = "", **settings: Any) -> None:
        """Makes it like any other.

        Args:
            examples: commands, one a line, those for everyday use first.
            **settings: as of `ArgumentParser`.
        """
        super().__init__(formatter_class=_HelpFormatter, **settings)
        self.examples = examples.splitlines()
        self._negative_number_matcher = _NEGATIVE
        self._positionals.title, self._optionals.title = "arguments", "flags"
        if self.examples:
            self.add_argument("--help-all", action=_HelpAll, help="show every flag, in groups")

    @property
    def flags(self) -> list[argparse.Action]:
        """Everything that can be given, but for help."""
        help_actions = (argparse._HelpAction, _HelpAll)
        return [action for action in self._actions if not isinstance(action, help_actions)]

    def format_usage(self) -> str:
        """Returns one line: which words a command takes; flags are told by help."""
        words = [self.prog]
        for action in self._get_positional_actions():
            name = str(action.metavar or action.dest)
            several = f"{name} ..." if action.nargs in ("+", argparse.PARSER) else name
            words.append(f"[{name}]" if action.nargs == "?" else several)
        words += [] if self._subparsers else ["[FLAG ...]"]
        return f"usage: {' '.join(words)}\n"

    def format_help(self) -> str:
        """Returns the help of the basic flags."""
        words = self._get_positional_actions()
        flags = [action for action in self.flags if action.option_strings and is_basic(action)]
        flags += [action for action in self._actions if isinstance(action, _HelpAll)]
        groups = [("commands" if self._subparsers else "arguments", words), ("flags", flags)]
        return self._format(groups, self.examples[:_FEW_EXAMPLES])

    def format_all_help(self) -> str:
        """Returns the help of every flag, by groups."""
        groups = [(str(group.title), group._group_actions) for group in self._action_groups]
        return self._format(groups, self.examples)

    def _format(
        self, groups: list[tuple[str, list[argparse.Action]]], examples: Sequence[str]
    ) -> str:
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        for title, actions in groups:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        told = f"{self.format_usage()}\n{formatter.format_help()}"
        return told + ("\nexamples:\n" if examples else "") + "".join(f"  {e}\n" for e in examples)


class _HelpAll(argparse.Action):
    """Prints the help of all flags and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, 0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.format_all_help(), end="")
        parser.exit()


def is_basic(action: argparse.Action) -> bool:
    """Returns whether `--help` shows a flag; it does unless the flag was added otherwise."""
    return getattr(action, "is_basic", True)
