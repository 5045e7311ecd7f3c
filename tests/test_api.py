"""The names a user imports, used as the documents show."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workflow_rl
from tests.refused import refused
from tests.runs.toy import tiny
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS

WORKFLOW = "op_server > enterprise > op_host > user > defender"


def in_a_new_process(code: str) -> str:
    """What a program prints that nothing was imported before."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_the_public_names_are_functions_however_often_they_are_imported() -> None:
    in_a_new_process(
        "from workflow_rl import search, train_workflow, load_policy\n"
        "first = search, train_workflow, load_policy\n"
        "import workflow_rl.runs.search, workflow_rl.pages.live, workflow_rl.cli\n"
        "from workflow_rl import search, train_workflow, load_policy\n"
        "import workflow_rl\n"
        "assert (search, train_workflow, load_policy) == first\n"
        "assert getattr(workflow_rl, 'search') is search and all(map(callable, first))\n"
    )


def test_every_public_name_exists_and_is_documented() -> None:
    for name in workflow_rl.__all__:
        thing = getattr(workflow_rl, name)
        assert thing is not None
        if name != "__version__":
            assert thing.__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = workflow_rl.nothing


def test_the_public_names_are_listed_before_they_are_imported() -> None:
    heavy = "{'torch', 'scipy', 'rich', 'numba'} & set(sys.modules)"
    code = f"import sys, workflow_rl; print(*dir(workflow_rl)); print({heavy})"
    names, loaded = in_a_new_process(code).splitlines()
    assert names.split() == sorted(workflow_rl.__all__)
    assert {"BlueAgent", "Cage2Env", "Policy", "evaluate", "search"} <= set(names.split())
    assert loaded == "set()"


def test_a_search_finds_an_order_and_hands_over_its_policy(tmp_path: Path) -> None:
    from workflow_rl import load_policy, search

    outcome = search(tiny(), checkpoint_dir=tmp_path)
    assert outcome.path.parent == tmp_path
    assert len(outcome.trials) == 3
    assert 0 <= outcome.recommendation.order < NUM_ORDERS
    policy = load_policy(outcome.path)
    assert policy.order == ORDERS[outcome.recommendation.order]
    assert 0 <= policy.get_action(np.zeros(52)) < 145  # it remembers by itself
    assert search(resume=str(outcome.path)).recommendation == outcome.recommendation
    refused("is not a run directory", search, resume=tmp_path)


def test_one_workflow_is_trained_and_its_policy_acts(tmp_path: Path) -> None:
    from workflow_rl import load_policy, train_workflow

    policy, result = train_workflow(WORKFLOW, tiny())
    assert result.updates == 3
    assert str(policy.order) == WORKFLOW
    seen = np.random.default_rng(0).integers(0, 2, (7, 52))
    policy.save(tmp_path / "policy.safetensors")
    assert (load_policy(tmp_path / "policy.safetensors").act(seen) == policy.act(seen)).all()
    by_names = train_workflow(tuple(WORKFLOW.split(" > ")), tiny())[1]
    other_seed = train_workflow(WORKFLOW, tiny(seed=1))[1]
    assert result.objective == by_names.objective != other_seed.objective


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "ab/" * 2_000, "\ud800"])
def test_no_path_that_no_file_can_have_gets_further_than_a_sentence(path: str) -> None:
    from workflow_rl import (
        CyborgEnv,
        ExperimentConfig,
        evaluate,
        export_policy,
        load_policy,
        read_playbook,
        search,
        write_playbook,
    )

    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (evaluate, {"what": path}),
        (evaluate, {"what": f"bline={path},meander={path}"}),
        (evaluate, {"what": "greedy", "units": path, "workflow": "a > b"}),
        (evaluate, {"what": "sleep", "backend": "cyborg", "cyborg_path": path}),
        (CyborgEnv, {"cyborg_path": path}),
        (load_policy, {"path": Path(path)}),
        (load_policy("universal").save, {"path": path}),
        (export_policy, {"policy": path}),
        (export_policy, {"policy": "universal", "output": path}),
        (read_playbook, {"path": path}),
        (write_playbook, {"run": path}),
        (ExperimentConfig.from_file, {"path": path}),
        (search, {"checkpoint_dir": path}),
        (search, {"resume": path}),
        (search, {"units": path}),
    ]
    for call, given in calls:
        refused("must be a path of at most 3,000 bytes", call, **given)


@pytest.mark.parametrize("wrong", [0, False, "", (), {}])
def test_nothing_but_none_stands_for_the_default_configuration(wrong: Any) -> None:
    from workflow_rl import search, train_workflow

    refused("config must be an ExperimentConfig", search, wrong)
    refused("config must be an ExperimentConfig", search, wrong, units="hosts")
    refused("execution must be an Execution", search, tiny(), execution=wrong)
    refused("config must be an ExperimentConfig", train_workflow, None, wrong)
