"""Flags are made from settings: every one is there, with the default and the names it has."""

import argparse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.cli import build_parser
from workflow_rl.cli.arguments import (
    Parser,
    add_command,
    add_setting,
    add_settings,
    given_settings,
    list_of,
)
from workflow_rl.cli.experiment import execution_of, experiment_config
from workflow_rl.config import (
    DEFAULT_PPO,
    PPO_FORM,
    PPO_FORMS,
    PRESET,
    BackendConfig,
    ComparisonConfig,
    Execution,
    ExperimentConfig,
    GameConfig,
    SearchConfig,
    Setting,
    TrainConfig,
    setting_fields,
)

COMMANDS: dict[str, dict[str, Any]] = {  # what each takes, with what is so without a flag
    "search": {
        "game": GameConfig(),
        "train": TrainConfig(),
        "ppo": PPO_FORMS[DEFAULT_PPO],
        "search": SearchConfig(),
        "backend": BackendConfig(),
        "execution": Execution(),
    },
    "train": {
        "game": GameConfig(),
        "train": TrainConfig(),
        "ppo": PPO_FORMS[DEFAULT_PPO],
        "backend": BackendConfig(),
    },
    "landscape": {
        "game": GameConfig(),
        "train": TrainConfig(stop_at="budget"),
        "ppo": PPO_FORMS[DEFAULT_PPO],
        "backend": BackendConfig(),
        "execution": Execution(),
    },
}


def parser_of(command: str) -> argparse.ArgumentParser:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices[command]  # type: ignore[no-any-return]
    raise AssertionError(command)


def helps(command: str) -> dict[str, str]:
    """The help of every flag, by each of its names."""
    actions = parser_of(command)._actions
    return {name: action.help or "" for action in actions for name in action.option_strings}


def flagged(config: Any) -> list[tuple[Setting, Any]]:
    fields = setting_fields(type(config))
    return [(f, getattr(config, n)) for n, f in fields.items() if f.flags]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_with_a_flag_has_it_with_all_names_and_its_default(command: str) -> None:
    shown = helps(command)
    for config in COMMANDS[command].values():
        for field, default in flagged(config):
            for name in field.flags:
                assert shown[name].startswith(field.text)
                assert f"(default: {field.shown(default)}" in shown[name]
                assert shown[name].count("(default: ") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_name_to_choose_from_is_offered_in_help(command: str) -> None:
    shown = helps(command)
    fields = [f for config in COMMANDS[command].values() for f, _ in flagged(config)]
    for field in [*fields, PRESET, PPO_FORM]:
        for choice in field.choices:
            assert choice in shown[field.flags[0]].partition("(default: ")[0]


def test_the_comparison_has_the_flags_of_its_settings() -> None:
    shown = helps("compare-updates")
    for field, _ in flagged(ComparisonConfig()):
        for name in field.flags:
            for choice in field.choices:
                assert choice in shown[name]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_flags_nothing_is_set_and_the_defaults_count(command: str) -> None:
    args = build_parser().parse_args([command])
    assert not [name for name in vars(args) if "." in name]
    assert experiment_config(args) == ExperimentConfig()
    assert execution_of(args) == Execution()


@given(field=st.sampled_from([f for c in COMMANDS["search"].values() for f, _ in flagged(c)]))
def test_a_flag_that_is_given_its_default_reads_as_the_fields_default(field: Setting) -> None:
    parser = argparse.ArgumentParser()
    add_setting(parser, field)
    absent = getattr(parser.parse_args([]), field.name)
    assert field.check(absent) == field.default
    if field.default not in (None, ()) and field.type is not bool:
        for name in field.flags:
            args = parser.parse_args([name, field.shown(field.default)])
            assert field.check(getattr(args, field.name)) == field.default


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("search", ("--episode-length", "--max-steps")),
        ("train", ("--episode-length", "--max-steps")),
        ("landscape", ("--episode-length", "--max-steps")),
        ("search", ("--min-updates", "--min-episodes")),
    ],
)
def test_a_flags_names_mean_the_same(command: str, names: tuple[str, ...]) -> None:
    configs = [experiment_config(build_parser().parse_args([command, n, "4"])) for n in names]
    assert all(config == configs[0] != ExperimentConfig() for config in configs)


@pytest.mark.parametrize("command", ["select somewhere", "replay somewhere"])
@pytest.mark.parametrize("name", ["--episode-length", "--steps", "--max-steps"])
def test_an_episodes_length_has_one_name_everywhere(command: str, name: str) -> None:
    assert build_parser().parse_args([*command.split(), name, "30"]).steps == 30


@pytest.mark.parametrize("name", ["--episode-length", "--max-steps"])
def test_play_takes_the_length_by_both_names(name: str) -> None:
    assert build_parser().parse_args(["play", name, "30"]).episode_length == 30


@pytest.mark.parametrize("name", ["--episode-length", "--steps"])
def test_evaluate_takes_lengths_by_both_names(name: str) -> None:
    assert build_parser().parse_args(["evaluate", "greedy", name, "30,50"]).steps == [30, 50]


# --- lists


@pytest.mark.parametrize(
    "words",
    [
        ["--reward-thresholds=-200,-50.5"],
        ["--reward-thresholds", "-200,-50.5"],
        ["--reward-thresholds", "-200", "-50.5"],
        ["--reward-thresholds", "-2e2,-50.5", "--seed", "3"],
        ["--reward-thresholds", " -200 , -50.5"],
    ],
)
def test_negative_numbers_can_be_listed_in_every_way(words: list[str]) -> None:
    args = build_parser().parse_args(["compare-updates", *words])
    assert args.reward_thresholds == [-200.0, -50.5]


@pytest.mark.parametrize("text", ["64,32", "64x32", " 64, 32 ", "64,32,"])
def test_hidden_layers_can_be_listed_with_commas_or_x(text: str) -> None:
    config = experiment_config(build_parser().parse_args(["search", "--hidden", text]))
    assert config.train.hidden == (64, 32)


@pytest.mark.parametrize("words", [["30,100"], ["30", "100"]])
def test_lengths_of_live_play_can_be_listed_with_commas_or_spaces(words: list[str]) -> None:
    args = build_parser().parse_args(["parity", "--live", "--episode-length", *words])
    assert args.episode_length == [30, 100]


@pytest.mark.parametrize("words", [["random,busy"], ["random", "busy"]])
def test_blues_of_live_play_can_be_listed_with_commas_or_spaces(words: list[str]) -> None:
    assert build_parser().parse_args(["parity", "--live", "--blue", *words]).blue == [
        "random",
        "busy",
    ]


def test_a_file_with_a_comma_in_its_name_is_one_blue(tmp_path: Any) -> None:
    file = tmp_path / "a,b.safetensors"
    file.touch()
    args = build_parser().parse_args(["parity", "--live", "--blue", str(file), "busy"])
    assert args.blue == [str(file), "busy"]


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_any_list_of_numbers_is_read_after_a_flag(numbers: list[float]) -> None:
    parser = Parser()
    command = add_command(parser.add_subparsers(), "try", "try it", "try")
    command.add_argument("--numbers", type=list_of(float))
    text = ",".join(map(repr, numbers))
    assert parser.parse_args(["try", "--numbers", text]).numbers == numbers


def test_sections_are_told_apart() -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser, "train", TrainConfig(), without=("n_envs",))
    args = parser.parse_args(["--max-episodes", "3", "--hidden", "8"])
    assert given_settings(args, "train") == {"max_episodes": 3, "hidden": [8]}
    assert given_settings(args, "tra") == {}
    with pytest.raises(SystemExit):
        parser.parse_args(["--n-envs", "3"])


def test_a_flag_that_may_be_given_several_times_gives_a_list() -> None:
    parser = argparse.ArgumentParser()
    add_setting(parser, setting_fields(TrainConfig)["require"])
    args = parser.parse_args(["--require", "a > b", "--require", "c > d"])
    assert args.require == ["a > b", "c > d"]
    assert parser.parse_args([]).require == []
