"""`--backend cyborg` in search and train; the rest of it needs CybORG itself."""

import os
from pathlib import Path

import pytest

from tests.cli.run import flags
from tests.runs.toy import csv_rows, the_run
from workflow_rl.cli import main

QUICK = flags(
    "--backend cyborg --n-envs 4 --max-steps 15 --hidden 8 --max-episodes 2 --env-workers 2"
)
WORKFLOW = "enterprise > op_server > op_host > user > defender"


@pytest.mark.cyborg
def test_training_is_the_same_whatever_carries_the_environments(tmp_path: Path) -> None:
    rewards = []
    for way in (["--vector-mode", "async"], [], ["--vector", "serial"], ["--vector", "pipes"]):
        folder = tmp_path / "-".join(way)
        more = [*way, "--workflow", WORKFLOW, "--checkpoint-dir", str(folder)]
        assert main(["train", *QUICK, *more]) == 0
        rows = csv_rows(the_run(folder) / "training_log.csv")
        rewards.append([row["env_reward"] for row in rows])
        assert {row["episodes"] for row in rows} == {"4"}
    assert rewards[1:] == rewards[:-1]


@pytest.mark.cyborg
def test_a_search_runs_on_cyborg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = flags("--score-games 5 --n-workflows 2 --base-updates 1 --polish-updates 1")
    assert main(["search", *QUICK, *few, "--checkpoint-dir", str(tmp_path / "logs")]) == 0
    assert "recommended: " in capsys.readouterr().out
    directory = the_run(tmp_path / "logs")
    policy = directory / "policies" / "recommended.safetensors"
    arguments = ["--episodes", "2", "--steps", "15", "--red-agent", "bline"]
    for backend in ("cage2", "cyborg"):
        output = ["--output", str(tmp_path / backend)]
        assert main(["evaluate", str(policy), "--backend", backend, *arguments, *output]) == 0
    assert main(["search", "--resume", str(directory)]) == 0
    assert os.listdir(directory / "policies")
