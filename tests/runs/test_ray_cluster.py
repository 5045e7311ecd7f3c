"""Searches on a Ray cluster of several nodes, all on this machine, and their faults."""

import importlib.util
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.run import WIDE, complaint, said
from tests.cli.run import run as run_command
from tests.runs.processes import children, running, trainers, updates, wait_until
from tests.runs.ray_host import RayHost, ray_host
from tests.runs.toy import assert_same, csv_rows, run_search, the_run, tiny

pytestmark = [
    pytest.mark.ray,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray"),
]

# Trainings of some seconds, so that there is a middle to strike in.
UPDATES = 500
LONG = tiny(
    n_envs=20,
    episode_length=30,
    max_episodes=UPDATES,
    compliance_threshold=1.0,
    base_updates=5,
    polish_updates=5,
)
FLAGS = shlex.split(
    f"--n-envs 20 --max-steps 30 --max-episodes {UPDATES} --min-updates 1 --compliance-threshold 1 "
    "--hidden 8 --n-workflows 3 --strategy exhaustive --score-games 5 --base-updates 5 "
    "--polish-updates 5 --parallel-workflows 2"
)
QUICK = shlex.split(
    "--n-envs 6 --n-workflows 3 --max-episodes 3 --max-steps 20 --score-games 5 --base-updates 3 "
    "--polish-updates 2 --hidden 8 --min-updates 1 --strategy exhaustive --parallel-workflows 2"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayHost]:
    with ray_host(2) as host:
        yield host


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_search(LONG, checkpoint_dir=tmp_path_factory.mktemp("logs")).path


def on_ray(*args: str, cwd: Path | None = None) -> AbstractContextManager[subprocess.Popen[str]]:
    """A search on Ray under way."""
    return running("--executor", "ray", *args, cwd=cwd)


def ends(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=200)
    return process.returncode, out, said(err)


def in_the_middle(folder: Path) -> bool:
    """Whether both trials that begin first have told of updates."""
    return all(updates(folder, f"trial_00{n}") >= 5 for n in (0, 1))


# --- the ordinary


def test_on_a_ray_started_here_a_search_is_the_same_and_nothing_stays_behind(
    tmp_path: Path,
) -> None:
    with on_ray(*QUICK, "--checkpoint-dir", str(tmp_path / "ray")) as process:
        below: set[int] = set()

        def ended() -> bool:
            below.update(children(process.pid))
            return process.poll() is not None

        wait_until(ended)
        code, out, err = ends(process)
        assert code == 0, (out, err)
        assert err == ""
        assert len(below) > 3
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in below))
    serial = run_search(tiny(), checkpoint_dir=tmp_path / "serial").path
    assert_same(the_run(tmp_path / "ray"), serial)
    assert "raylet" not in out


# --- faults


def test_a_node_and_a_worker_lost_in_mid_training_only_cost_time(
    cluster: RayHost, tmp_path: Path, uninterrupted: Path
) -> None:
    args = ("--ray-address", cluster.address, "--checkpoint-dir", str(tmp_path))
    with on_ray(*FLAGS, *args) as process:
        wait_until(lambda: in_the_middle(tmp_path), process)
        assert len(trainers(cluster.pid)) == 2
        cluster.remove_node(cluster.raylets[0])
        cluster.add_node()
        wait_until(lambda: updates(tmp_path, "trial_002") >= 1, process)
        os.kill(trainers(cluster.pid)[0], signal.SIGKILL)
        rows = csv_rows(the_run(tmp_path) / "training_log.csv")
        keys = [(row["training"], row["update"]) for row in rows]
        assert len(keys) == len(set(keys))  # no update counts twice, at no time
        code, out, err = ends(process)
    assert code == 0, (out, err)
    assert len(re.findall(r"^trial_00\d is done again: the node \S+ went away$", out, re.M)) == 1
    assert len(re.findall(r"is done again: its process on \S+ died$", out, re.M)) == 1
    assert "state-dump" not in out + err  # Ray would print pages
    assert_same(the_run(tmp_path), uninterrupted)


@pytest.mark.parametrize("executor", ["ray", "processes"])
def test_a_killed_driver_is_resumed_on_any_executor(
    cluster: RayHost, tmp_path: Path, uninterrupted: Path, executor: str
) -> None:
    args = ("--ray-address", cluster.address, "--checkpoint-dir", str(tmp_path))
    with on_ray(*FLAGS, *args) as process:
        wait_until(lambda: updates(tmp_path, "trial_002") >= 1, process)
        finished = [p.parent for p in tmp_path.rglob("trainings/trial_*/result.safetensors")]
        assert finished
        before = {p: p.stat().st_mtime_ns for d in finished for p in d.iterdir()}
        process.kill()
        process.wait()
    wait_until(lambda: trainers(cluster.pid) == [])  # Ray ends what nobody waits for
    run = the_run(tmp_path)
    where = ("--executor", "ray", "--ray-address", cluster.address)
    again = run_command("search", "--resume", str(run), *(where if executor == "ray" else ()))
    assert again.returncode == 0, again.stderr
    assert before == {p: p.stat().st_mtime_ns for p in before}  # what was finished is left alone
    assert_same(run, uninterrupted)


# --- being stopped


@pytest.mark.parametrize(
    "how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, "raylet"]
)
def test_a_ray_started_here_ends_with_the_search_however_that_ends(
    tmp_path: Path, how: signal.Signals | str
) -> None:
    # Tasks of a Ray that is started here keep their folders below TMPDIR.
    env = WIDE | {"TMPDIR": str(tmp_path), "RAY_TMPDIR": "/tmp"}
    flags = ("--executor", "ray", *FLAGS, "--checkpoint-dir", str(tmp_path))
    with running(*flags, env=env) as process:
        wait_until(lambda: in_the_middle(tmp_path), process)
        assert list(tmp_path.glob("workflow-rl-training-*"))
        below, busy = children(process.pid), trainers(process.pid)
        if isinstance(how, str):
            raylets = [c for c in below if Path(f"/proc/{c}/comm").read_text() == "raylet\n"]
            os.kill(raylets[0], signal.SIGKILL)
        elif how in (signal.SIGINT, signal.SIGHUP):
            os.killpg(process.pid, how)  # as a terminal does: to all of them
        else:
            process.send_signal(how)
        code, out, err = ends(process)
        # After kill -9 Ray's own agents, which do nothing, stay for another minute.
        left = busy if how in (signal.SIGKILL, "raylet") else below
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in left))
    if how == signal.SIGKILL:
        assert code == -signal.SIGKILL
        return
    assert list(tmp_path.glob("workflow-rl-training-*")) == []
    if how == "raylet":
        assert (code, err.count("\n")) == (1, 1)
        assert "the Ray that was started here has died" in err
        return
    assert (code, err) == (130, "workflow-rl: interrupted\n")
    assert f"go on with: workflow-rl search --resume {the_run(tmp_path)}" in out


# --- clusters that cannot be used


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ('__version__ = "0.0.1"', "has workflow-rl 0.0.1, this machine 0.1.0"),
        ("raise ModuleNotFoundError('No module named workflow_rl')", "lacks workflow-rl"),
    ],
    ids=["another version", "no package"],
)
def test_a_node_that_is_set_up_differently_is_refused_at_the_start_or_when_it_joins(
    cluster: RayHost, tmp_path: Path, package: str, said: str
) -> None:
    elsewhere = tmp_path / "site" / "workflow_rl"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text(package)
    folder = tmp_path / "run"
    folder.mkdir()
    flags = (*QUICK, "--ray-address", cluster.address)
    raylet = cluster.add_node(PYTHONPATH=str(elsewhere.parent))
    try:
        refused = run_command("search", "--executor", "ray", *flags, cwd=folder)
        assert said in complaint(refused)
        assert list(folder.iterdir()) == []
    finally:
        cluster.remove_node(raylet)

    never = ("--max-episodes", "1000000", "--stop-at", "budget", "--parallel-workflows", "3")
    with on_ray(*flags, *never, cwd=folder) as process:
        wait_until(lambda: len(trainers(cluster.pid)) == 2, process)
        raylet = cluster.add_node(PYTHONPATH=str(elsewhere.parent))
        try:
            code, _, err = ends(process)
        finally:
            cluster.remove_node(raylet)
    assert code == 2
    assert err.count("\n") == 1
    assert "a node that joined the cluster cannot load workflow-rl (No module named" in err
