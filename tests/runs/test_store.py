"""A run's directory: who holds it, what it notes, what is refused, and how it is opened."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.refused import refused
from tests.runs.toy import tiny
from workflow_rl import __version__
from workflow_rl.config import BackendConfig, Execution, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.pool import ProcessPool, SerialPool
from workflow_rl.runs.store import RunDirectory, describe_run, is_held, open_pool, open_run

CONFIG = "experiment_config.json"
HOLD = """
import sys, time
from pathlib import Path
from workflow_rl.runs.store import RunDirectory
directory = RunDirectory.open(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from tests.runs.toy import tiny
from workflow_rl.runs import store
setattr(store, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
store.RunDirectory.create(Path(sys.argv[1]), tiny(), [])
"""


def new_run(parent: Path) -> Path:
    directory = RunDirectory.create(parent, tiny(seed=5), ["workflow-rl", "search"])
    directory.close()
    return directory.path


@contextmanager
def holder(run: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a run."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def sentence(path: Path) -> str:
    """What opening a directory is refused with."""
    with pytest.raises(InvalidInputError) as caught:
        RunDirectory.open(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_every_run_has_a_directory_named_after_its_start_and_its_process(tmp_path: Path) -> None:
    runs = {new_run(tmp_path / "deep" / "logs") for _ in range(4)}
    assert len(runs) == 4
    assert set((tmp_path / "deep" / "logs").iterdir()) == runs
    assert all(re.match(rf"exp_\d{{8}}_\d{{6}}_{os.getpid()}", run.name) for run in runs)


def test_everything_a_run_depends_on_is_noted(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    noted = describe_run(run)
    assert noted == json.loads((run / CONFIG).read_text())
    assert noted["config"] == tiny(seed=5).as_json()
    assert (noted["purpose"], noted["rules"]) == ("search", "main")
    assert noted["command"] == ["workflow-rl", "search"]
    assert {"python", "packages", "git_revision"} <= set(noted)  # see tests/test_provenance.py
    assert "plan" not in noted
    with closing(RunDirectory.open(run)) as again:
        assert again.config == tiny(seed=5)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_is_held_by_a_live_process_only(tmp_path: Path, by: signal.Signals) -> None:
    run = new_run(tmp_path)
    assert not is_held(run)
    with holder(run) as process:
        assert "in use by a live process" in sentence(run)
        assert is_held(run)
        assert is_held(run)  # to look is not to be in its way
        process.send_signal(by)
        process.wait()
        assert not is_held(run)
        assert (run / ".lock").exists()
    with closing(RunDirectory.open(run)):
        assert "in use by a live process" in sentence(run)
    RunDirectory.open(run).close()
    assert not is_held(tmp_path / "nowhere")


def test_what_is_no_run_is_said_to_be_none_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    for name in ("folder", "file", "nothing"):
        assert f"it has no {CONFIG}" in sentence(tmp_path / name)
    assert list((tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "file").read_text() == "text"


def test_a_damaged_configuration_is_said_to_be_so_and_left_alone(tmp_path: Path) -> None:
    begun = f'{{"version": "{__version__}", "purpose": "search"'
    configs = (', "config": 3}', ', "config": {}}', ', "config": {"ppo": "documented"}}')
    texts = ("", "{", "[]", "3", "{}", "\x00\x01", begun + "}", *(begun + c for c in configs))
    for text in texts:
        (tmp_path / CONFIG).write_text(text)
        assert CONFIG in sentence(tmp_path), text
        assert (tmp_path / CONFIG).read_text() == text
        assert list(tmp_path.iterdir()) == [tmp_path / CONFIG]


def test_a_run_of_another_version_or_with_a_wrong_setting_is_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert describe_run(run)["version"] == __version__
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "written by an earlier version of workflow-rl": lambda noted: noted.pop("version"),
        "was written by version 0.0.7": lambda noted: noted.update(version="0.0.7"),
        "n_envs": lambda noted: noted["config"]["train"].update(n_envs=-3),
        "colour": lambda noted: noted["config"]["train"].update(colour="red"),
        "nobody": lambda noted: noted["config"]["game"].update(red_agent="nobody"),
    }
    written = (run / CONFIG).read_text()
    for said, change in changes.items():
        noted = json.loads(written)
        change(noted)
        (run / CONFIG).write_text(json.dumps(noted))
        assert said in sentence(run)


@pytest.mark.parametrize("parent", ["/proc/logs", "/dev/null/logs", None])
def test_where_nothing_can_be_written_no_run_begins(tmp_path: Path, parent: str | None) -> None:
    (tmp_path / "logs").write_text("mine")
    create, folder = RunDirectory.create, Path(parent or tmp_path / "logs")
    refused("no run directory can be made in", create, folder, tiny(), [])
    refused("no run directory can be made at", create, tmp_path, tiny(), [], name="logs")
    assert (tmp_path / "logs").read_text() == "mine"


@pytest.mark.parametrize("before", ["_take_lock", "write_json"])
def test_a_process_killed_while_it_makes_a_run_leaves_none_and_the_next_one_sweeps(
    tmp_path: Path, before: str
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), before], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".exp_")
    making = tmp_path / f".exp_1.{os.getpid()}.tmp"  # of a live process
    making.mkdir()
    assert set(tmp_path.iterdir()) - {making} == {left}
    assert {new_run(tmp_path), making} == set(tmp_path.iterdir())


def test_a_look_at_the_lock_does_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            is_held(run)
            time.sleep(0.0005)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(50):
            RunDirectory.open(run).close()
    finally:
        stop.set()
        watcher.join()


# --- opening one: its directory and its pool


def test_a_resumed_run_has_its_own_configuration(tmp_path: Path) -> None:
    with open_run(tiny(parallel_workflows=3), checkpoint_dir=tmp_path) as (made, _):
        pass
    with open_run(tiny(seed=9), checkpoint_dir=tmp_path, resume=made.path) as (directory, pool):
        assert directory.path == made.path
        assert directory.config == tiny(parallel_workflows=3)
        assert isinstance(pool, ProcessPool)
        assert pool.capacity == 3
        refused("in use by a live process", RunDirectory.open, made.path)
    assert list(tmp_path.iterdir()) == [made.path]


def test_purpose_plan_and_number_are_those_asked_for(tmp_path: Path) -> None:
    plan = {"seeds": [3]}
    with open_run(
        tiny(), purpose="landscape", plan=plan, checkpoint_dir=tmp_path, parallel=2, fresh=True
    ) as (directory, pool):
        assert pool.capacity == 2
    noted = describe_run(directory.path)
    assert (noted["purpose"], noted["plan"]) == ("landscape", plan)
    RunDirectory.open(directory.path, "landscape").close()
    assert "is not of a search, but of `workflow-rl landscape`" in sentence(directory.path)


@pytest.mark.parametrize(
    ("config", "execution", "said"),
    [
        (tiny(), Execution(time_limit=3.0), "a time limit needs trainings outside"),
        (tiny(parallel_workflows=2), Execution("serial"), "one workflow at a time"),
        (replace(tiny(), backend=BackendConfig("cyborg", "/nowhere")), Execution(), "/nowhere"),
    ],
)
def test_what_is_wrong_with_a_new_run_shows_before_its_directory_is_made(
    tmp_path: Path, config: ExperimentConfig, execution: Execution, said: str
) -> None:
    with (
        pytest.raises(InvalidInputError, match=said),
        open_run(config, checkpoint_dir=tmp_path, execution=execution),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


# --- which pool it is


def test_by_default_one_workflow_is_trained_here_and_several_in_processes() -> None:
    with open_pool(Execution(), 1) as pool:
        assert isinstance(pool, SerialPool)
    for execution, fresh in ((Execution("processes"), False), (Execution("serial"), True)):
        with open_pool(execution, 1, fresh=fresh) as pool:  # of several: see above
            assert isinstance(pool, ProcessPool)
