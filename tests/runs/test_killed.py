"""Runs in processes of their own that are stopped from outside."""

import shlex
import signal
from pathlib import Path

import pytest

from tests.runs.processes import running, updates, wait_until
from tests.runs.toy import assert_same, run_search, the_run, tiny

LONG = tiny(  # threshold 1: every training uses its whole budget
    n_envs=4,
    episode_length=10,
    max_episodes=40,
    compliance_threshold=1.0,
    base_updates=40,
    polish_updates=40,
)
FLAGS = shlex.split(
    "--n-envs 4 --max-steps 10 --max-episodes 40 --min-updates 1 --compliance-threshold 1 "
    "--hidden 8 --n-workflows 3 --score-games 5 --strategy exhaustive --base-updates 40 "
    "--polish-updates 40"
)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_search(LONG, checkpoint_dir=tmp_path_factory.mktemp("logs")).path


def stop_in(training: str, how: signal.Signals, folder: Path, *args: str) -> tuple[int, str, str]:
    """Runs a search up to the middle of a training; returns its code and what it said."""
    with running(*args) as process:
        wait_until(lambda: updates(folder, training) >= 5, process)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


def says_how_to_go_on(told: tuple[int, str, str], run: Path) -> None:
    code, out, err = told
    assert code == 130
    assert err.splitlines()[-1] == "workflow-rl: interrupted"
    assert "Traceback" not in err
    assert f"go on with: workflow-rl search --resume {run}" in out


def test_a_run_told_to_stop_says_how_to_go_on_and_goes_on_exactly(
    tmp_path: Path, uninterrupted: Path
) -> None:
    begin = (*FLAGS, "--checkpoint-dir", str(tmp_path))
    told = stop_in("trial_001", signal.SIGTERM, tmp_path, *begin)
    run = the_run(tmp_path)
    says_how_to_go_on(told, run)
    run_search(resume=run)
    assert_same(run, uninterrupted)
