"""Trainings at toy size: what they show and leave, killed and resumed."""

from pathlib import Path

import pytest

from tests.cli.run import TOY_TRAIN, Capture, Made, flags, run_here
from tests.runs.toy import episode_rows, the_run
from workflow_rl import evaluate, load_policy
from workflow_rl.cli import main
from workflow_rl.workflow.orders import TYPES

WORKFLOW = "op_server > enterprise > op_host > user > defender"
QUICK = [*TOY_TRAIN, "--max-episodes", "3"]


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
    assert lines[-1].endswith(f"policies/recommended.safetensors in logs/{path.name}")
    assert "\x1b" not in shown
    policy = load_policy(path)
    assert policy.order == TYPES.read(WORKFLOW)
    assert policy.config.game.episode_length == 20
    evaluate(policy, episodes=2, steps=[20], red_agents=["bline"])


def test_without_a_workflow_all_orders_are_learned(tmp_path: Path) -> None:
    directory = trained(tmp_path)
    policy = load_policy(directory)
    assert policy.order is None
    assert policy.is_conditioned
    assert len({row["workflow"] for row in episode_rows(directory)}) > 10


# --- going on


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
