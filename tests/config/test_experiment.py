"""Configurations from Python, from JSON and from files: what is wrong is one sentence."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.config.test_setting import experiments
from workflow_rl.config import ComparisonConfig, ConfigFile, ExperimentConfig, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.store import CONFIG_FILE

AS_JSON = ExperimentConfig().as_json()
ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "it lacks game, ppo, train, search, population, backend, seed"),
        ([], "it is not a table of settings"),
        ({"game": {"planet": 1}, "ppo": {}}, "it lacks train, search, population, backend, seed"),
        (AS_JSON | {"game": {"planet": 1}}, "GameConfig has no setting 'planet': there are "),
        (AS_JSON | {"colour": 3}, "ExperimentConfig has no setting 'colour': there are game, "),
    ],
)
def test_data_that_is_no_configuration_is_refused(data: Any, why: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ExperimentConfig.from_json(data)
    assert str(caught.value).startswith(f"not a configuration of this version ({why}")
    assert "\n" not in str(caught.value)


# --- files


def toml(value: Any) -> str:
    """Plain data in TOML; what is None is left out."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items() if v is not None)
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@ONE_FOLDER
@given(config=experiments)
def test_any_configuration_comes_back_from_any_file(
    config: ExperimentConfig, tmp_path: Path
) -> None:
    stored = config.as_json()
    again = ExperimentConfig.from_json(json.loads(json.dumps(stored)))
    assert (again, again.game.red_weights) == (config, config.game.red_weights)
    run = written(tmp_path / CONFIG_FILE, json.dumps({"purpose": "search", "config": stored}))
    assert ExperimentConfig.from_file(run) == config
    text = "\n".join(f"{name} = {toml(value)}" for name, value in stored.items())
    assert ExperimentConfig.from_file(written(tmp_path / "mine.toml", text)) == config


RUN = '{"config": {"train": {"n_env'
WRONG: list[tuple[str, str, str]] = [  # the file, what stands in it, what is said after its name
    ("a.toml", "= 3", " is not TOML: "),
    ("a.toml", "\xff", " is not TOML: "),
    ("a.toml", "[training]", ": there is no section or setting 'training': there "),
    ("a.toml", "[train]\nn_env = 3", ": train has no setting 'n_env': there are"),
    ("a.toml", "train = 3", ": train must be a table, not 3"),
    ("a.toml", "[train]\nn_envs = 'x'", ": train.n_envs: n_envs must be a whole number"),
    ("a.toml", "[ppo]\nanneal = 1", ": ppo.anneal: anneal must be True or False, not 1"),
    ("a.toml", "[game]\nrules = 'x'", ": game.rules: unknown rule set 'x': choose"),
    ("a.toml", f"seed = {2**63}", ": seed: seed must be a whole number from 0"),
    ("a.toml", "preset = 'fast'", ": preset: unknown preset 'fast'"),
    ("a.toml", "form = 'best'", ": form: unknown form of PPO 'best'"),
    ("a.toml", "[train]\nunits = 'x'", ": train.units: unknown units 'x'"),
    ("a.toml", "[train]\nmax_episodes = 1\nupdate_episodes = 2", ": this would never upd"),
    ("a.json", "{", " is not JSON"),
    ("a.json", "[" * 100_000, " is not JSON"),
    ("a.json", "[]", " is not a table of settings"),
    ("a.json", "{}", " is no configuration of a run"),
    ("a.json", f'{RUN}s": null}}}}}}', ": train.n_envs: n_envs must be"),
    ("a.json", '{"config": {}, "plan": 3}', ": plan must be a table, not 3"),
]


@pytest.mark.parametrize(("name", "text", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_a_mistake_in_a_file_is_one_sentence(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInputError) as caught:
        ExperimentConfig.from_file(file)
    assert str(caught.value).startswith(f"{file}{said}")
    assert "\n" not in str(caught.value)


# --- comparisons


def test_a_comparison_comes_back_from_its_run_s_file(tmp_path: Path) -> None:
    plan = ComparisonConfig(game=GameConfig("meander"), presets=("episode",), seeds=(4, 5), order=3)
    noted = {"purpose": "compare-updates", "config": {"seed": 4}, "plan": plan.as_json()}
    file = written(tmp_path / CONFIG_FILE, json.dumps(noted))
    assert ComparisonConfig.from_file(file) == plan
    assert ConfigFile.read(file).plan_for("search", ()) == {}  # another command's plan
    written(file, json.dumps(noted | {"purpose": "search"}))
    with pytest.raises(InvalidInputError, match="is not of a comparison, but of a search"):
        ComparisonConfig.from_file(file)


def test_a_comparison_in_toml_has_a_plan_a_game_and_a_seed(tmp_path: Path) -> None:
    text = 'seed = 9\nform = "modern"\n[game]\nrules = "competition"\n[plan]\npresets = ["hybrid"]'
    assert ComparisonConfig.from_file(written(tmp_path / "a.toml", text)) == ComparisonConfig(
        game=GameConfig(rules="competition"), ppo="modern", presets=("hybrid",), seeds=(9, 10, 11)
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[train]\nn_envs = 3", "a comparison takes no train from a file"),
        ('preset = "hybrid"', "a comparison takes no preset from a file"),
        ("[plan]\nspeed = 3", "plan has no setting 'speed'"),
        ("[plan]\norder = 120", "plan.order: the order must be a whole number from 0 to 119"),
        ("[plan]\ntransitions = 5", "the preset episode would never update"),
    ],
)
def test_what_a_comparison_cannot_take_is_named(text: str, said: str, tmp_path: Path) -> None:
    file = written(tmp_path / "a.toml", text)
    with pytest.raises(InvalidInputError) as caught:
        ComparisonConfig.from_file(file)
    assert str(caught.value).startswith(f"{file}: {said}")
