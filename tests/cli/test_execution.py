"""Where trainings run is a flag of every command that has many of them, and changes no result."""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import refusal, run, said
from tests.runs.toy import the_run
from workflow_rl.cli import main

LANDSCAPE: tuple[str, ...] = (
    "landscape",
    "--n-envs",
    "4",
    "--max-steps",
    "10",
    "--max-episodes",
    "2",
)
LANDSCAPE += (
    "--score-games",
    "5",
    "--min-episodes",
    "1",
    "--base-updates",
    "2",
    "--hidden",
    "8",
    "--seeds",
    "1",
)
LANDSCAPE += ("--replays", "2")
COMPARISON: tuple[str, ...] = (
    "compare-updates",
    "--max-steps",
    "10",
    "--transitions",
    "5000",
    "--seeds",
    "2",
)
COMPARISON += ("--presets", "parallel25")
COSTS = ("seconds", "wall_seconds", "peak_mb", "added_mb")


@pytest.mark.parametrize("command", ["search", "landscape", "compare-updates"])
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--executor", "cloud"), "unknown executor 'cloud'"),
        (("--ray-address", "auto"), "--ray-address only goes with --executor ray"),
        (("--executor", "ray", "--ray-address", "127.0.0.1:1"), "no Ray cluster answers at"),
    ],
)
def test_a_wrong_place_is_one_sentence_and_leaves_nothing(
    command: str,
    flags: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "ray" in flags:
        pytest.importorskip("ray", reason="needs Ray")
    monkeypatch.chdir(tmp_path)
    assert said in refusal([command, *flags], capsys, tmp_path)


@pytest.mark.parametrize("command", ["search", "landscape", "compare-updates"])
def test_without_ray_the_install_command_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "workflow_rl.runs.ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([command, "--executor", "ray"]) == 2
    err = capsys.readouterr().err
    assert err.endswith("error: the executor ray needs ray: pip install '.[ray]'\n")


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
@pytest.mark.parametrize("command", [LANDSCAPE, COMPARISON], ids=lambda command: command[0])
def test_on_ray_the_same_is_found_as_here(command: tuple[str, ...], tmp_path: Path) -> None:
    number = "--parallel-trainings" if command == COMPARISON else "--parallel-workflows"
    places: dict[str, tuple[str, ...]] = {"here": (), "ray": ("--executor", "ray", number, "2")}
    for name, flags in places.items():
        result = run(*command, *flags, "--checkpoint-dir", str(tmp_path / name))
        assert (result.returncode, said(result.stderr)) == (0, "")
    here, ray = (measured(tmp_path / name) for name in places)
    if command == LANDSCAPE:  # which says how many at a time
        for found in (here, ray):
            del found["config"]["search"]["parallel_workflows"]
    assert ray == here
