"""`--config FILE`: a flag wins over the file, the file over the preset; a run is such a file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import refusal, run_here
from tests.runs.toy import assert_same, the_run
from workflow_rl.cli import build_parser
from workflow_rl.cli.experiment import experiment_config
from workflow_rl.config import ExperimentConfig, TrainConfig

COMMANDS = ("search", "train", "landscape", "compare-updates")
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
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parsed(command: str, *flags: str) -> ExperimentConfig:
    return experiment_config(build_parser().parse_args([command, *flags]))


@pytest.mark.parametrize("command", ["search", "train", "landscape"])
def test_flags_win_over_the_file_and_the_file_over_the_preset(command: str, here: Path) -> None:
    (here / "lab.toml").write_text(f'preset = "hybrid"\n{TOY}')
    given: dict[str, Any] = {
        "game": {"red_agent": "meander", "episode_length": 20},
        "train": {"n_envs": 6, "max_episodes": 2, "hidden": (8,), "update_episodes": 1},
        "search": {"n_workflows": 2, "base_updates": 2, "polish_updates": 1, "score_games": 5},
    }
    one_each = ("--update-episodes", "1")  # of the preset there are five
    config = parsed(command, "--config", "lab.toml", *one_each)
    assert config == ExperimentConfig.preset("hybrid", seed=3, **given)
    flags = ("--n-envs", "9", "--seed", "0", "--ppo", "modern", *one_each)
    config = parsed(command, "--config", "lab.toml", *flags)
    given["train"]["n_envs"] = 9
    assert config == ExperimentConfig.preset("hybrid", form="modern", **given)
    assert parsed(command, "--config", "lab.toml", "--preset", "episode").train.update_episodes == 1


def test_a_search_is_the_same_by_flags_by_a_file_and_by_its_own_run(here: Path) -> None:
    (here / "lab.toml").write_text(TOY)
    flags = "--seed 3 --red-agent meander --max-steps 20 --n-envs 6 --max-episodes 2 --hidden 8 "
    flags += "--n-workflows 2 --base-updates 2 --polish-updates 1 --score-games 5"
    quiet = ("search", "--no-report", "--checkpoint-dir")
    run_here(*quiet, "flags", *flags.split(), cwd=here)
    run_here(*quiet, "file", "--config", "lab.toml", cwd=here)
    noted = the_run(here / "file") / "experiment_config.json"
    run_here(*quiet, "again", "--config", str(noted), cwd=here)
    assert_same(the_run(here / "flags"), the_run(here / "file"))
    assert_same(the_run(here / "file"), the_run(here / "again"))


def test_a_training_begun_again_follows_the_same_workflow(here: Path) -> None:
    (here / "lab.toml").write_text(TOY)
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


def test_a_landscape_trains_to_its_budget_unless_flag_or_file_says_otherwise(here: Path) -> None:
    def stops(*flags: str) -> str:
        args = build_parser().parse_args(["landscape", *flags])
        return experiment_config(args, train={"stop_at": "budget"}).train.stop_at

    (here / "a.toml").write_text("")
    (here / "b.toml").write_text('[train]\nstop_at = "compliance"')
    assert stops() == stops("--config", "a.toml") == "budget"
    assert stops("--config", "b.toml") == TrainConfig().stop_at == "compliance"
    assert stops("--config", "b.toml", "--stop-at", "budget") == "budget"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file lab.toml"),
        ("=", "lab.toml is not TOML: "),
        ("[training]", "lab.toml: there is no section or setting 'training': there are preset"),
        ("[game]\nspeed = 3", "lab.toml: game has no setting 'speed': there are red_agent"),
        ("[game]\nepisode_length = 'x'", "lab.toml: game.episode_length: episode_length must be"),
        ("[plan]\nspeed = 3", "lab.toml: plan has no setting 'speed'"),
    ],
)
def test_a_wrong_file_is_one_sentence_and_writes_nothing(
    command: str, text: str | None, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (here / "lab.toml").write_text(text)
    assert said in refusal([command, "--config", "lab.toml"], capsys, here)


def test_what_does_not_go_with_a_file_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "lab.toml").write_text("[train]\nconditioned = false")
    noted = {"purpose": "train", "config": ExperimentConfig().as_json()}
    (here / "run.json").write_text(json.dumps(noted))
    (here / "few.toml").write_text("[train]\nmax_episodes = 1")
    for words, said in (
        (
            "search --config lab.toml",
            "train one policy without a workflow: use `workflow-rl train`",
        ),
        ("train --config lab.toml --workflow user", "leave out --workflow"),
        ("search --config run.json --preset hybrid", "every setting of a run: leave out --preset"),
        ("train --config run.json --ppo modern", "every setting of a run: leave out --ppo"),
        ("search --config few.toml --update-episodes 2", "never update"),
        ("search --config few.toml --update-episodes 2", "(with the settings of few.toml)"),
    ):
        assert said in refusal(words.split(), capsys, here)
