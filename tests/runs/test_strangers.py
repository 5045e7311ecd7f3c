"""Runs that somebody else made, or takes away: nothing outside of them is written."""

import os
import shutil
from pathlib import Path

import pytest

from tests.runs.toy import run_search, the_run, tiny
from workflow_rl.cli import main
from workflow_rl.runs.store import RunDirectory, is_held

SMALL = tiny(n_workflows=1, base_updates=1, max_episodes=1, polish_updates=0)
RESUME = ["search", "--no-report", "--resume"]


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run that has only begun."""
    directory = RunDirectory.create(tmp_path / "logs", SMALL, [])
    directory.close()
    return directory.path


@pytest.mark.parametrize("name", [".lock", "training_log.csv", "trainings", "tensorboard", "any"])
def test_a_run_with_a_link_to_elsewhere_is_refused(
    begun: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("dear")
    (begun / name).unlink(missing_ok=True)
    (begun / name).symlink_to(victim)
    assert main([*RESUME, str(begun)]) == 2
    assert f"{begun / name} leads out of {begun}, to {victim}" in capsys.readouterr().err
    assert not is_held(begun)
    assert victim.read_text() == "dear"
    assert sorted(path.name for path in begun.iterdir()) == sorted(
        {".lock", "experiment_config.json", name}
    )


def test_a_lock_is_not_emptied_and_may_not_be_a_link_or_a_pipe(begun: Path) -> None:
    (begun / ".lock").write_text("whatever")
    RunDirectory.open(begun).close()
    assert (begun / ".lock").read_text() == "whatever"
    (begun / "other").write_text("dear")
    (begun / ".lock").unlink()
    (begun / ".lock").symlink_to("other")
    with pytest.raises(ValueError, match="is a link"):
        RunDirectory.open(begun)
    (begun / ".lock").unlink()
    os.mkfifo(begun / ".lock")
    with pytest.raises(ValueError, match="is no file"):
        RunDirectory.open(begun)
    assert not is_held(begun)


def test_what_a_killed_process_left_is_swept_when_the_run_goes_on(begun: Path) -> None:
    left = begun / ".trials.json.4194999.tmp"
    left.write_text("half")
    run_search(resume=begun)
    assert not left.exists()


def test_a_run_that_is_removed_while_it_goes_on_is_not_made_again_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from workflow_rl.train.loop import Training

    made = Training.update

    def update(training: Training) -> object:
        shutil.rmtree(the_run(tmp_path))
        monkeypatch.setattr(Training, "update", made)
        return made(training)

    monkeypatch.setattr(Training, "update", update)
    args = ["--n-envs", "4", "--max-steps", "10", "--max-episodes", "1"]
    args += ["--score-games", "5", "--n-workflows", "1", "--base-updates", "2"]
    assert main(["search", *args, "--no-report", "--checkpoint-dir", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert "was removed while the run went on" in err
    assert err.count("\n") == 1
    assert "--resume" not in out
    assert list(tmp_path.iterdir()) == []
