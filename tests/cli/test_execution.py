"""Where trainings run, and what carries their environments, changes no result."""

from pathlib import Path

import pytest

from tests.cli.run import Capture, flags
from tests.runs.toy import the_run
from workflow_rl.cli import main

# --- `--backend cyborg`; the rest of it needs CybORG itself


QUICK = flags(
    "--backend cyborg --n-envs 4 --max-steps 15 --hidden 8 --max-episodes 2 --env-workers 2"
)
WORKFLOW = "enterprise > op_server > op_host > user > defender"


@pytest.mark.cyborg
def test_a_search_runs_on_cyborg(tmp_path: Path, capsys: Capture) -> None:
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
