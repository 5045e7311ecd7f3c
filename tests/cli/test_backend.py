"""`--backend cyborg` in search and train; the rest of it needs CybORG itself."""

import os
from pathlib import Path

import pytest

from tests.runs.toy import csv_rows, the_run
from workflow_rl.cli import main

QUICK = ["--backend", "cyborg", "--n-envs", "4", "--max-steps", "15", "--hidden", "8"]
QUICK += ["--max-episodes", "2", "--env-workers", "2"]
WORKFLOW = "enterprise > op_server > op_host > user > defender"


@pytest.mark.parametrize("command", ["search", "train"])
def test_without_cyborg_one_sentence_says_what_to_install_and_nothing_is_written(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--backend", "cyborg", "--cyborg-path", str(tmp_path)]
    assert main([command, *flags, "--checkpoint-dir", str(tmp_path / "logs")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "CybORG" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--backend", "other"], "cage2, cyborg"),
        (["--vector", "carrier-pigeon"], "shared, pipes, serial"),
        (["--vector-mode", "later"], "sync, async"),
        (["--vector", "pipes", "--vector-mode", "async"], "async"),
        (["--env-workers", "0"], "from 1"),
        (["--step-timeout", "-1"], "above 0"),
        (["--vector-mode", "async", "--action-space", "cardiff"], "sync"),
    ],
)
def test_a_mistake_is_one_sentence(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *flags, "--checkpoint-dir", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cyborg
def test_training_is_the_same_whatever_carries_the_environments(tmp_path: Path) -> None:
    rewards = []
    for way in (["--vector-mode", "async"], [], ["--vector", "serial"], ["--vector", "pipes"]):
        folder = tmp_path / "-".join(way)
        flags = [*QUICK, *way, "--workflow", WORKFLOW, "--checkpoint-dir", str(folder)]
        assert main(["train", *flags]) == 0
        rows = csv_rows(the_run(folder) / "training_log.csv")
        rewards.append([row["env_reward"] for row in rows])
        assert {row["episodes"] for row in rows} == {"4"}
    assert rewards[1:] == rewards[:-1]


@pytest.mark.cyborg
def test_a_search_runs_on_cyborg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--score-games",
        "5",
        "--n-workflows",
        "2",
        "--base-updates",
        "1",
        "--polish-updates",
        "1",
    ]
    assert main(["search", *QUICK, *flags, "--checkpoint-dir", str(tmp_path / "logs")]) == 0
    assert "recommended: " in capsys.readouterr().out
    directory = the_run(tmp_path / "logs")
    policy = directory / "policies" / "recommended.safetensors"
    arguments = ["--episodes", "2", "--steps", "15", "--red-agent", "bline"]
    for backend in ("cage2", "cyborg"):
        output = ["--output", str(tmp_path / backend)]
        assert main(["evaluate", str(policy), "--backend", backend, *arguments, *output]) == 0
    assert main(["search", "--resume", str(directory)]) == 0
    assert os.listdir(directory / "policies")
