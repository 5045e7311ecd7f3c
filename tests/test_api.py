"""The names a user imports, used as the documents show."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workflow_rl
from tests.runs.toy import assert_same, tiny
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS

WORKFLOW = "op_server > enterprise > op_host > user > defender"


def test_the_public_names_are_functions_however_often_they_are_imported() -> None:
    for _ in range(2):
        from workflow_rl import load_policy, search, train_workflow

        assert callable(search)
        assert callable(train_workflow)
        assert callable(load_policy)


def test_the_public_names_stay_functions_in_a_new_process() -> None:
    code = (
        "from workflow_rl import search, train_workflow, load_policy\n"
        "first = search, train_workflow, load_policy\n"
        "import workflow_rl.runs.search, workflow_rl.report.live, workflow_rl.cli\n"
        "from workflow_rl import search, train_workflow, load_policy\n"
        "import workflow_rl\n"
        "assert (search, train_workflow, load_policy) == first\n"
        "assert getattr(workflow_rl, 'search') is search and all(map(callable, first))\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_every_public_name_exists_and_is_documented() -> None:
    for name in workflow_rl.__all__:
        thing = getattr(workflow_rl, name)
        assert thing is not None
        if name != "__version__":
            assert thing.__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = workflow_rl.nothing


def test_the_public_names_are_listed_before_they_are_imported() -> None:
    code = "import sys, workflow_rl; print(*dir(workflow_rl)); print('numba' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names, compiler = result.stdout.splitlines()
    assert names.split() == sorted(workflow_rl.__all__)
    assert {"BlueAgent", "Cage2Env", "Policy", "evaluate", "search"} <= set(names.split())
    assert compiler == "False"


def test_importing_the_package_loads_no_networks() -> None:
    code = "import sys, workflow_rl; print({'torch', 'scipy', 'rich'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


def test_a_search_finds_an_order_and_hands_over_its_policy(tmp_path: Path) -> None:
    from workflow_rl import load_policy, search

    outcome = search(tiny(), checkpoint_dir=tmp_path)
    assert outcome.path.parent == tmp_path
    assert len(outcome.trials) == 3
    assert 0 <= outcome.recommendation.order < NUM_ORDERS
    policy = load_policy(outcome.path)
    assert policy.order == ORDERS[outcome.recommendation.order]
    assert 0 <= policy.get_action(np.zeros(52)) < 145  # it remembers by itself


def test_a_search_goes_on_from_its_directory(tmp_path: Path) -> None:
    from workflow_rl import search

    first = search(tiny(), checkpoint_dir=str(tmp_path / "a"))
    again = search(resume=str(first.path))
    assert again.recommendation == first.recommendation
    assert_same(first.path, search(tiny(), checkpoint_dir=tmp_path / "b").path)
    with pytest.raises(InvalidInputError, match="is not a run directory"):
        search(resume=tmp_path)


def test_one_workflow_is_trained_and_its_policy_acts(tmp_path: Path) -> None:
    from workflow_rl import load_policy, train_workflow

    policy, result = train_workflow(WORKFLOW, tiny())
    assert result.updates == 3
    assert str(policy.order) == WORKFLOW
    assert policy.description["env_reward"] == result.best_env_reward
    seen = np.random.default_rng(0).integers(0, 2, (7, 52))
    policy.save(tmp_path / "policy.safetensors")
    assert (load_policy(tmp_path / "policy.safetensors").act(seen) == policy.act(seen)).all()


def test_training_depends_on_its_seed_and_not_on_how_the_workflow_is_written() -> None:
    from workflow_rl import train_workflow

    by_text = train_workflow(WORKFLOW, tiny())[1]
    by_names = train_workflow(tuple(WORKFLOW.split(" > ")), tiny())[1]
    other_seed = train_workflow(WORKFLOW, tiny(seed=1))[1]
    assert by_text.env_reward == by_names.env_reward != other_seed.env_reward


def test_without_a_workflow_the_policy_follows_the_one_it_is_told() -> None:
    from workflow_rl import train_workflow

    policy, _ = train_workflow(None, tiny())
    assert policy.order is None
    assert 0 <= policy.act(np.zeros(52), WORKFLOW) < 145


def test_what_is_no_workflow_is_refused() -> None:
    from workflow_rl import train_workflow

    for wrong in ("user", "", ("user", "user"), ()):
        with pytest.raises(InvalidInputError, match="is not a workflow"):
            train_workflow(wrong, tiny())
