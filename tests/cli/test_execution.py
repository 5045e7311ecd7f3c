"""Where trainings run, and what carries their environments, changes no result."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Capture, flags, run, said
from tests.runs.toy import csv_rows, the_run
from workflow_rl.cli import main

LANDSCAPE = (
    "landscape --n-envs 4 --max-steps 10 --max-episodes 2 --min-episodes 1 --score-games 5 "
    "--base-updates 2 --hidden 8 --seeds 1 --replays 2"
)
COMPARISON = "compare-updates --max-steps 10 --transitions 5000 --seeds 2 --presets parallel25"
COSTS = ("seconds", "wall_seconds", "peak_mb", "added_mb")


def measured(folder: Path) -> dict[str, Any]:
    """What was found, but for what it cost."""
    path = the_run(folder)
    if (path / "landscape.json").exists():
        found = json.loads((path / "landscape.json").read_text())
        return {key: found[key] for key in found if key not in ("created", "command")}
    files = sorted((path / "trainings").iterdir())
    contents = [json.loads(file.read_text())["content"] for file in files]
    for content in contents:
        del content["curve"]["seconds"]
    return {
        file.name: {key: value for key, value in content.items() if key not in COSTS}
        for file, content in zip(files, contents, strict=True)
    }


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
@pytest.mark.parametrize("command", [LANDSCAPE, COMPARISON])
def test_on_ray_the_same_is_found_as_here(command: str, tmp_path: Path) -> None:
    number = "--parallel-trainings" if command == COMPARISON else "--parallel-workflows"
    places: dict[str, tuple[str, ...]] = {"here": (), "ray": ("--executor", "ray", number, "2")}
    for name, more in places.items():
        result = run(*command.split(), *more, "--checkpoint-dir", str(tmp_path / name))
        assert (result.returncode, said(result.stderr)) == (0, "")
    here, ray = (measured(tmp_path / name) for name in places)
    if command == LANDSCAPE:  # which says how many at a time
        for found in (here, ray):
            del found["config"]["search"]["parallel_workflows"]
    assert ray == here


# --- `--backend cyborg`; the rest of it needs CybORG itself


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
