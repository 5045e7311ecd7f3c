import json
import shutil
from pathlib import Path

import pytest

from tests.cli.run import refusal, run_here
from tests.runs.toy import the_run
from tests.studies.comparison.quick import make_quick
from workflow_rl.cli import main

QUICK: tuple[str, ...] = (
    "--max-steps",
    "10",
    "--transitions",
    "2500",
    "--seeds",
    "1",
    "--seed",
    "4",
)
QUICK += ("--presets", "parallel25", "--red-agent", "meander")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a finished comparison, and what was printed about it."""
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        shown = run_here("compare-updates", *QUICK, cwd=folder)
    return the_run(folder / "logs"), shown


def test_the_command_trains_measures_and_tells(comparison: tuple[Path, str]) -> None:
    path, shown = comparison
    lines = shown.splitlines()
    assert lines[0].startswith("red meander, rules main, 2,500 transitions, seeds 4, op_server > ")
    assert "parallel25, seed 4" in lines
    assert "after 2,500 transitions: red meander, rules main, 1 seeds" in shown
    assert "this would never update: 50 episodes of 100 steps are 5000 steps" in shown
    data = json.loads((path / "comparison.json").read_text())
    (found,) = data["presets"]
    assert (found["preset"], found["updates"], found["transitions"]) == ("parallel25", 10, 2_500)
    assert found["noise"]["samples"] == 250
    assert found["peak_mb"] > found["added_mb"] >= 0
    assert data["workflow"] == "op_server > enterprise > op_host > user > defender"
    assert data["rules"] == "main"
    assert (path / "comparison.html").stat().st_size > 1_000_000
    assert "\x1b" not in shown


def test_finished_trainings_are_kept_and_not_repeated(
    comparison: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, shown = comparison
    files = [path / "trainings" / "parallel25_4.json", path / "gradients.json"]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    assert main(["compare-updates", "--resume", str(path), "--reward-thresholds", "-30"]) == 0
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before
    again = capsys.readouterr().out
    assert "how soon a reward is reached first" in again
    assert " -30 " in again
    first_table = shown[shown.index("after 2,500") : shown.index("what a step knows")]
    assert "".join(first_table.split()) in "".join(again.split())


def test_a_kept_training_of_other_settings_is_refused(
    comparison: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(comparison[0], tmp_path / "copy"))
    file = copy / "trainings" / "parallel25_4.json"
    data = json.loads(file.read_text())
    data["job"]["seed"] = 5
    file.write_text(json.dumps(data))
    assert main(["compare-updates", "--resume", str(copy)]) == 2
    assert "other settings" in capsys.readouterr().err
    file.write_text("{}")
    assert main(["compare-updates", "--resume", str(copy)]) == 2
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--transitions", "70000"), "--transitions"),
        (("--red-agent", "sleep"), "--red-agent"),
        (("--seeds", "2"), "--seeds or --seed"),
        (("--presets", "episode"), "--presets"),
    ],
)
def test_settings_that_resuming_would_ignore_are_refused(
    comparison: tuple[Path, str],
    flags: tuple[str, ...],
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare-updates", "--resume", str(comparison[0]), *flags]) == 2
    assert f"leave out {named}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--transitions", "5000"), "the preset parallel200 would never update"),
        (("--presets", "fast"), "unknown preset 'fast'"),
        (("--seeds", "0"), "--seeds must be a whole number from 1"),
        (("--parallel-trainings", "0"), "--parallel-trainings must be a whole number from 1"),
        (("--workflow", "user > user"), "is not a workflow"),
        (("--ppo", "best"), "unknown form of PPO"),
        (("--resume", "nowhere"), "not a run directory"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    tmp_path: Path,
    flags: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refusal(["compare-updates", *flags], capsys, tmp_path)
