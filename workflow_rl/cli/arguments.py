"""How flags are made: from the settings that `config/` describes, and by hand."""

import argparse
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from workflow_rl.config import (
    BackendConfig,
    ExperimentConfig,
    GameConfig,
    SettingField,
    TrainConfig,
    setting_fields,
)

GAME: Final = setting_fields(GameConfig)
BACKEND: Final = setting_fields(BackendConfig)
SEED: Final = setting_fields(ExperimentConfig)["seed"]


class TakesFlags(Protocol):
    """A parser or a group of one."""

    def add_argument(self, *names: str, **settings: Any) -> Any:
        """Adds a flag."""
        ...


Commands = Any  # argparse keeps the type of add_subparsers() to itself


def add_command(commands: Commands, name: str, summary: str, examples: str) -> Any:
    """Adds a command with a summary, begun small and without a full stop, and examples."""
    description = summary[0].upper() + summary[1:] + "."
    return commands.add_parser(name, help=summary, description=description, examples=examples)


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
    action = parser.add_argument(*name.split(), default=argparse.SUPPRESS, help=told, **settings)
    action.is_basic = basic


def list_of(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Returns what reads a list that is written with commas; of numbers also as 64x64."""

    def read(text: str) -> list[Any]:
        plain = text.replace("x", ",") if kind is int else text
        parts = [part.strip() for part in plain.strip().removesuffix(",").split(",")]
        if not text.strip():
            return []
        if not all(parts):
            raise argparse.ArgumentTypeError(f"write values with commas between, not {text!r}")
        return [kind(part) for part in parts]

    read.__name__ = f"list of {kind.__name__}"  # argparse names it so when it fails
    return read


class Extend(argparse.Action):
    """Makes one list of several that are written with spaces between them."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Sets the list."""
        setattr(namespace, self.dest, [part for several in values for part in several])


def add_setting(
    parser: TakesFlags,
    field: SettingField,
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
    told = text or field.text
    options: dict[str, Any] = {"dest": dest or field.name, "default": field.default, "help": told}
    if default is not None:
        options |= {"default": argparse.SUPPRESS, "help": f"{told} (default: {default})"}
    elif field.default is None:
        options["help"] = f"{told} (default: {field.shown(None)})"
    if field.type is bool:
        options["action"] = "store_true"
    elif field.setting.repeated:
        options |= {"action": "append", "type": field.part_type, "metavar": field.metavar}
        if default is None:  # argparse adds to a list
            options["default"] = list(field.default)
    else:
        kind = field.part_type if field.part_type in (int, float) else str
        reads = read or (list_of(kind) if field.is_list else kind)
        options |= {"type": reads, "metavar": field.metavar}
    action = parser.add_argument(*(names or field.setting.flags), **options)
    action.is_basic = field.setting.basic if basic is None else basic


def add_settings(
    parser: TakesFlags,
    section: str,
    defaults: Any,
    *,
    without: Collection[str] = (),
    advanced: Collection[str] = (),
) -> None:
    """Adds the flags of a configuration's settings; one that is not given sets nothing.

    Args:
        parser: gets them.
        section: by which `given_settings` finds them again.
        defaults: a configuration of what is so if a flag is not given.
        without: settings that the command decides itself.
        advanced: basic settings that are none for this command.
    """
    for name, field in setting_fields(type(defaults)).items():
        if field.setting.flags and name not in without:
            default = field.shown(getattr(defaults, name))
            basic = field.setting.basic and name not in advanced
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
        fields[name].setting.flags[0]
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


def add_output(parser: TakesFlags, default: str, text: str = "where to write it") -> None:
    """Adds --output, the file that a command writes; absent if it is not given.

    Args:
        parser: gets it.
        default: what help says of not giving it.
        text: what help says of giving it.
    """
    add_flag(parser, "--output", text, default, type=Path, metavar="FILE")


def add_checkpoint_dir(parser: TakesFlags) -> None:
    """Adds --checkpoint-dir."""
    parser.add_argument(
        "--checkpoint-dir", default="logs", metavar="DIR", help="where run directories are made"
    )
