"""Raw logs that are not what a training wrote: said in a sentence, and nothing is lost."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.crash import Crash, crashing
from tests.runs.test_resume import snapshot
from tests.runs.toy import assert_same, run_search, the_run, tiny
from workflow_rl.cli import main

SMALL = tiny(n_workflows=2, base_updates=2, max_episodes=2, polish_updates=1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_search(SMALL, checkpoint_dir=tmp_path_factory.mktemp("logs")).path


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that died in a trial, after an update of it."""
    folder = tmp_path_factory.mktemp("logs")
    with crashing(24), pytest.raises(Crash):
        run_search(SMALL, checkpoint_dir=folder)
    run = the_run(folder)
    assert (run / "trainings" / "trial_000" / "checkpoint.safetensors").exists()
    return run


def copy_of(run: Path, folder: Path) -> Path:
    return Path(shutil.copytree(run, folder / run.name))


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def missing(path: Path) -> None:
    path.unlink()


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(255, -1, -1)) * 8)


def nuls(path: Path) -> None:
    path.write_bytes(b"\0\xff" + path.read_bytes()[2:])


DAMAGE = [halved, emptied, missing, flipped, noise, nuls]


def refusal(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which a run is not resumed; not a byte of it changes."""
    before = snapshot(run)
    capsys.readouterr()
    assert main(["search", "--resume", str(run), "--no-report"]) == 2
    assert snapshot(run) == before
    err = capsys.readouterr().err
    assert err.startswith("workflow-rl: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["updates.csv", "episodes.arrow"])
@pytest.mark.parametrize("training", ["base", "trial_001"])
def test_a_damaged_log_of_a_finished_training_is_refused(
    whole: Path,
    tmp_path: Path,
    training: str,
    name: str,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = copy_of(whole, tmp_path)
    path = run / "trainings" / training / name
    damage(path)
    err = refusal(run, capsys)
    assert f"{path} is damaged" in err
    assert f"remove {path.parent}" in err


@pytest.mark.parametrize("damage", [halved, emptied, missing, noise, nuls])
@pytest.mark.parametrize("name", ["updates.csv", "episodes.arrow"])
def test_a_damaged_log_of_a_training_under_way_is_refused(
    died: Path,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = copy_of(died, tmp_path)
    path = run / "trainings" / "trial_000" / name
    damage(path)
    assert f"{path} is damaged" in refusal(run, capsys)


@pytest.mark.parametrize("training", ["base", "trial_000", "trial_001", "polish"])
def test_a_training_that_was_taken_away_is_trained_again_with_the_same_result(
    whole: Path, tmp_path: Path, training: str
) -> None:
    run = copy_of(whole, tmp_path)
    shutil.rmtree(run / "trainings" / training)
    (run / "summary.json").unlink()
    run_search(resume=run)
    assert_same(run, whole)
    assert (run / "trainings" / training / "result.safetensors").exists()


def test_a_trial_that_was_taken_away_from_a_finished_run_is_trained_again(
    whole: Path, tmp_path: Path
) -> None:
    run = copy_of(whole, tmp_path)
    halved(run / "trainings" / "trial_000" / "updates.csv")
    shutil.rmtree(run / "trainings" / "trial_000")
    run_search(resume=run)
    assert_same(run, whole)


def test_a_finished_run_is_not_rewritten(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copy_of(whole, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.name != ".lock"}
    assert main(["search", "--resume", str(run), "--no-report"]) == 0
    after = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.name != ".lock"}
    assert after == times
    assert "recommended: " in capsys.readouterr().out
    again, first = run_search(resume=run), run_search(resume=whole)
    assert again.recommendation == first.recommendation
    assert again.polished == first.polished
    assert again.transitions == first.transitions > 0


@pytest.mark.parametrize("name", ["summary.json", "training_log.csv", "episodes.parquet"])
def test_what_is_missing_of_a_finished_run_is_made_again(
    whole: Path, tmp_path: Path, name: str
) -> None:
    run = copy_of(whole, tmp_path)
    (run / name).unlink()
    run_search(resume=run)
    assert_same(run, whole)
