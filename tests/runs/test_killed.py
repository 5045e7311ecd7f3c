"""Runs in processes of their own that are stopped from outside."""

import shlex
import signal
import time
from pathlib import Path

import pytest

from tests.runs.processes import group, running, updates, wait_until
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


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_killed_at_many_moments_goes_on_exactly(
    tmp_path: Path, uninterrupted: Path, workers: str
) -> None:
    args: tuple[str, ...] = (*FLAGS, "--checkpoint-dir", str(tmp_path))
    args = (*args, "--parallel-workflows", workers)
    for kill in range(12):
        with running(*args) as process:
            wait_until(lambda: bool(list(tmp_path.glob("exp_*/experiment_config.json"))), process)
            run = the_run(tmp_path)
            before = sum(updates(tmp_path, path.name) for path in run.glob("trainings/*"))
            end = time.monotonic() + 60

            def moved(run: Path = run, before: int = before) -> bool:
                now = sum(updates(tmp_path, path.name) for path in run.glob("trainings/*"))
                return now > before

            while process.poll() is None and not moved() and time.monotonic() < end:
                time.sleep(0.001)
            time.sleep(0.037 * kill)
            process.kill()
            process.wait()
            wait_until(lambda: group(process.pid) == [])
        args = ("--resume", str(run))
    with running(*args) as process:
        process.communicate(timeout=120)
    assert process.returncode == 0
    assert_same(run, uninterrupted)
