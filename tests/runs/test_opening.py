from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.toy import tiny
from workflow_rl.config import BackendConfig, Execution, ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.opening import open_run
from workflow_rl.runs.pool import ProcessPool, SerialPool
from workflow_rl.runs.store import RunDirectory, describe_run, is_held


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
