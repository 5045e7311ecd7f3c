import subprocess
import sys

import pytest

from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.runs.execution import Execution, open_workers
from workflow_rl.runs.tasks import SerialWorkers
from workflow_rl.runs.workers import ProcessWorkers


def test_by_default_one_workflow_is_trained_here_and_several_in_processes() -> None:
    with open_workers(Execution(), 1) as workers:
        assert isinstance(workers, SerialWorkers)
    with open_workers(Execution(), 3) as workers:
        assert isinstance(workers, ProcessWorkers)
        assert workers.capacity == 3
    with open_workers(Execution("processes"), 1) as workers:
        assert isinstance(workers, ProcessWorkers)


@pytest.mark.parametrize(
    ("settings", "number", "said"),
    [
        ({"executor": "cloud"}, 1, "unknown executor 'cloud'"),
        ({"executor": "processes", "ray_address": "auto"}, 1, "only goes with --executor ray"),
        ({"executor": "serial"}, 2, "for 2 at a time choose processes or ray"),
        ({"time_limit": 3.0}, 1, "a time limit needs trainings outside"),
        ({"time_limit": -1.0}, 2, "must be a number above 0"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(
    settings: dict[str, object], number: int, said: str
) -> None:
    with (
        pytest.raises(InvalidInputError, match=said),
        open_workers(
            Execution(**settings),  # type: ignore[arg-type]
            number,
        ),
    ):
        pass


def test_without_ray_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("workflow_rl.runs.ray_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r"pip install '\.\[ray\]'"),
        open_workers(Execution("ray"), 2),
    ):
        pass


def test_ray_is_not_imported_where_it_is_not_asked_for() -> None:
    code = (
        "import sys\n"
        "from workflow_rl.cli import build_parser\n"
        "from workflow_rl.studies.comparison.place import open_place\n"
        "from workflow_rl.runs.api import search\n"
        "from workflow_rl.runs.execution import Execution, open_workers\n"
        "build_parser()\n"
        "with open_workers(Execution('processes'), 2), open_place(Execution(), 2):\n"
        "    print('ray' in sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"
