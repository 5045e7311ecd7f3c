"""Where trainings run is a flag of every command that has many of them, and changes no result."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run, said
from tests.runs.toy import the_run

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
    for name, flags in places.items():
        result = run(*command.split(), *flags, "--checkpoint-dir", str(tmp_path / name))
        assert (result.returncode, said(result.stderr)) == (0, "")
    here, ray = (measured(tmp_path / name) for name in places)
    if command == LANDSCAPE:  # which says how many at a time
        for found in (here, ray):
            del found["config"]["search"]["parallel_workflows"]
    assert ray == here
