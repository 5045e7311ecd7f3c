"""Flags are made from settings: every one is there, with the default and the names it has."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.cli import build_parser
from workflow_rl.cli.arguments import (
    Parser,
    add_command,
    add_setting,
    list_of,
)
from workflow_rl.cli.experiment import execution_of, experiment_config
from workflow_rl.config import (
    DEFAULT_PPO,
    PPO_FORM,
    PPO_FORMS,
    PRESET,
    SECTIONS,
    Asked,
    BackendConfig,
    ComparisonConfig,
    Execution,
    ExperimentConfig,
    GameConfig,
    Setting,
    TrainConfig,
    setting_fields,
)

SEARCH = ExperimentConfig.for_search(Asked())
EVERYWHERE: list[Any] = [GameConfig(), PPO_FORMS[DEFAULT_PPO], BackendConfig()]
COMMANDS: dict[str, list[Any]] = {  # what each takes, with what is so without a flag
    "search": [*(getattr(SEARCH, name) for name in SECTIONS), Execution()],
    "train": [*EVERYWHERE, TrainConfig()],
    "landscape": [*EVERYWHERE, TrainConfig(stop_at="budget"), Execution()],
}


def helps(command: str) -> dict[str, str]:
    """The help of every flag, by each of its names."""
    actions = build_parser().commands[command]._actions
    return {name: action.help or "" for action in actions for name in action.option_strings}


def flagged(*configs: Any) -> list[tuple[Setting, Any]]:
    """The settings with flags of configurations, each with its value there."""
    fields = [(field, c) for c in configs for field in setting_fields(type(c)).values()]
    return [(field, getattr(config, field.name)) for field, config in fields if field.flags]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_with_a_flag_has_it_with_names_choices_and_default(command: str) -> None:
    shown = helps(command)
    for field, default in flagged(*COMMANDS[command]):
        for name in field.flags:
            assert shown[name].startswith(field.text)
            assert f"(default: {field.shown(default)}" in shown[name]
            assert shown[name].count("(default: ") == 1
    for field in [PRESET, PPO_FORM, *(field for field, _ in flagged(*COMMANDS[command]))]:
        for choice in field.choices:
            assert choice in shown[field.flags[0]].partition("(default: ")[0]
    compared = helps("compare-updates")
    for field, _ in flagged(ComparisonConfig()):
        assert all(choice in compared[name] for name in field.flags for choice in field.choices)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_flags_nothing_is_set_and_the_defaults_count(command: str) -> None:
    args = build_parser().parse_args([command])
    assert not [name for name in vars(args) if "." in name]
    assert experiment_config(args) == ExperimentConfig()
    assert execution_of(args) == Execution()


@given(field=st.sampled_from([field for field, _ in flagged(*COMMANDS["search"])]))
def test_a_flag_that_is_given_its_default_reads_as_the_fields_default(field: Setting) -> None:
    parser = argparse.ArgumentParser()
    add_setting(parser, field)
    absent = getattr(parser.parse_args([]), field.name)
    assert field.check(absent) == field.default
    if field.default not in (None, ()) and field.type is not bool:
        for name in field.flags:
            args = parser.parse_args([name, field.shown(field.default)])
            assert field.check(getattr(args, field.name)) == field.default


LENGTH = ("--episode-length", "--max-steps")


@pytest.mark.parametrize(
    ("command", "names", "dest"),
    [
        *((command, LENGTH, "game.episode_length") for command in COMMANDS),
        ("search", ("--min-updates", "--min-episodes"), "train.min_updates"),
        ("play", LENGTH, "episode_length"),
        ("select somewhere", (*LENGTH, "--steps"), "steps"),
        ("replay somewhere", (*LENGTH, "--steps"), "steps"),
    ],
)
def test_a_flags_names_mean_the_same(command: str, names: tuple[str, ...], dest: str) -> None:
    for name in names:
        args = build_parser().parse_args([*command.split(), name, "4"])
        assert vars(args)[dest] == 4


# --- lists


@pytest.mark.parametrize(
    "words",
    [["-200,-50.5"], ["-200", "-50.5"], ["-2e2,-50.5", "--seed", "3"], [" -200 , -50.5"]],
)
def test_negative_numbers_can_be_listed_in_every_way(words: list[str]) -> None:
    flag = "--reward-thresholds"
    args = build_parser().parse_args(["compare-updates", flag, *words])
    assert args.reward_thresholds == [-200.0, -50.5]
    args = build_parser().parse_args(["compare-updates", f"{flag}={words[0]}"])
    assert args.reward_thresholds[0] == -200.0


@pytest.mark.parametrize("text", ["64,32", "64x32", " 64, 32 ", "64,32,"])
def test_hidden_layers_can_be_listed_with_commas_or_x(text: str) -> None:
    config = experiment_config(build_parser().parse_args(["search", "--hidden", text]))
    assert config.train.hidden == (64, 32)


def test_lists_are_written_with_commas_or_spaces(tmp_path: Path) -> None:
    file = tmp_path / "a,b.safetensors"  # a comma in a name divides nothing
    file.touch()

    def read(words: str) -> argparse.Namespace:
        return build_parser().parse_args(words.split())

    for words in ("30,100", "30 100"):
        assert read(f"parity --live --episode-length {words}").episode_length == [30, 100]
    for words in ("random,busy", "random busy"):
        assert read(f"parity --live --blue {words}").blue == ["random", "busy"]
    assert read(f"parity --live --blue {file} busy").blue == [str(file), "busy"]
    for name in ("--episode-length", "--steps"):
        assert read(f"evaluate greedy {name} 30,50").steps == [30, 50]


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_any_list_of_numbers_is_read_after_a_flag(numbers: list[float]) -> None:
    parser = Parser()
    command = add_command(parser.add_subparsers(), "try", "try it", "try")
    command.add_argument("--numbers", type=list_of(float))
    text = ",".join(map(repr, numbers))
    assert parser.parse_args(["try", "--numbers", text]).numbers == numbers
