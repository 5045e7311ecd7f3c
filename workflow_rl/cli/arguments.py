"""Parsers of commands, their help, and flags: made from the settings of `config/`, or by hand."""

import argparse
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.config import (
    BackendConfig,
    ExperimentConfig,
    GameConfig,
    Setting,
    TrainConfig,
    setting_fields,
)
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from workflow_rl.config.units import Groups
    from workflow_rl.scenario.network import Network

GAME: Final = setting_fields(GameConfig)
BACKEND: Final = setting_fields(BackendConfig)
SEED: Final = setting_fields(ExperimentConfig)["seed"]
_WIDEST: Final = 100  # columns of help
_FEW_EXAMPLES: Final = 2  # of `--help`
# Negative numbers, one or several with commas between them, are values and not flags.
_NEGATIVE: Final = re.compile(r"^-(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(,[-+.\de]*)*$", re.IGNORECASE)

TakesFlags = argparse._ActionsContainer  # a parser or a group of one
Commands = Any  # argparse keeps the type of add_subparsers() to itself


# --- parsers and their help


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


class _HelpAll(argparse.Action):
    """Prints the help of all flags and exits."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.format_all_help(), end="")
        parser.exit()


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
            hidden: Any = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS, "nargs": 0}
            text = "show every flag, in groups"
            self.add_argument("--help-all", action=_HelpAll, help=text, **hidden)

    @property
    def commands(self) -> "dict[str, Parser]":
        """The parsers of its commands by their names."""
        groups = (a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        return dict(next(groups, {}))

    @property
    def flags(self) -> list[argparse.Action]:
        """Everything that can be given, but for help."""
        help_actions = (argparse._HelpAction, _HelpAll)
        return [action for action in self._actions if not isinstance(action, help_actions)]

    def format_usage(self) -> str:
        """Returns one line: which words a command takes; help lists the flags."""
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


def is_basic(action: argparse.Action) -> bool:
    """Returns whether `--help` shows a flag; it does unless the flag was added otherwise."""
    return getattr(action, "is_basic", True)


def add_command(commands: Commands, name: str, summary: str, examples: str) -> Any:
    """Adds a command with a summary, begun small and without a full stop, and examples."""
    description = summary[0].upper() + summary[1:] + "."
    return commands.add_parser(name, help=summary, description=description, examples=examples)


# --- flags


def add_flag(
    parser: TakesFlags,
    name: str,
    text: str,
    default: str | None = None,
    *,
    basic: bool = True,
    **settings: Any,
) -> None:
    """Adds a flag that is absent if it is not given.

    Args:
        parser: gets it.
        name: of the flag; several with blanks between them.
        text: what help says of it.
        default: what help says of not giving it.
        basic: whether `--help` shows it, not only `--help-all`.
        **settings: as of `add_argument`.
    """
    told = text if default is None else f"{text} (default: {default})"
    action: Any = parser.add_argument(
        *name.split(), default=argparse.SUPPRESS, help=told, **settings
    )
    action.is_basic = basic


def list_of(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Returns what reads a list that is written with commas; of numbers also as 64x64."""

    def read(text: str) -> list[Any]:
        plain = text.replace("x", ",") if kind is int else text
        parts = [part.strip() for part in plain.strip().removesuffix(",").split(",")]
        if not text.strip():
            return []
        if not all(parts):
            raise argparse.ArgumentTypeError(f"write values with commas between, not {text!r:.60}")
        return [kind(part) for part in parts]

    read.__name__ = f"list of {kind.__name__}"  # argparse names it so when it fails
    return read


def red_agents(text: str) -> list[str]:
    """Reads red agents with commas between, or one mixture, whose parts have commas between."""
    return [text] if "=" in text else list_of(str)(text)


class Extend(argparse.Action):
    """Makes one list of several that are written with spaces between them."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        """Sets the list."""
        setattr(namespace, self.dest, [part for several in values for part in several])


def add_setting(
    parser: TakesFlags,
    field: Setting,
    *,
    dest: str | None = None,
    names: tuple[str, ...] = (),
    text: str | None = None,
    default: str | None = None,
    read: Callable[[str], Any] | None = None,
    basic: bool | None = None,
) -> None:
    """Adds the flag of a setting.

    Args:
        parser: gets it.
        field: the setting.
        dest: where its value goes; by default by the setting's name.
        names: of the flag, where the setting's own are not enough.
        text: what it is for this command, where the setting's own text does not say it.
        default: what help says of not giving it, where that is more than the setting's default;
            the flag is then absent if it is not given.
        read: reads its value, where it is not written as the setting is stored.
        basic: whether `--help` shows it; by default as the setting's description says.
    """
    told = text or field.help
    options: dict[str, Any] = {"dest": dest or field.name, "default": field.default, "help": told}
    if default is not None:
        options |= {"default": argparse.SUPPRESS, "help": f"{told} (default: {default})"}
    elif field.default is None:
        options["help"] = f"{told} (default: {field.shown(None)})"
    if field.type is bool:
        options["action"] = "store_true"
    elif field.repeated:
        options |= {"action": "append", "type": field.part_type, "metavar": field.placeholder}
        if default is None:  # argparse adds to a list
            options["default"] = list(field.default)
    else:
        kind = field.part_type if field.part_type in (int, float) else str
        reads = read or (list_of(kind) if field.is_list else kind)
        options |= {"type": reads, "metavar": field.placeholder}
    action: Any = parser.add_argument(*(names or field.flags), **options)
    action.is_basic = field.basic if basic is None else basic


def add_settings(
    parser: TakesFlags,
    section: str,
    defaults: Any,
    *,
    without: Collection[str] = (),
    advanced: Collection[str] = (),
    told: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Adds the flags of a configuration's settings; one that is not given sets nothing.

    Args:
        parser: gets them.
        section: by which `given_settings` finds them again.
        defaults: a configuration of what is so if a flag is not given.
        without: settings that the command decides itself.
        advanced: basic settings that are none for this command.
        told: what help says of not giving a setting, where the defaults do not say it.
    """
    for name, field in setting_fields(type(defaults)).items():
        if field.flags and name not in without:
            default = told.get(name) or field.shown(getattr(defaults, name))
            basic = field.basic and name not in advanced
            add_setting(parser, field, dest=f"{section}.{name}", default=default, basic=basic)


def given_settings(args: argparse.Namespace, section: str) -> dict[str, Any]:
    """Returns the settings of a section whose flags were given, by their names."""
    prefix = f"{section}."
    return {k.removeprefix(prefix): v for k, v in vars(args).items() if k.startswith(prefix)}


def other_flags(config: Any, given: Mapping[str, Any]) -> list[str]:
    """Returns the flags of the settings that are given otherwise than a configuration has them.

    Raises:
        InvalidInputError: a value is not allowed at all.
    """
    fields = setting_fields(type(config))
    return [
        fields[name].flags[0]
        for name, value in given.items()
        if fields[name].check(value) != getattr(config, name)
    ]


def add_workflow(parser: TakesFlags) -> None:
    """Adds --workflow and --units, the order that an agent is to follow; absent if not given."""
    text = "the order to follow and to judge compliance by"
    add_flag(parser, "--workflow", text, "the policy's own", metavar="ORDER")
    add_setting(
        parser,
        setting_fields(TrainConfig)["units"],
        text="what the workflow names: types, hosts, subnets or a TOML file of groups",
        default="the policy's own, or types",
    )


def workflow_units(args: argparse.Namespace) -> "Groups | str | None":
    """Returns the units that --units gives, if it is given; their hosts are not checked.

    Raises:
        InvalidInputError: they are none, or no workflow names them.
    """
    from workflow_rl.config.units import read_groups

    if "units" not in args:
        return None
    if "workflow" not in args:
        raise InvalidInputError("--units says what --workflow names: name the workflow, too")
    units: Groups | str = read_groups(args.units)
    return units


def add_network(parser: TakesFlags, default: str) -> None:
    """Adds --network; absent if it is not given."""
    add_setting(parser, GAME["network"], default=default)


def given_network(args: argparse.Namespace) -> "Network | None":
    """Returns the network that --network names, if it is given."""
    from workflow_rl.scenario.loading import network_of

    return network_of(args.network) if "network" in args else None


def add_output(parser: TakesFlags, default: str, text: str = "where to write it") -> None:
    """Adds --output, the file that a command writes; absent if it is not given."""
    add_flag(parser, "--output", text, default, type=Path, metavar="FILE")


def add_checkpoint_dir(parser: TakesFlags) -> None:
    """Adds --checkpoint-dir."""
    text = "where run directories are made"
    default = Path("logs")
    parser.add_argument("--checkpoint-dir", default=default, type=Path, metavar="DIR", help=text)
