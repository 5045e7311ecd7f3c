"""What the commands share that train: their settings, where they run, going on with a run."""

import argparse
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.cli.arguments import (
    GAME,
    SEED,
    TakesFlags,
    add_checkpoint_dir,
    add_flag,
    add_setting,
    add_settings,
    given_settings,
    other_flags,
)
from workflow_rl.cli.console import print_whole, unbroken
from workflow_rl.config import (
    DEFAULT_PRESET,
    PPO_FORM,
    PRESET,
    PRESETS,
    SECTIONS,
    Asked,
    ConfigFile,
    Execution,
    ExperimentConfig,
    Setting,
    setting_fields,
)
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

_EXECUTION: Final = "execution"

# --- what is asked for


def add_experiment_flags(
    parser: argparse.ArgumentParser,
    *,
    search: bool,
    population: bool = False,
    without: Collection[str] = (),
    advanced: Collection[str] = (),
    usual: ExperimentConfig | None = None,
    told: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Adds the flags, in groups; one that is not given sets nothing.

    Args:
        parser: the command's.
        search: whether there is a search.
        population: whether a defender can be trained against a population of attackers.
        without: settings of the search that the command decides itself.
        advanced: basic settings that are none for this command.
        usual: the command's own defaults.
        told: what help says of the default of a setting, such as train.n_envs, where that is more.
    """
    usual = usual or ExperimentConfig()

    def add(group: TakesFlags, section: str, **how: Any) -> None:
        prefix = f"{section}."
        mine = {k.removeprefix(prefix): v for k, v in told.items() if k.startswith(prefix)}
        add_settings(group, section, getattr(usual, section), told=mine, **how)

    game = parser.add_argument_group("the game")
    for name, field in GAME.items():
        if field.flags:
            others = {preset: chosen.game.get(name) for preset, chosen in PRESETS.items()}
            default = told.get(f"game.{name}") or default_of(field, others)
            add_setting(game, field, dest=f"game.{name}", default=default)
    training = parser.add_argument_group("training (an explicit flag wins over the preset)")
    basic = PRESET.name not in advanced
    add_setting(training, PRESET, default=DEFAULT_PRESET, basic=basic)
    add(training, "train", advanced=advanced)
    ppo = parser.add_argument_group("PPO")
    forms = {preset: chosen.form for preset, chosen in PRESETS.items()}
    add_setting(ppo, PPO_FORM, default=told.get(PPO_FORM.name) or default_of(PPO_FORM, forms))
    add(ppo, "ppo")
    if population:
        add(parser.add_argument_group("a population of attackers"), "population")
    if search:
        add(parser.add_argument_group("search"), "search", without=without)
        add_execution_flags(parser)
    add(parser.add_argument_group("backend (docs/cyborg.md)"), "backend")
    run = parser.add_argument_group("run")
    add_config(run)
    add_setting(run, SEED, default=str(SEED.default))
    add_checkpoint_dir(run)


def default_of(field: Setting, by_preset: Mapping[Any, Any]) -> str:
    """Says a setting's default, and the presets that have another one."""
    others: dict[str, list[str]] = {}
    for preset, value in by_preset.items():
        if value:
            others.setdefault(value, []).append(preset)
    told = [f"{value} with the preset {' or '.join(names)}" for value, names in others.items()]
    return "; ".join([field.shown(field.default), *told])


def both_defaults(usual: ExperimentConfig, other: ExperimentConfig, when: str) -> dict[str, str]:
    """Says of every setting that differs what it is, and what it is otherwise."""
    return {
        f"{section}.{name}": f"{field.shown(mine)}; {field.shown(theirs)} {when}"
        for section, kind in SECTIONS.items()
        for name, field in setting_fields(kind).items()
        if (mine := getattr(getattr(usual, section), name))
        != (theirs := getattr(getattr(other, section), name))
    }


def add_config(parser: TakesFlags) -> None:
    """Adds --config; it is absent if it is not given."""
    add_flag(
        parser,
        "--config",
        "settings from a TOML file or a run's experiment_config.json; flags take precedence",
        "the preset's",
        type=Path,
        metavar="FILE",
    )


def _config_file(args: argparse.Namespace) -> ConfigFile | None:
    """Returns the file of settings that is to be read, if there is one."""
    if "config" not in args:
        return None
    is_made = isinstance(args.config, ExperimentConfig)  # by a program
    file = ConfigFile.of(args.config) if is_made else ConfigFile.read(args.config)
    if file.purpose is not None:
        for field in (PRESET, PPO_FORM):
            if field.name in args:
                flag = field.flags[0]
                raise InvalidInputError(f"{file.path} has every setting of a run: leave out {flag}")
    return file


def experiment_config(
    args: argparse.Namespace,
    make: Callable[[Asked], ExperimentConfig] = ExperimentConfig.of,
    **defaults: Mapping[str, Any],
) -> ExperimentConfig:
    """Returns the configuration of the flags, and the file that they name.

    Args:
        args: of the flags.
        make: builds it from what they ask for.
        **defaults: settings of sections that the command has by default.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    file = _config_file(args)
    asked = _asked(args) if file is None else _asked(args).over(file.asked)
    try:
        config = make(asked.over(Asked(sections=defaults)))
    except InvalidInputError as error:
        if file is None:
            raise
        raise InvalidInputError(f"{error} (with the settings of {file.path})") from None
    if config.backend.name != "cage2":
        from workflow_rl.envs.world import check_backend

        check_backend(config.game, config.backend)
    return config


def plan_of(args: argparse.Namespace, command: str, *names: str) -> dict[str, Any]:
    """Returns what the file says of a command beyond its settings, if there is a file.

    Raises:
        InvalidInputError: something is wrong with it, or it says something other than these names.
    """
    file = _config_file(args)
    return {} if file is None else file.plan_for(command, names)


def _asked(args: argparse.Namespace) -> Asked:
    preset, form, seed = (getattr(args, field.name, None) for field in (PRESET, PPO_FORM, SEED))
    return Asked(preset, form, seed, {name: given_settings(args, name) for name in SECTIONS})


def refuse_no_workflow(config: ExperimentConfig, instead: str) -> None:
    """Checks that trainings follow an order, or says what to do instead.

    Raises:
        InvalidInputError: they do not.
    """
    if not config.train.conditioned:
        raise InvalidInputError(
            "these settings, or their preset, train one policy without a workflow: " + instead
        )


# --- where it runs


def add_execution_flags(parser: Any, *, without: Collection[str] = ()) -> None:
    """Adds the flags that say where trainings run, but for some settings."""
    group = parser.add_argument_group("where trainings run (no result depends on it)")
    add_settings(group, _EXECUTION, Execution(), without=without)


def execution_of(args: argparse.Namespace) -> Execution:
    """Returns where the flags want trainings to run.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    return Execution(**given_settings(args, _EXECUTION))


# --- going on after an interruption


def add_resume(parser: TakesFlags, metavar: str, text: str) -> None:
    """Adds --resume; it is absent if it is not given."""
    add_flag(parser, "--resume", text, "a new one", type=Path, metavar=metavar)


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


def refuse_other_settings(args: argparse.Namespace, config: ExperimentConfig) -> None:
    """Checks that flags given together with --resume say what the run was begun with.

    Raises:
        InvalidInputError: one says something else, which would silently be ignored.
    """
    if "config" in args:
        refuse_flags(["--config"])
    asked = _asked(args)
    others = {SEED.flags[0]} if asked.seed not in (None, config.seed) else set()
    for section, wanted in asked.settings().items():
        begun, given = getattr(config, section), asked.sections[section]
        others |= set(other_flags(begun, given))
        if any(getattr(begun, name) != wanted[name] for name in wanted.keys() - given.keys()):
            by_form = section == "ppo" and asked.form is not None
            others |= set((PPO_FORM if by_form else PRESET).flags)
    refuse_flags(sorted(others))


def resume_command(command: str, path: Path) -> str:
    """Returns the command that goes on with a run."""
    return f"workflow-rl {command} --resume {shlex.quote(str(path))}"


@contextmanager
def resume_hint(console: "Console", command: str, path: Path) -> Iterator[None]:
    """Says, when the block is interrupted or lacks disk or memory, how to go on with a run.

    Where nothing is shown, the exception says it.
    """
    try:
        yield
    except (KeyboardInterrupt, OSError, MemoryError) as error:  # OSError: a full disk, say
        if isinstance(error, OSError) and not path.exists():
            raise OSError(f"the run directory {path} was removed while the run went on") from error
        again = resume_command(command, path)
        if console.quiet:
            error.add_note(f"go on with: {again}")
        print_whole(console, f"stopped; go on with: {unbroken(again)}")
        raise
