from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.work import assert_same_folder, assert_same_result, expected, task
from workflow_rl import __version__
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.remote import (
    Finished,
    Rows,
    Started,
    difference,
    installed,
    train_away,
)
from workflow_rl.runs.training import TrainingFolder, load_result


@pytest.mark.parametrize("pause", [0.0, 1e9], ids=["a message per update", "all at the end"])
def test_a_training_done_elsewhere_completes_its_folder_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    monkeypatch.setattr("workflow_rl.runs.remote._SEND_EVERY", pause)
    one = task(tmp_path / "ours", 3, updates=4, base=True)
    theirs = expected(tmp_path / "theirs", [one])[one.name]
    messages = list(train_away(one.name, replace(one.job, base=None), one.job.base, installed()))
    assert isinstance(messages[0], Started)
    rows = [row for message in messages if isinstance(message, Rows) for row in message.rows]
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert len(messages) == (7 if pause == 0 else 3)
    last = messages[-1]
    assert isinstance(last, Finished)
    folder = TrainingFolder(one.folder)
    folder.complete(last.files)
    assert_same_result(load_result(folder.result, one.job), theirs)
    assert_same_folder(one.folder, tmp_path / "theirs" / one.name)


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
    one = task(tmp_path, 3)
    with pytest.raises(InvalidInputError, match=r"the node .* has workflow-rl"):
        list(train_away(one.name, one.job, None, installed() | {"workflow-rl": "9"}))
