"""What flags and `--config FILE` ask for: a flag wins over the file, the file over the preset."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import TOY_SEARCH, Capture, Patch, refusal, run_here
from tests.runs.toy import assert_same, the_run
from workflow_rl.cli import build_parser
from workflow_rl.cli.experiment import experiment_config, refuse_other_settings
from workflow_rl.config import SECTIONS, ExperimentConfig, setting_fields
from workflow_rl.errors import InvalidInputError

TRAINING = ("search", "train", "landscape")
TOY = """
seed = 3
[game]
red_agent = "meander"
episode_length = 20
[train]
n_envs = 6
max_episodes = 2
hidden = [8]
[search]
n_workflows = 2
base_updates = 2
polish_updates = 1
score_games = 5
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(TOY)
    return tmp_path


def parsed(flags: str = "", command: str = "search") -> ExperimentConfig:
    return experiment_config(build_parser().parse_args([command, *flags.split()]))


# --- what the flags mean


def test_no_flags_are_the_documented_defaults() -> None:
    first = "--n-envs 200 --n-workflows 20 --max-episodes 50 --min-episodes 5 --red-agent bline"
    config = parsed(first)  # the documented example
    for command in TRAINING:
        assert config == parsed("", command) == ExperimentConfig()
    train = config.train
    assert (train.n_envs, train.max_episodes, train.min_updates) == (200, 50, 5)
    assert train.n_envs * train.rollout_steps(config.game.episode_length) == 20_000
    assert train.compliance_threshold == 0.95
    assert (config.search.n_workflows, config.search.gp_beta) == (20, 2.0)
    assert (config.game.red_agent, config.game.rules, config.seed) == ("bline", "main", 0)


def test_every_flag_reaches_its_field() -> None:
    given: dict[str, dict[str, Any]] = {
        "game": {"red_agent": "mixed", "rules": "competition", "episode_length": 30},
        "train": {"n_envs": 4, "max_episodes": 9, "min_updates": 2, "update_steps": 60},
        "ppo": {"epochs": 3, "minibatch_size": 50, "gamma": 0.9, "gae_lambda": 0.8},
        "search": {"strategy": "random", "gp_beta": 1.5, "warm_start": "nearest"},
        "backend": {"max_restarts": 3},
    }
    given["game"] |= {"observation": "cardiff", "green_agent": "active"}
    given["train"] |= {"compliance_threshold": 0.8, "compliance_view": "true", "hidden": (32, 16)}
    given["search"] |= {"polish_updates": 0, "ordered_results": True, "total_episodes": 99}
    words = ["--ppo", "documented", "--seed", "13"]
    for section, changes in given.items():
        for name, value in changes.items():
            field = setting_fields(SECTIONS[section])[name]
            words += [field.flags[0], *([] if value is True else [field.shown(value)])]
    assert parsed(" ".join(words)) == ExperimentConfig.preset(
        "parallel200", form="documented", seed=13, **given
    )


# --- files


@pytest.mark.parametrize("command", TRAINING)
def test_flags_win_over_the_file_and_the_file_over_the_preset(command: str, here: Path) -> None:
    (here / "lab.toml").write_text(f'preset = "hybrid"\n{TOY}')
    given: dict[str, Any] = {
        "game": {"red_agent": "meander", "episode_length": 20},
        "train": {"n_envs": 6, "max_episodes": 2, "hidden": (8,), "update_episodes": 1},
        "search": {"n_workflows": 2, "base_updates": 2, "polish_updates": 1, "score_games": 5},
    }
    one_each = "--config lab.toml --update-episodes 1"  # of the preset there are five
    assert parsed(one_each, command) == ExperimentConfig.preset("hybrid", seed=3, **given)
    given["train"]["n_envs"] = 9
    assert parsed(f"{one_each} --n-envs 9 --seed 0 --ppo modern", command) == (
        ExperimentConfig.preset("hybrid", form="modern", **given)
    )
    other = parsed("--config lab.toml --preset episode", command)
    assert other.train.update_episodes == 1


def test_a_search_is_the_same_by_flags_by_a_file_and_by_its_own_run(here: Path) -> None:
    quiet = ("search", "--no-report", "--checkpoint-dir")
    run_here(*quiet, "flags", *TOY_SEARCH, *["--seed", "3", "--red-agent", "meander"], cwd=here)
    run_here(*quiet, "file", "--config", "lab.toml", cwd=here)
    noted = the_run(here / "file") / "experiment_config.json"
    run_here(*quiet, "again", "--config", str(noted), cwd=here)
    assert_same(the_run(here / "flags"), the_run(here / "file"))
    assert_same(the_run(here / "file"), the_run(here / "again"))


def test_a_training_begun_again_follows_the_same_workflow(here: Path) -> None:
    order = "user,op_server,enterprise,op_host,defender"
    run_here("train", "--config", "lab.toml", "--workflow", order, cwd=here)
    noted = the_run(here / "logs") / "experiment_config.json"
    run_here("train", "--config", str(noted), "--checkpoint-dir", "again", cwd=here)
    first, again = (the_run(here / name) / "policies" for name in ("logs", "again"))
    for file in first.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes()


def test_a_landscape_by_playing_begun_again_is_the_same(here: Path) -> None:
    flags = "--policy universal --games 3 --max-steps 5 --seeds 2 --seed 7"
    run_here("landscape", *flags.split(), cwd=here)
    noted = the_run(here / "logs") / "experiment_config.json"
    run_here("landscape", "--config", str(noted), "--checkpoint-dir", "again", cwd=here)
    first, again = (
        json.loads((the_run(here / name) / "landscape.json").read_text())
        for name in ("logs", "again")
    )
    assert first["orders"] == again["orders"]
    assert again["seeds"] == [7, 8]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("search --config one.toml", "one policy without a workflow: use `workflow-rl train`"),
        ("train --config one.toml --workflow user", "leave out --workflow"),
        ("search --config run.json --preset hybrid", "every setting of a run: leave out --preset"),
        ("train --config run.json --ppo modern", "every setting of a run: leave out --ppo"),
        ("search --config few.toml --update-episodes 2", "(with the settings of few.toml)"),
    ],
)
def test_what_contradicts_a_file_is_refused(
    words: str, said: str, here: Path, capsys: Capture
) -> None:
    (here / "one.toml").write_text("[train]\nconditioned = false")
    noted = {"purpose": "train", "config": ExperimentConfig().as_json()}
    (here / "run.json").write_text(json.dumps(noted))
    (here / "few.toml").write_text("[train]\nmax_episodes = 1")
    assert said in refusal(words.split(), capsys, here)


# --- together with --resume


def others(flags: str, config: ExperimentConfig) -> str:
    """The flags that are refused, or nothing."""
    args = build_parser().parse_args(["search", *flags.split()])
    try:
        refuse_other_settings(args, config)
    except InvalidInputError as error:
        return str(error).partition("leave out ")[2]
    return ""


@pytest.mark.parametrize(
    "flags",
    [
        "--preset parallel25 --n-envs 30 --hidden 8x8 --red-agent RedMeanderAgent --seed 3",
        "--preset parallel25 --max-episodes 7 --ppo modern",
        "--preset standard --min-episodes 2 --max-steps 30 --ordered-results --gae-lambda 0.5",
    ],
)
def test_the_flags_a_run_was_begun_with_are_accepted_again(flags: str) -> None:
    begun = parsed(flags)
    assert others(flags, begun) == ""
    for flag in flags.split("--")[1:]:
        if not flag.startswith(("preset", "ppo")):
            assert others(f"--{flag}", begun) == ""


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--seed 9", "--seed"),
        ("--seed 0 --n-envs 200", "--n-envs, --seed"),
        ("--preset hybrid", "--preset"),
        ("--ppo documented", "--ppo"),
        ("--ppo tuned --min-episodes 5", "--min-updates"),
        ("--max-steps 30 --red-agent sleep", "--episode-length, --red-agent"),
        ("--vector pipes --strategy random --gamma 0.5", "--gamma, --strategy, --vector"),
    ],
)
def test_flags_that_say_something_else_are_named(flags: str, named: str) -> None:
    assert others(flags, parsed("--preset parallel25 --n-envs 30 --seed 3")) == named
