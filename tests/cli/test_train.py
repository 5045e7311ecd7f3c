import json
import re
from pathlib import Path

import pytest

from tests.cli.run import complaint, run, run_here
from tests.runs.toy import csv_rows, episode_rows, the_run
from workflow_rl import Cage2Env, load_policy
from workflow_rl.cli import build_parser, main
from workflow_rl.cli.experiment import experiment_config
from workflow_rl.config import ObservationName
from workflow_rl.envs.agents import play_episodes
from workflow_rl.workflow.orders import TYPES

WORKFLOW = "op_server > enterprise > op_host > user > defender"
QUICK: tuple[str, ...] = (
    "--n-envs",
    "6",
    "--max-episodes",
    "3",
    "--max-steps",
    "20",
    "--hidden",
    "8",
)


def trained(folder: Path, *flags: str) -> Path:
    assert main(["train", *QUICK, *flags, "--checkpoint-dir", str(folder)]) == 0
    return the_run(folder)


def test_the_documented_command_trains_one_workflow(tmp_path: Path) -> None:
    shown = run_here("train", "--workflow", WORKFLOW, *QUICK, cwd=tmp_path)
    directory = the_run(tmp_path / "logs")
    lines = shown.splitlines()
    assert lines[0] == f"red bline, rules main, seed 0; run directory logs/{directory.name}"
    assert f"training: {WORKFLOW}" in lines
    assert re.match(rf"{WORKFLOW}: reward of the last episodes -\d+\.\d+ ± \d+", lines[-2])
    assert lines[-1].endswith(f"logs/{directory.name}/policies/recommended.safetensors")
    assert "\x1b" not in shown
    policy = load_policy(directory)
    assert policy.order == TYPES.read(WORKFLOW)
    assert policy.description["episode_length"] == 20
    play_episodes(policy, Cage2Env(episode_length=20), 2, seed=0)


def test_everything_about_a_training_is_written(tmp_path: Path) -> None:
    directory = trained(
        tmp_path, "--workflow", WORKFLOW, "--seed", "3", "--red-agent", "SleepAgent"
    )
    rows = csv_rows(directory / "training_log.csv")
    assert [(row["training"], row["workflow"], row["update"]) for row in rows] == [
        ("training", WORKFLOW, str(number)) for number in (1, 2, 3)
    ]
    episodes = episode_rows(directory)
    assert len(episodes) == 18
    assert {row["workflow"] for row in episodes} == {WORKFLOW}
    noted = json.loads((directory / "experiment_config.json").read_text())
    assert noted["purpose"] == "train"
    assert noted["config"]["game"]["red_agent"] == "sleep"
    assert noted["config"]["seed"] == 3
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["workflow"] == WORKFLOW
    assert summary["rules"] == "main"
    assert summary["updates"] == 3
    assert list((directory / "tensorboard").glob("events.out.tfevents.*"))


def test_same_seed_same_policy(tmp_path: Path) -> None:
    runs = [
        trained(tmp_path / str(number), "--workflow", WORKFLOW, "--seed", seed)
        for number, seed in enumerate(("1", "1", "2"))
    ]
    first, same, other = (
        (path / "policies" / "recommended.safetensors").read_bytes() for path in runs
    )
    assert first == same != other


@pytest.mark.parametrize("text", [WORKFLOW.replace(" > ", ","), WORKFLOW.replace(">", "→")])
def test_a_workflow_may_be_written_in_other_ways(tmp_path: Path, text: str) -> None:
    assert load_policy(trained(tmp_path, "--workflow", text)).order == TYPES.read(WORKFLOW)


def test_without_a_workflow_all_orders_are_learned(tmp_path: Path) -> None:
    directory = trained(tmp_path)
    policy = load_policy(directory)
    assert policy.order is None
    assert policy.is_conditioned
    assert len({row["workflow"] for row in episode_rows(directory)}) > 10


@pytest.mark.parametrize(
    ("more", "observation", "size", "outputs"),
    [
        ((), "cardiff", 62, 36),
        (("--action-space", "all", "--observation", "challenge"), "challenge", 52, 145),
    ],
)
def test_the_preset_original_trains_without_any_workflow(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    observation: ObservationName,
    size: int,
    outputs: int,
) -> None:
    flags = (*more, "--preset", "original", "--n-envs", "10", "--update-steps", "200")
    flags += ("--hidden", "8")
    flags += ("--max-episodes", "4", "--max-steps", "20", "--checkpoint-dir", str(tmp_path))
    assert main(["train", *flags]) == 0
    directory = the_run(tmp_path)
    policy = load_policy(directory)
    assert not policy.is_conditioned
    assert policy.order is None
    assert (policy.observation_size, policy.outputs) == (size, outputs)
    env = Cage2Env(episode_length=20, observation=observation)
    play_episodes(policy, env, 2, seed=0)
    assert {row["alignment"] for row in episode_rows(directory)} == {0.0}
    assert len(csv_rows(directory / "training_log.csv")) == 4
    assert "budget used" in capsys.readouterr().out


def test_the_preset_original_is_as_long_as_documented() -> None:
    args = build_parser().parse_args(["train", "--preset", "original"])
    config = experiment_config(args)
    length = config.game.episode_length
    assert length == 100
    assert config.train.n_envs * config.train.max_episodes == 100_000
    assert config.train.n_envs * config.train.rollout_steps(length) == 20_000
    assert config.ppo.epochs == 6


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--workflow", "user > defender"), "user > defender is not a workflow: name each of"),
        (("--workflow", ""), "is not a workflow: name each of"),
        (("--workflow", WORKFLOW.replace("user", "users")), "is not a workflow"),
        (("--workflow", WORKFLOW, "--preset", "original"), "original trains without a workflow"),
        (("--workflow", WORKFLOW, "--preset", "new"), "unknown preset 'new'"),
        (("--workflow", WORKFLOW, "--n-envs", "0"), "n_envs must be"),
        (("--workflow", WORKFLOW, "--device", "cuda"), "unknown device 'cuda'"),
        (("--forget", "scans"), "forget scans needs an observation with a memory: choose memory"),
        (("--observation", "memory", "--forget", "scans,gold"), "unknown entry to forget 'gold'"),
        (("--workflow", WORKFLOW, "--checkpoint-dir", "/dev/null/x"), "no run directory can be"),
    ],
)
def test_a_mistake_is_one_sentence_before_any_work(
    flags: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_workflow_is_one_line_of_a_process(tmp_path: Path) -> None:
    assert "is not a workflow" in complaint(run("train", "--workflow", "user", cwd=tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flag", ["--n-workflows", "--strategy", "--resume"])
def test_flags_of_the_search_are_not_those_of_a_training(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "--workflow", WORKFLOW, flag, "3"])
    assert stop.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err


def test_a_training_is_not_resumed_as_a_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = trained(tmp_path, "--workflow", WORKFLOW)
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["search", "--resume", str(directory)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "`workflow-rl train`" in err
    assert {p: p.read_bytes() for p in directory.rglob("*") if p.is_file()} == before


def test_help_states_each_default_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "default: None" not in words
    described = words[words.index("the game:") : words.index("examples:")]
    for flag in re.split("(?<!,) --", described)[1:]:  # another name of a flag follows a comma
        assert flag.count("(default: ") == 1, flag
