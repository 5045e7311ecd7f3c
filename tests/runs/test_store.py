import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import workflow_rl
from tests.runs.toy import tiny
from tests.runs.work import job, outcome
from workflow_rl import __version__
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import save_arrays, write_atomically
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.store import RunDirectory, describe_run, is_held

ROOT = Path(workflow_rl.__file__).resolve().parent.parent
CONFIG = "experiment_config.json"
HOLD = """
import sys, time
from pathlib import Path
from workflow_rl.runs.store import RunDirectory
directory = RunDirectory.open(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
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
    assert noted["rules"] == "main"
    assert noted["command"] == ["workflow-rl", "search"]
    assert noted["python"] == platform.python_version()
    assert {"numpy", "numba", "torch", "scipy"} <= set(noted["packages"])
    assert all(re.match(r"\d+\.\d+", version) for version in noted["packages"].values())
    assert noted["packages"]["workflow-rl"] == workflow_rl.__version__
    if (ROOT / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", noted["git_revision"])
    assert "plan" not in noted
    with closing(RunDirectory.open(run)) as again:
        assert again.config == tiny(seed=5)


@pytest.mark.parametrize("by", [None, signal.SIGKILL, signal.SIGTERM])
def test_a_run_is_held_by_a_live_process_only(tmp_path: Path, by: signal.Signals | None) -> None:
    run = new_run(tmp_path)
    with holder(run) as process:
        assert "in use by a live process" in sentence(run)
        if by is not None:
            process.send_signal(by)
            process.wait()
            assert (run / ".lock").exists()
            RunDirectory.open(run).close()
    with closing(RunDirectory.open(run)):
        assert "in use by a live process" in sentence(run)
    RunDirectory.open(run).close()


def test_what_is_no_run_is_said_to_be_none_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    for name in ("folder", "file", "nothing"):
        assert f"it has no {CONFIG}" in sentence(tmp_path / name)
    assert list((tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "{}",
        '{"version": "%s", "purpose": "search"}',
        '{"version": "%s", "purpose": "search", "config": 3}',
        '{"version": "%s", "purpose": "search", "config": {}}',
        '{"version": "%s", "purpose": "search", "config": {"ppo": "documented"}}',
        "\x00\x01",
    ],
)
def test_a_damaged_configuration_is_said_to_be_so_and_left_alone(tmp_path: Path, text: str) -> None:
    text = text.replace("%s", __version__)
    (tmp_path / CONFIG).write_text(text)
    assert CONFIG in sentence(tmp_path)
    assert (tmp_path / CONFIG).read_text() == text
    assert list(tmp_path.iterdir()) == [tmp_path / CONFIG]


@pytest.mark.parametrize(
    ("version", "writer"), [(None, "an earlier version"), ("0.0.7", "version 0.0.7")]
)
def test_a_run_of_another_version_is_refused(
    tmp_path: Path, version: str | None, writer: str
) -> None:
    run = new_run(tmp_path)
    noted = describe_run(run)
    assert noted.pop("version") == __version__
    (run / CONFIG).write_text(json.dumps(noted | ({"version": version} if version else {})))
    assert f"was written by {writer} of workflow-rl" in sentence(run)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [("train", "n_envs", -3), ("train", "colour", "red"), ("game", "red_agent", "nobody")],
)
def test_a_configuration_with_a_wrong_field_is_refused(
    tmp_path: Path, part: str, field: str, value: object
) -> None:
    run = new_run(tmp_path)
    noted = describe_run(run)
    noted["config"][part][field] = value
    (run / CONFIG).write_text(json.dumps(noted))
    assert CONFIG in sentence(run)


@pytest.mark.parametrize("parent", ["/proc/logs", "/dev/null/logs", None])
def test_where_nothing_can_be_written_no_run_begins(tmp_path: Path, parent: str | None) -> None:
    (tmp_path / "logs").write_text("mine")
    with pytest.raises(InvalidInputError, match="no run directory can be made in"):
        RunDirectory.create(Path(parent or tmp_path / "logs"), tiny(), [])
    with pytest.raises(InvalidInputError, match="no run directory can be made at"):
        RunDirectory.create(tmp_path, tiny(), [], name="logs")
    assert (tmp_path / "logs").read_text() == "mine"


def test_a_part_of_a_larger_run_has_the_name_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "seed_000").mkdir()  # made by an attempt that described nothing
    RunDirectory.create(tmp_path, tiny(), ["workflow-rl"], name="seed_000").close()
    with closing(RunDirectory.open(tmp_path / "seed_000")) as again:
        assert again.config == tiny()


def test_a_run_is_opened_by_the_command_it_is_of_with_its_plan(tmp_path: Path) -> None:
    plan = {"seeds": [3, 4]}
    landscape = RunDirectory.create(tmp_path, tiny(), ["workflow-rl"], "landscape", plan=plan)
    landscape.close()
    assert describe_run(landscape.path)["plan"] == plan
    RunDirectory.open(landscape.path, "landscape").close()
    assert "is not of a search, but of `workflow-rl landscape`" in sentence(landscape.path)


def test_whether_a_live_process_holds_a_run_can_be_seen_without_being_in_its_way(
    tmp_path: Path,
) -> None:
    run = new_run(tmp_path)
    assert not is_held(run)
    with holder(run) as process:
        assert is_held(run)
        assert is_held(run)
        process.kill()
        process.wait()
        assert not is_held(run)
    RunDirectory.open(run).close()
    assert not is_held(tmp_path / "nowhere")


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


# --- what is kept of a training


def test_the_result_of_a_training_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "one")
    found, best = outcome(4, -3.5), {"weight": np.arange(3, dtype=np.float32)}
    folder.save_result(job(4), found, best)
    for asked in (job(4), None):
        again, weights = folder.load_result(asked)
        assert again == found
        assert {name: array.tolist() for name, array in weights.items()} == {"weight": [0, 1, 2]}


def test_the_result_of_another_training_or_version_is_refused(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "one")
    with pytest.raises(InvalidInputError, match="there is no file"):
        folder.load_result()
    folder.save_result(job(4), outcome(4, -3.5), {})
    with pytest.raises(InvalidInputError, match="another configuration"):
        folder.load_result(job(5))
    given = outcome(4, -3.5).as_json()
    del given["updates"]
    save_arrays(folder.result, "training result", {}, {"outcome": given})
    with pytest.raises(InvalidInputError, match="is not a result of this version"):
        folder.load_result()


def test_what_a_training_left_elsewhere_is_put_here_with_the_result_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = TrainingFolder(tmp_path / "there"), TrainingFolder(tmp_path / "here")
    for path in (there.result, there.updates.path, there.snapshot(5)):
        write_atomically(path, path.name.encode())
    written: list[str] = []

    def write(path: Path, data: bytes) -> None:
        written.append(path.relative_to(here.path).as_posix())
        write_atomically(path, data)

    monkeypatch.setattr("workflow_rl.runs.folder.write_atomically", write)
    here.complete(there.files())
    assert written == ["snapshots/update_000005.safetensors", "updates.csv", "result.safetensors"]
    assert here.files() == there.files()
    here.clear()
    assert not here.path.exists()
    here.clear()
