import os
from pathlib import Path

import pytest

from tests.refused import refused
from tests.runs.toys import Toy, Writer
from tests.runs.work import assert_same_folder, expected, task
from workflow_rl import __version__
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Begun

pytest.importorskip("workflow_rl.runs.ray", reason="needs Ray")
from workflow_rl.runs.ray import Finished, difference, installed, run_remotely

pytestmark = pytest.mark.ray


@pytest.mark.parametrize("pause", [0.0, 1e9], ids=["a message per update", "all at the end"])
def test_a_training_done_elsewhere_completes_its_folder_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr("workflow_rl.runs.ray._SEND_EVERY", pause)
    one = task(tmp_path / "ours", 3, updates=4, base=True)
    theirs = expected(tmp_path / "theirs", [one])[one.name]
    messages = list(run_remotely(one, installed()))
    assert isinstance(messages[0], Begun)
    rows = [row for message in messages if isinstance(message, list) for row in message]
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert len(messages) == (6 if pause == 0 else 3)
    last = messages[-1]
    assert isinstance(last, Finished)
    assert last.result == theirs
    assert not one.folder.exists()  # until what came back is put there
    folder = TrainingFolder(one.folder)
    folder.complete(last.files)
    assert folder.load_result(one.job)[0] == theirs
    assert_same_folder(one.folder, tmp_path / "theirs" / one.name)


def test_a_task_has_a_temporary_folder_there_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "workflow-rl-training-999999999-x").mkdir()  # left by a process that is gone
    (tmp_path / f"workflow-rl-training-{os.getppid()}-x").mkdir()
    *_, last = run_remotely(Writer("writer", Path("nowhere")), installed())
    assert isinstance(last, Finished)
    assert set(last.files) == {"snapshots/one", "updates.csv", "result.safetensors"}
    begun, last = run_remotely(Toy("toy", rows=0), installed())  # and no message without a row
    assert isinstance(begun, Begun)
    assert last == Finished(os.getpid(), {})
    assert [path.name for path in tmp_path.iterdir()] == [f"workflow-rl-training-{os.getppid()}-x"]


def test_what_is_installed_is_told_apart_by_what_results_depend_on() -> None:
    here = installed()
    assert here["workflow-rl"] == __version__
    assert difference(here, here) is None
    assert difference(here | {"more": "1"}, here) is None
    said = difference(here | {"torch": "1.0"}, here)
    assert said == f"has torch 1.0, this machine {here['torch']}"
    assert difference(here | {"sources": "x"}, here) == (
        f"has other sources of workflow-rl {__version__} than this machine"
    )
    assert difference({}, here) == f"has workflow-rl none, this machine {__version__}"


def test_a_node_with_something_else_does_no_training(tmp_path: Path) -> None:
    messages = run_remotely(task(tmp_path, 3), installed() | {"workflow-rl": "9"})
    refused(r"the node .* has workflow-rl", list, messages)
