"""Searches that die at any of their writes, find damaged files or no room, and go on."""

import errno
import json
import os
import resource
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.runs.crash import Crash, crashing
from tests.runs.disk import remount, small_disk
from tests.runs.toy import assert_same, csv_rows, findings, run_search, the_run, tiny
from tests.runs.work import do_without_processes
from workflow_rl.cli import main
from workflow_rl.config import PPO_FORMS, ExperimentConfig

SMALL = tiny(n_workflows=2, base_updates=2, max_episodes=2)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_search(SMALL, checkpoint_dir=tmp_path_factory.mktemp("logs")).path


def crashed(folder: Path, at: int, config: ExperimentConfig = SMALL) -> Path:
    """The directory of a run that died at its n-th write."""
    with crashing(at), pytest.raises(Crash):
        run_search(config, checkpoint_dir=folder)
    return the_run(folder)


# --- a run that dies at any of its writes


def number_of_writes(folder: Path) -> int:
    with crashing(None) as writes:
        run_search(SMALL, checkpoint_dir=folder)
    return writes.count


def survives(folder: Path, at: int, uninterrupted: Path) -> None:
    run = crashed(folder / str(at), at)
    run_search(resume=run)
    assert_same(run, uninterrupted)
    assert list(run.rglob("*.tmp")) == []


def test_a_run_that_dies_while_it_writes_goes_on_exactly(
    tmp_path: Path, uninterrupted: Path
) -> None:
    writes = number_of_writes(tmp_path)
    assert writes > 40
    for at in {*range(2, writes + 1, 7), writes}:
        survives(tmp_path, at, uninterrupted)


@pytest.mark.slow
def test_a_run_that_dies_at_any_of_its_writes_goes_on_exactly(
    tmp_path: Path, uninterrupted: Path
) -> None:
    for at in range(2, number_of_writes(tmp_path) + 1):
        survives(tmp_path, at, uninterrupted)


def test_a_run_that_cannot_even_note_its_configuration_leaves_nothing(tmp_path: Path) -> None:
    with crashing(1), pytest.raises(Crash):
        run_search(SMALL, checkpoint_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_dies_between_a_result_and_its_policy_keeps_the_policy(
    tmp_path: Path, uninterrupted: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(uninterrupted, run)
    (run / "summary.json").unlink()
    (run / "policies" / "trial_000.json").unlink()
    (run / "policies" / "trial_000.safetensors").unlink()
    run_search(resume=run)
    assert_same(run, uninterrupted)


def test_a_run_that_dies_again_and_again_still_goes_on_exactly(
    tmp_path: Path, uninterrupted: Path
) -> None:
    run = crashed(tmp_path, 5)
    deaths = 0
    while deaths < 30:
        try:
            with crashing(16):
                run_search(resume=run)
        except Crash:
            deaths += 1
        else:
            break
    assert 5 < deaths < 30
    assert_same(run, uninterrupted)


def test_at_most_one_update_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = crashed(tmp_path, 18)
    kept = sum(len(csv_rows(path)) for path in run.rglob("updates.csv") if path.stat().st_size)
    made = []

    def update(training: Any) -> Any:
        made.append(training)
        return real(training)

    from workflow_rl.train.loop import Training

    real = Training.update
    monkeypatch.setattr(Training, "update", update)
    run_search(resume=run)
    total = len(csv_rows(run / "training_log.csv"))
    assert kept >= 1
    assert total - kept <= len(made) <= total - kept + 1


@pytest.mark.parametrize("mode", ["previous", "nearest"])
def test_inherited_policies_are_inherited_again_after_a_crash(tmp_path: Path, mode: str) -> None:
    config = tiny(warm_start=mode, polish_updates=0)
    whole = run_search(config, checkpoint_dir=tmp_path / "whole").path
    for at in (15, 30, 41):
        run = crashed(tmp_path / str(at), at, config)
        run_search(resume=run)
        assert_same(run, whole)


SHORT: dict[str, Any] = {"n_workflows": 2, "base_updates": 2, "polish_updates": 0}


@pytest.mark.parametrize(
    "config",
    [
        tiny(replay_rollouts=1, **SHORT),
        tiny(update_steps=90, max_episodes=6, **SHORT),  # updates cut episodes
        replace(tiny(**SHORT), ppo=PPO_FORMS["modern"]),
        tiny(red_agent="mixed", observation="cardiff", **SHORT),
    ],
    ids=["replay", "cut episodes", "modern", "mixed"],
)
def test_every_kind_of_training_goes_on_exactly(tmp_path: Path, config: ExperimentConfig) -> None:
    whole = run_search(config, checkpoint_dir=tmp_path / "whole").path
    for at in (9, 25):
        run = crashed(tmp_path / str(at), at, config)
        run_search(resume=run)
        assert_same(run, whole)


@pytest.mark.parametrize("mode", ["common", "previous", "nearest"])
def test_trials_side_by_side_go_on_from_the_same_policies_after_a_crash(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial decided while another was under way must not inherit from it after a resume."""
    do_without_processes(monkeypatch)
    config = tiny(warm_start=mode, parallel_workflows=2, polish_updates=0, base_updates=1)
    with crashing(None) as writes:
        whole = run_search(config, checkpoint_dir=tmp_path / "whole").path
    if mode != "common":
        noted = json.loads((whole / "trials.json").read_text())
        assert [entry["start"] for entry in noted] == [None, None, "trial_000"]
    for at in range(8, writes.count, 11):
        run = crashed(tmp_path / str(at), at, config)
        run_search(resume=run)
        assert_same(run, whole)


def test_a_budget_used_up_stays_used_up_after_a_crash(tmp_path: Path) -> None:
    config = tiny(n_workflows=10, total_episodes=36, base_updates=1)
    with crashing(None) as writes:
        whole = run_search(config, checkpoint_dir=tmp_path / "whole").path
    for at in range(writes.count - 24, writes.count + 1, 8):
        run = crashed(tmp_path / str(at), at, config)
        assert len(run_search(resume=run).trials) == 2
        assert_same(run, whole)


def test_totals_are_those_of_all_attempts(tmp_path: Path) -> None:
    run = crashed(tmp_path, 30)
    before = json.loads((run / "trials.json").read_text())[-1]["run_seconds"]
    outcome = run_search(resume=run)
    rows = csv_rows(run / "training_log.csv")
    assert outcome.transitions == 6 * 20 * len(rows)
    assert outcome.policy.seconds > before > 0


# --- files that are not what they should be


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file that a refused run must leave alone."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "tensorboard" and path.name != ".lock"
    }


def refused(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which a run is not resumed; nothing of it is lost."""
    before = snapshot(run)
    assert main(["search", "--resume", str(run)]) == 2
    after = snapshot(run)
    tables = {"training_log.csv", "episodes.parquet", "gp_sampling_log.csv"}  # made anew
    lost = {name for name in before if name not in tables and before[name] != after.get(name)}
    assert lost == set()
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    return err


CHECKPOINT = Path("trainings", "trial_000", "checkpoint.safetensors")


@pytest.fixture(scope="module")
def died(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that died in its first trial, after a checkpoint."""
    run = crashed(tmp_path_factory.mktemp("logs"), 24)
    assert (run / CHECKPOINT).exists()
    return run


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of another seed."""
    return crashed(tmp_path_factory.mktemp("logs"), 24, replace(SMALL, seed=9))


@pytest.fixture
def in_a_trial(died: Path, tmp_path: Path) -> Path:
    """A copy of the run that died."""
    return Path(shutil.copytree(died, tmp_path / died.name))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "damaged"),
        (b"\x00" * 100, "damaged"),
        (b"not a checkpoint", "damaged"),
        ((50).to_bytes(8, "little") + b"{" * 50, "damaged"),
        (save({"weights": np.zeros(3, np.float32)}), "was not written by workflow-rl"),
        (-100, "damaged"),
        ("policies/base.safetensors", "holds a policy"),
    ],
    ids=["empty", "zeros", "text", "header", "foreign", "cut off", "policy"],
)
def test_what_is_no_checkpoint_is_refused(
    in_a_trial: Path, content: bytes | int | str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = in_a_trial / CHECKPOINT
    if isinstance(content, int):
        content = path.read_bytes()[:content]
    elif isinstance(content, str):
        content = (in_a_trial / content).read_bytes()
    path.write_bytes(content)
    err = refused(in_a_trial, capsys)
    assert str(path) in err
    assert said in err


@pytest.mark.parametrize("name", [CHECKPOINT, Path("trainings", "base", "result.safetensors")])
def test_what_another_run_left_is_refused(
    in_a_trial: Path, other: Path, name: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(other / name, in_a_trial / name)
    assert "another configuration" in refused(in_a_trial, capsys)


@pytest.mark.parametrize(
    ("whose", "said"), [("trial_001", "is of another order"), ("base", "is of another order")]
)
def test_a_result_of_another_trial_is_refused(
    uninterrupted: Path, tmp_path: Path, whose: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(uninterrupted, tmp_path / "run"))
    results = run / "trainings"
    shutil.copy(results / whose / "result.safetensors", results / "trial_000")
    assert said in refused(run, capsys)


def test_a_result_of_the_same_order_in_another_run_is_refused(
    uninterrupted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(uninterrupted, tmp_path / "run"))
    another = run_search(replace(SMALL, seed=9), checkpoint_dir=tmp_path / "other").path
    name = Path("trainings", "trial_000", "result.safetensors")
    shutil.copy(another / name, run / name)
    assert "another configuration" in refused(run, capsys)


@pytest.mark.parametrize("text", ["", "[", "3", "{}", '[{"trial": 3}]', "[[]]", "[null]"])
def test_a_damaged_list_of_trials_is_refused(
    in_a_trial: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_a_trial / "trials.json").write_text(text)
    assert "trials.json is damaged" in refused(in_a_trial, capsys)


# --- no room


ROOMY = shlex.split(  # a report would be larger than everything else of so small a run
    "--n-envs 10 --max-steps 20 --hidden 16 --n-workflows 3 --score-games 5 --max-episodes 6 "
    "--base-updates 6 --polish-updates 3 --no-report"
)


def fails_for_want_of_room(
    args: list[str], reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 1
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    assert reason in err
    assert f"workflow-rl search --resume {the_run(folder)}" in out


def test_on_a_full_disk_a_run_stops_and_goes_on_when_there_is_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *ROOMY, "--checkpoint-dir", str(tmp_path / "whole")]) == 0
    used = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    disk = tmp_path / "disk"
    with small_disk(disk, f"{used // 2}"):
        args = ["search", *ROOMY, "--checkpoint-dir", str(disk)]
        capsys.readouterr()
        fails_for_want_of_room(args, os.strerror(errno.ENOSPC), disk, capsys)
        run = the_run(disk)
        fails_for_want_of_room(
            ["search", "--resume", str(run)], os.strerror(errno.ENOSPC), disk, capsys
        )
        remount(disk, f"size={used * 4}")
        assert main(["search", "--resume", str(run)]) == 0
        assert_same(run, the_run(tmp_path / "whole"))
        assert list(run.rglob("*.tmp")) == []


def test_where_files_may_not_grow_a_run_stops_and_goes_on_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *ROOMY, "--checkpoint-dir", str(tmp_path / "whole")]) == 0
    largest = max(p.stat().st_size for p in the_run(tmp_path / "whole").rglob("*") if p.is_file())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    capsys.readouterr()
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 100, hard))
        folder = tmp_path / "cut"
        args = ["search", *ROOMY, "--checkpoint-dir", str(folder)]
        fails_for_want_of_room(args, os.strerror(errno.EFBIG), folder, capsys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    run = the_run(folder)
    assert main(["search", "--resume", str(run)]) == 0
    assert findings(run) == findings(the_run(tmp_path / "whole"))


@pytest.mark.skipif(shutil.which("mount") is None, reason="needs mount")
def test_a_run_on_a_disk_that_became_read_only_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "20m"):
        run = crashed(disk, 24)
        before = snapshot(run)
        remount(disk, "ro")
        assert main(["search", "--resume", str(run)]) in (1, 2)
        assert main(["search", "--checkpoint-dir", str(disk), *ROOMY]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 2
        assert err.count("Read-only file system") == 2
        assert snapshot(run) == before
