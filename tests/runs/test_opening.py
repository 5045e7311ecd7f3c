import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.toy import tiny
from workflow_rl.config import BackendConfig, Execution, ExperimentConfig
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.runs.pool import ProcessPool, SerialPool
from workflow_rl.runs.store import RunDirectory, describe_run, is_held, open_pool, open_run


def test_a_new_run_is_held_as_long_as_it_is_open(tmp_path: Path) -> None:
    with open_run(tiny(seed=5), checkpoint_dir=tmp_path) as (directory, pool):
        assert directory.path.parent == tmp_path
        assert directory.config == tiny(seed=5)
        assert is_held(directory.path)
        assert isinstance(pool, SerialPool)
    assert not is_held(directory.path)
    assert describe_run(directory.path)["purpose"] == "search"


def test_a_resumed_run_has_its_own_configuration(tmp_path: Path) -> None:
    with open_run(tiny(parallel_workflows=3), checkpoint_dir=tmp_path) as (made, _):
        pass
    with open_run(tiny(seed=9), checkpoint_dir=tmp_path, resume=made.path) as (directory, pool):
        assert directory.path == made.path
        assert directory.config == tiny(parallel_workflows=3)
        assert isinstance(pool, ProcessPool)
        assert pool.capacity == 3
        with pytest.raises(InvalidInputError, match="in use by a live process"):
            RunDirectory.open(made.path)
    assert list(tmp_path.iterdir()) == [made.path]


def test_purpose_plan_and_number_are_those_asked_for(tmp_path: Path) -> None:
    plan = {"seeds": [3]}
    with open_run(
        tiny(), purpose="landscape", plan=plan, checkpoint_dir=tmp_path, parallel=2, fresh=True
    ) as (directory, pool):
        assert pool.capacity == 2
    noted = describe_run(directory.path)
    assert (noted["purpose"], noted["plan"]) == ("landscape", plan)
    with (
        pytest.raises(InvalidInputError, match="is not of a search"),
        open_run(resume=directory.path),
    ):
        pass


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


def test_a_run_is_released_when_its_block_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        open_run(tiny(), checkpoint_dir=tmp_path) as (directory, _),
    ):
        raise ZeroDivisionError
    assert not is_held(directory.path)


# --- which pool it is


def test_by_default_one_workflow_is_trained_here_and_several_in_processes() -> None:
    with open_pool(Execution(), 1) as pool:
        assert isinstance(pool, SerialPool)
    with open_pool(Execution(), 3) as pool:
        assert isinstance(pool, ProcessPool)
        assert pool.capacity == 3
    for execution, fresh in ((Execution("processes"), False), (Execution("serial"), True)):
        with open_pool(execution, 1, fresh=fresh) as pool:
            assert isinstance(pool, ProcessPool)


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
    settings: dict[str, Any], number: int, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said), open_pool(Execution(**settings), number):
        pass


def test_without_ray_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cluster", "ray"):
        monkeypatch.delitem(sys.modules, f"workflow_rl.runs.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingDependencyError, match=r"pip install '\.\[ray\]'"),
        open_pool(Execution("ray"), 2),
    ):
        pass


def test_neither_ray_nor_the_networks_are_imported_where_they_are_not_asked_for() -> None:
    code = (
        "import sys\n"
        "from workflow_rl.cli import build_parser\n"
        "from workflow_rl.config import Execution\n"
        "from workflow_rl.runs.store import open_pool\n"
        "build_parser()\n"
        "with open_pool(Execution('processes'), 2), open_pool(Execution(), 2, fresh=True):\n"
        "    print({'ray', 'torch'} & set(sys.modules))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"
