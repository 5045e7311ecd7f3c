"""Flags are made from settings: every one is there, with the default and the names it has."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from workflow_rl.cli import build_parser
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
    PopulationConfig,
    Setting,
    TrainConfig,
    setting_fields,
)

SEARCH = ExperimentConfig.for_search(Asked())
EVERYWHERE: list[Any] = [GameConfig(), PPO_FORMS[DEFAULT_PPO], BackendConfig()]
COMMANDS: dict[str, list[Any]] = {  # what each takes, with what is so without a flag
    "search": [*(getattr(SEARCH, n) for n in SECTIONS if n != "population"), Execution()],
    "train": [*EVERYWHERE, TrainConfig(), PopulationConfig()],
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


# --- lists


@pytest.mark.parametrize(
    "words", [["-200,-50.5"], ["-200", "-50.5"], ["-2e2,-50.5", "--seed", "3"], [" -200 , -50.5"]]
)
def test_negative_numbers_can_be_listed_in_every_way(words: list[str]) -> None:
    flag = "--reward-thresholds"
    args = build_parser().parse_args(["compare-updates", flag, *words])
    assert args.reward_thresholds == [-200.0, -50.5]
    args = build_parser().parse_args(["compare-updates", f"{flag}={words[0]}"])
    assert args.reward_thresholds[0] == -200.0


def test_lists_are_written_with_commas_or_spaces(tmp_path: Path) -> None:
    file = tmp_path / "a,b.safetensors"  # a comma in a name divides nothing
    file.touch()

    def read(words: str) -> argparse.Namespace:
        return build_parser().parse_args(words.split())

    for words in ("64,32", "64x32", "64,32,"):
        assert vars(read(f"search --hidden {words}"))["train.hidden"] == [64, 32]
    for words in ("30,100", "30 100"):
        assert read(f"parity --live --episode-length {words}").episode_length == [30, 100]
    for words in ("random,busy", "random busy"):
        assert read(f"parity --live --blue {words}").blue == ["random", "busy"]
    assert read(f"parity --live --blue {file} busy").blue == [str(file), "busy"]
    for name in ("--episode-length", "--steps"):
        assert read(f"evaluate greedy {name} 30,50").steps == [30, 50]
