"""Trainings at toy size: what they show and leave, killed and resumed."""

import json
import re
import signal
from pathlib import Path

import pytest

from tests.cli.run import TOY_TRAIN, Capture, Made, flags, run_here
from tests.runs.processes import running, updates, wait_until
from tests.runs.test_train import assert_same_training
from tests.runs.toy import csv_rows, episode_rows, the_run
from workflow_rl import evaluate, load_policy
from workflow_rl.cli import main
from workflow_rl.config import ObservationName
from workflow_rl.workflow.orders import TYPES

WORKFLOW = "op_server > enterprise > op_host > user > defender"
QUICK = [*TOY_TRAIN, "--max-episodes", "3"]
LONG = flags("--n-envs 4 --max-steps 10 --max-episodes 400 --hidden 8 --seed 5 --stop-at budget")
LONG += ["--workflow", WORKFLOW]


def trained(folder: Path, *more: str) -> Path:
    assert main(["train", *QUICK, *more, "--checkpoint-dir", str(folder)]) == 0
    return the_run(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The run of the documented command, and what it printed."""
    folder = tmp_path_factory.mktemp("train")
    more = ("--workflow", WORKFLOW, "--seed", "3", "--red-agent", "SleepAgent")
    shown = run_here("train", *QUICK, *more, cwd=folder)
    return the_run(folder / "logs"), shown


def test_the_documented_command_trains_one_workflow(made: Made) -> None:
    path, shown = made
    lines = shown.splitlines()
    assert lines[0].endswith(f"run directory logs/{path.name}")
    assert f"training: {WORKFLOW}" in lines
    told = " ".join(shown.split())
    assert re.search(rf"{WORKFLOW}: reward of the last episodes -?\d+\.\d+ ± \d+", told)
    assert lines[-1].endswith(f"policies/recommended.safetensors in logs/{path.name}")
    assert "\x1b" not in shown
    policy = load_policy(path)
    assert policy.order == TYPES.read(WORKFLOW)
    assert policy.config.game.episode_length == 20
    evaluate(policy, episodes=2, steps=[20], red_agents=["bline"])


def test_everything_about_a_training_is_written(made: Made) -> None:
    path, _ = made
    rows = csv_rows(path / "training_log.csv")
    assert [(row["training"], row["workflow"], row["update"]) for row in rows] == [
        ("training", WORKFLOW, str(number)) for number in (1, 2, 3)
    ]
    episodes = episode_rows(path)
    assert len(episodes) == 18
    assert {row["workflow"] for row in episodes} == {WORKFLOW}
    noted = json.loads((path / "experiment_config.json").read_text())
    assert (noted["purpose"], noted["plan"]) == ("train", {"workflow": WORKFLOW})
    assert (noted["config"]["game"]["red_agent"], noted["config"]["seed"]) == ("sleep", 3)
    summary = json.loads((path / "summary.json").read_text())
    assert (summary["workflow"], summary["rules"], summary["updates"]) == (WORKFLOW, "main", 3)
    assert list((path / "tensorboard" / "training").glob("events.out.tfevents.*"))


def test_same_seed_same_policy_however_the_workflow_is_written(tmp_path: Path) -> None:
    ways = ((WORKFLOW, "1"), (WORKFLOW.replace(" > ", ","), "1"), (WORKFLOW.replace(">", "→"), "2"))
    runs = [
        trained(tmp_path / str(number), "--workflow", text, "--seed", seed)
        for number, (text, seed) in enumerate(ways)
    ]
    first, same, other = (
        (path / "policies" / "recommended.safetensors").read_bytes() for path in runs
    )
    assert first == same != other


def test_without_a_workflow_all_orders_are_learned(tmp_path: Path) -> None:
    directory = trained(tmp_path)
    policy = load_policy(directory)
    assert policy.order is None
    assert policy.is_conditioned
    assert len({row["workflow"] for row in episode_rows(directory)}) > 10


@pytest.mark.parametrize(
    ("more", "observation", "size", "outputs"),
    [
        ("", "cardiff", 62, 36),
        ("--action-space all --observation challenge", "challenge", 52, 145),
    ],
)
def test_the_preset_original_trains_without_any_workflow(
    tmp_path: Path, more: str, observation: ObservationName, size: int, outputs: int
) -> None:
    short = "--preset original --n-envs 10 --update-steps 200 --max-episodes 4"
    directory = trained(tmp_path, *flags(f"{short} {more}"))
    policy = load_policy(directory)
    assert not policy.is_conditioned
    assert policy.order is None
    assert (policy.observation.size, policy.action_space.size) == (size, outputs)
    assert policy.observation.name == observation
    evaluate(policy, episodes=2, steps=[20], red_agents=["bline"])
    assert {row["alignment"] for row in episode_rows(directory)} == {0.0}
    assert len(csv_rows(directory / "training_log.csv")) == 4


# --- going on


def test_a_killed_training_is_resumed_exactly(tmp_path: Path, capsys: Capture) -> None:
    assert main(["train", *LONG, "--checkpoint-dir", str(tmp_path / "whole")]) == 0
    told = capsys.readouterr().out.splitlines()
    whole = the_run(tmp_path / "whole")
    killed = tmp_path / "killed"
    with running(*LONG, "--checkpoint-dir", str(killed), command="train") as process:
        wait_until(lambda: updates(killed, "training") >= 5, process)
        process.kill()
        process.wait()
    path = the_run(killed)
    assert not (path / "summary.json").exists()
    with running("--resume", str(path), command="train") as process:
        before = updates(killed, "training")
        wait_until(lambda: updates(killed, "training") >= before + 5, process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: workflow-rl train --resume {path}" in out
    assert "Traceback" not in err
    for _ in range(2):  # the second time there is nothing left to do
        assert main(["train", "--resume", str(path)]) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[-3:-1] == told[-3:-1]
        assert_same_training(path, whole)
        assert len(csv_rows(path / "training_log.csv")) == 400


def test_what_resuming_would_ignore_is_refused(made: Made, capsys: Capture) -> None:
    resume = ["train", "--resume", str(made[0])]
    for words, named in (
        ("--seed 9", "--seed"),
        ("--workflow user,op_server,enterprise,op_host,defender", "--workflow"),
        ("--config lab.toml", "--config"),
        ("--n-envs 7", "--n-envs"),
    ):
        assert main([*resume, *flags(words)]) == 2
        assert f"leave out {named}\n" in capsys.readouterr().err
    assert main([*resume, "--workflow", WORKFLOW, "--n-envs", "6"]) == 0  # as it was begun


def test_a_training_is_not_resumed_as_a_search(made: Made, capsys: Capture) -> None:
    files = [path for path in made[0].rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    assert main(["search", "--resume", str(made[0])]) == 2
    assert "`workflow-rl train`" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in files} == before
