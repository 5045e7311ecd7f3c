"""The flags of `search`, `train` and `landscape`, and how they become a configuration."""

import argparse
from collections.abc import Collection
from typing import Any, Final

from workflow_rl.cli.arguments import (
    GAME,
    SEED,
    add_checkpoint_dir,
    add_setting,
    add_settings,
    given_settings,
    other_flags,
)
from workflow_rl.cli.execution import add_execution_flags
from workflow_rl.cli.resuming import refuse_flags
from workflow_rl.config import (
    DEFAULT_PPO,
    DEFAULT_PRESET,
    PPO_FORM,
    PPO_FORMS,
    PRESET,
    PRESETS,
    BackendConfig,
    ExperimentConfig,
    SearchConfig,
    SettingField,
    TrainConfig,
    chosen_settings,
)
from workflow_rl.errors import InvalidInputError

_SECTIONS: Final = ("game", "ppo", "train", "search", "backend")


def add_experiment_flags(
    parser: argparse.ArgumentParser,
    *,
    search: bool,
    without: Collection[str] = (),
    train: TrainConfig | None = None,
) -> None:
    """Adds the flags, in groups; one that is not given sets nothing.

    Args:
        parser: the command's.
        search: whether there is a search.
        without: fields of the search that the command decides itself.
        train: the command's own defaults of a training.
    """
    game = parser.add_argument_group("the game")
    for name, field in GAME.items():
        if field.setting.flags:
            others = {preset: chosen.game.get(name) for preset, chosen in PRESETS.items()}
            add_setting(game, field, dest=f"game.{name}", default=default_of(field, others))
    training = parser.add_argument_group("training (an explicit flag wins over the preset)")
    add_setting(training, PRESET, default=DEFAULT_PRESET)
    add_settings(training, "train", train or TrainConfig())
    ppo = parser.add_argument_group("PPO")
    forms = {preset: chosen.form for preset, chosen in PRESETS.items()}
    add_setting(ppo, PPO_FORM, default=default_of(PPO_FORM, forms))
    add_settings(ppo, "ppo", PPO_FORMS[DEFAULT_PPO])
    if search:
        add_settings(parser.add_argument_group("search"), "search", SearchConfig(), without=without)
        add_execution_flags(parser)
    backend = parser.add_argument_group("backend (docs/cyborg.md)")
    add_settings(backend, "backend", BackendConfig())
    run = parser.add_argument_group("run")
    add_setting(run, SEED, default=str(SEED.default))
    add_checkpoint_dir(run)
    run.add_argument("--device", default="cpu", metavar="NAME", help="cpu, the only one supported")


def default_of(field: SettingField, by_preset: dict[Any, Any]) -> str:
    """Says a setting's default, and the presets that have another one."""
    others = [f"the preset {name}: {value}" for name, value in by_preset.items() if value]
    return "; ".join([field.shown(field.default), *others])


def experiment_config(args: argparse.Namespace) -> ExperimentConfig:
    """Returns the configuration that the flags ask for.

    Raises:
        InvalidInputError: a flag is wrong, or two contradict each other.
    """
    if args.device != "cpu":
        raise InvalidInputError(
            f"unknown device {args.device!r}: this project trains on the processor, choose cpu"
        )
    config = ExperimentConfig.preset(
        getattr(args, PRESET.name, DEFAULT_PRESET),
        form=getattr(args, PPO_FORM.name, None),
        **{section: given_settings(args, section) for section in _SECTIONS},
        seed=getattr(args, SEED.name, SEED.default),
    )
    if config.backend.name != "cage2":
        from workflow_rl.envs.python_world import check_backend

        check_backend(config.game, config.backend)
    return config


def refuse_other_settings(args: argparse.Namespace, config: ExperimentConfig) -> None:
    """Checks that flags given beside --resume say what the run was begun with.

    Raises:
        InvalidInputError: one says something else, which would silently be ignored.
    """
    given = {section: given_settings(args, section) for section in _SECTIONS}
    preset, form = (getattr(args, field.name, None) for field in (PRESET, PPO_FORM))
    others = {SEED.setting.flags[0]} if getattr(args, "seed", config.seed) != config.seed else set()
    for section, wanted in chosen_settings(preset, form, given).items():
        begun = getattr(config, section)
        implied = {name: value for name, value in wanted.items() if name not in given[section]}
        others |= set(other_flags(begun, given[section]))
        if any(getattr(begun, name) != value for name, value in implied.items()):
            by_form = section == "ppo" and form is not None
            others |= set((PPO_FORM if by_form else PRESET).setting.flags)
    refuse_flags(sorted(others))
