import json
import shutil
from pathlib import Path

import pytest

from tests.cli.run import Capture, Made, flags, run_here
from tests.runs.toy import the_run
from tests.studies.quick import make_quick
from workflow_rl.cli import main

QUICK = flags(
    "--max-steps 10 --transitions 2500 --seeds 1 --seed 4 --presets parallel25 --red-agent meander"
)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The directory of a finished comparison, and what was printed about it."""
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        shown = run_here("compare-updates", *QUICK, cwd=folder)
    return the_run(folder / "logs"), shown


def test_the_command_trains_measures_and_tells(comparison: Made) -> None:
    path, shown = comparison
    assert "this would never update: 50 episodes of 100 steps" in " ".join(shown.split())
    data = json.loads((path / "comparison.json").read_text())
    (found,) = data["presets"]
    assert (found["preset"], found["updates"], found["transitions"]) == ("parallel25", 10, 2_500)
    assert found["noise"]["samples"] == 250
    assert found["peak_mb"] > found["added_mb"] >= 0
    assert data["workflow"] == "op_server > enterprise > op_host > user > defender"
    assert (path / "comparison.html").stat().st_size > 1_000_000
    assert "\x1b" not in shown


def test_finished_trainings_are_not_repeated(comparison: Made, capsys: Capture) -> None:
    path, _ = comparison
    files = [path / "trainings" / "parallel25_4.json", path / "gradients.json"]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    assert main(["compare-updates", "--resume", str(path), "--reward-thresholds", "-30"]) == 0
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before
    assert " -30 " in capsys.readouterr().out


def test_a_training_of_other_settings_is_refused(
    comparison: Made, tmp_path: Path, capsys: Capture
) -> None:
    copy = Path(shutil.copytree(comparison[0], tmp_path / "copy"))
    file = copy / "trainings" / "parallel25_4.json"
    data = json.loads(file.read_text())
    data["job"]["seed"] = 5
    kept = json.dumps(data)
    for content, said in ((kept, "is damaged"), (kept, "other settings"), ("{}", "is damaged")):
        file.write_text(content)
        assert main(["compare-updates", "--resume", str(copy)]) == 2
        assert said in capsys.readouterr().err
        (copy / "manifest.json").unlink(missing_ok=True)  # which speaks first


def test_settings_that_resuming_would_ignore_are_refused(comparison: Made, capsys: Capture) -> None:
    for words, named in (
        ("--transitions 70000", "--transitions"),
        ("--red-agent sleep", "--red-agent"),
        ("--seeds 2", "--seeds or --seed"),
        ("--presets episode", "--presets"),
        ("--config lab.toml", "--config"),
    ):
        assert main(["compare-updates", "--resume", str(comparison[0]), *flags(words)]) == 2
        assert f"leave out {named}" in capsys.readouterr().err
