"""Searches that die, find damaged files or no room, and go on."""

import errno
import json
import os
import shlex
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.chaos.faults import Crash, failing_disk, remount, small_disk
from tests.chaos.points import SMALL, counted, crashed, survives
from tests.runs.toy import assert_same, csv_rows, run_search, the_run, tiny
from tests.runs.work import do_without_processes
from workflow_rl.cli import main
from workflow_rl.config import ExperimentConfig
from workflow_rl.runs.pool import Rows
from workflow_rl.runs.search import open_search

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="session")
def whole(small_run: tuple[int, Path]) -> Path:
    """A finished search that nobody changes."""
    return small_run[1]


@pytest.fixture
def finished(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(whole, tmp_path / whole.name))


def interrupted(folder: Path, config: ExperimentConfig = SMALL) -> Path:
    """The directory of a search that was stopped after the first update of its first trial."""
    with open_search(config, checkpoint_dir=folder) as search:
        for event in search.events():
            if isinstance(event, Rows) and event.task.name == "trial_000":
                break
    return search.directory.path


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return interrupted(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def in_a_trial(stopped: Path, tmp_path: Path) -> Path:
    """A copy of a search that was stopped in its first trial."""
    return Path(shutil.copytree(stopped, tmp_path / stopped.name))


# --- a run that dies at one of its writes; at any of them: tests/chaos


def test_a_run_that_cannot_even_note_its_configuration_leaves_nothing(tmp_path: Path) -> None:
    for at in range(1, 5):  # the lock, and the three steps of an atomic write
        with failing_disk(at), pytest.raises(Crash):
            run_search(SMALL, checkpoint_dir=tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_a_run_that_dies_again_and_again_still_goes_on_exactly(tmp_path: Path, whole: Path) -> None:
    run = crashed(tmp_path, 12)
    deaths = 0
    while deaths < 30:
        try:
            with failing_disk(60):
                run_search(resume=run)
        except Crash:
            deaths += 1
        else:
            break
    assert 3 < deaths < 30
    assert_same(run, whole)


def test_at_most_one_update_is_lost(
    tmp_path: Path, small_run: tuple[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from workflow_rl.train.loop import Training

    run = crashed(tmp_path, small_run[0] // 3)
    kept = sum(len(csv_rows(path)) for path in run.rglob("updates.csv") if path.stat().st_size)
    before = max(trial["run_seconds"] for trial in json.loads((run / "trials.json").read_text()))
    made, real = [], Training.update

    def update(training: Any) -> Any:
        made.append(training)
        return real(training)

    monkeypatch.setattr(Training, "update", update)
    outcome = run_search(resume=run)
    total = len(csv_rows(run / "training_log.csv"))
    assert kept >= 1
    assert total - kept <= len(made) <= total - kept + 1
    assert outcome.transitions == 6 * 20 * total  # and totals are those of all attempts
    assert outcome.handed_over.seconds > before > 0


@pytest.mark.parametrize("mode", ["common", "previous", "nearest"])
def test_trials_side_by_side_go_on_from_the_same_policies_after_a_crash(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial decided while another was under way must not inherit from it after a resume."""
    do_without_processes(monkeypatch)
    config = tiny(warm_start=mode, parallel_workflows=2, polish_updates=0, base_updates=1)
    operations, run = counted(config, tmp_path / "whole")
    if mode != "common":
        noted = json.loads((run / "trials.json").read_text())
        assert [entry["start"] for entry in noted] == [None, None, "trial_000"]
    for at in range(20, operations, operations // 5):
        survives(config, at, "crash", run, tmp_path / str(at))


# --- files that are not what they should be


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file that a refused run must leave alone."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "tensorboard" not in path.parts and path.name != ".lock"
    }


TABLES = {"training_log.csv", "episodes.parquet", "gp_sampling_log.csv"}  # made of the raw logs


def refused(run: Path, capsys: Captured, made_anew: set[str] = TABLES) -> str:
    """The sentence with which a run is not resumed; nothing of it is lost."""
    before = snapshot(run)
    capsys.readouterr()
    assert main(["search", "--resume", str(run), "--no-report"]) == 2
    after = snapshot(run)
    assert {name for name in before if before[name] != after.get(name)} <= made_anew
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    return err


CHECKPOINT = Path("trainings", "trial_000", "checkpoint.safetensors")
RESULT = Path("trainings", "trial_000", "result.safetensors")
BASE = Path("trainings", "base", "result.safetensors")


def test_what_is_no_checkpoint_is_refused(in_a_trial: Path, capsys: Captured) -> None:
    path = in_a_trial / CHECKPOINT
    for content, said in (
        (b"", "damaged"),
        (b"not a checkpoint", "damaged"),
        ((50).to_bytes(8, "little") + b"{" * 50, "damaged"),
        (path.read_bytes()[:-100], "damaged"),
        (save({"weights": np.zeros(3, np.float32)}), "was not written by workflow-rl"),
        ((in_a_trial / "policies/base.safetensors").read_bytes(), "holds a policy"),
    ):
        path.write_bytes(content)
        err = refused(in_a_trial, capsys)
        assert str(path) in err
        assert said in err


def test_what_another_run_left_is_refused(
    stopped: Path, whole: Path, tmp_path: Path, capsys: Captured
) -> None:
    other = interrupted(tmp_path / "other", replace(SMALL, seed=9))
    done = Path(shutil.copytree(other, tmp_path / "done"))
    run_search(resume=done)
    cases = ((stopped, CHECKPOINT, other), (stopped, BASE, other), (whole, RESULT, done))
    for number, (source, file, foreign) in enumerate(cases):
        run = Path(shutil.copytree(source, tmp_path / str(number)))
        shutil.copy(foreign / file, run / file)
        assert "another configuration" in refused(run, capsys)


# --- raw logs that are not what a training wrote


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def flipped(path: Path) -> None:  # noticed by the digests that the end of a training notes
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    path.write_bytes(content)


def nuls(path: Path) -> None:
    path.write_bytes(b"\0\xff" + path.read_bytes()[2:])


DAMAGE: list[Any] = [*product((halved, emptied, Path.unlink, nuls), (False, True))]
DAMAGE.append((flipped, False))


@pytest.mark.parametrize("name", ["updates.csv", "episodes.arrow"])
def test_a_damaged_raw_log_is_refused(
    finished: Path, in_a_trial: Path, name: str, capsys: Captured
) -> None:
    for damage, under_way in DAMAGE:
        path = (in_a_trial if under_way else finished) / "trainings" / "trial_000" / name
        content = path.read_bytes()
        damage(path)
        err = refused(path.parents[2], capsys, set())
        assert f"{path} is damaged" in err, damage
        assert f"remove {path.parent}" in err or "is not a table" in err
        path.write_bytes(content)


# --- no room


ROOMY = shlex.split(  # a report would be larger than everything else of so small a run
    "--n-envs 10 --max-steps 20 --hidden 16 --n-workflows 3 --score-games 5 --max-episodes 6 "
    "--base-updates 6 --polish-updates 3 --no-report"
)


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    assert main(["search", *ROOMY, "--checkpoint-dir", str(folder)]) == 0
    return the_run(folder)


def sizes(run: Path) -> list[int]:
    return [path.stat().st_size for path in run.rglob("*") if path.is_file()]


def fails_for_want_of_room(args: list[str], reason: int, folder: Path, capsys: Captured) -> None:
    capsys.readouterr()
    assert main(["search", *args]) == 1
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    assert os.strerror(reason) in err
    assert f"workflow-rl search --resume {the_run(folder)}" in out


def test_on_a_full_disk_a_run_stops_and_goes_on_when_there_is_room(
    tmp_path: Path, roomy: Path, capsys: Captured
) -> None:
    disk, used = tmp_path / "disk", sum(sizes(roomy))
    with small_disk(disk, f"{used // 2}"):
        begin = [*ROOMY, "--checkpoint-dir", str(disk)]
        fails_for_want_of_room(begin, errno.ENOSPC, disk, capsys)
        run = the_run(disk)
        fails_for_want_of_room(["--resume", str(run)], errno.ENOSPC, disk, capsys)
        remount(disk, f"size={used * 4}")
        assert main(["search", "--resume", str(run)]) == 0
        assert_same(run, roomy)
        assert list(run.rglob("*.tmp")) == []
