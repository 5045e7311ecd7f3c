"""The names a user imports, used as the documents show."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workflow_rl
from tests.refused import refused
from tests.runs.toy import assert_same, run_tiny, the_run, tiny
from workflow_rl import ExperimentConfig
from workflow_rl.runs.store import stored_config
from workflow_rl.studies.landscape_run import open_landscape
from workflow_rl.studies.played_landscape import open_played
from workflow_rl.workflow.orders import ORDERS

WORKFLOW = "op_server > enterprise > op_host > user > defender"


def in_a_new_process(code: str) -> str:
    """What a program prints that nothing was imported before."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


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
    from workflow_rl import search

    found = search(tiny(), checkpoint_dir=tmp_path, progress=False)
    assert found.path.parent == tmp_path
    assert len(found.trials) == 3
    assert found.recommended == ORDERS[found.recommendation.order] == found.policy.order
    assert 0 <= found.policy.get_action(np.zeros(52)) < 145  # it remembers by itself
    shown = repr(found)
    assert f"'{found.recommended}'" in shown
    assert len(shown) < 300 + len(str(found.path))
    again = search(resume=str(found.path), progress=False)
    assert again.recommended == found.recommended
    found.report().unlink()
    assert "What the search found" in found.report().read_text()
    refused("is not a run directory", search, resume=tmp_path)


SMALL: Any = {
    **{"max_steps": 20, "n_envs": 6, "max_episodes": 3, "hidden": [8], "strategy": "exhaustive"},
    **{"n_workflows": 3, "base_updates": 3, "polish_updates": 2, "score_games": 5},
}


def test_the_flags_of_a_search_are_keywords_and_its_progress_is_the_command_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cli.run import run_here
    from workflow_rl import search

    def shown(text: str) -> list[str]:
        rows = [re.sub(r"exp_\w+|in \d+ s", "", line) for line in text.splitlines()]
        return [row for row in rows if "steps/s" not in row]

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    found = search(red_agent="meander", seed=3, **SMALL)
    printed = capsys.readouterr().out
    words = " ".join(f"--{name} {value}" for name, value in SMALL.items()).replace("_", "-")
    command = f"search --red-agent meander --seed 3 {words}".replace("[8]", "8")
    assert shown(printed) == shown(run_here(*command.split(), cwd=tmp_path))
    assert stored_config(max(tmp_path.glob("logs/*"))) == found.config
    # A configuration is taken as it is, and a keyword wins over it.
    again = search(found.config, n_workflows=1, progress=False, no_report=True)
    changed = replace(found.config.search, n_workflows=1)
    assert again.config == replace(found.config, search=changed)
    assert capsys.readouterr().out == ""
    assert not (again.path / "report.html").exists()
    file = found.path / "experiment_config.json"
    assert ExperimentConfig.from_file(file) == found.config
    assert search(str(file), score_games=4, progress=False).config.search.score_games == 4


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"red_agnt": 1}, "search has no setting 'red_agnt': .* similar to it: red_agent"),
        ({"red_agent": "x"}, "unknown red agent 'x': choose from bline, meander, sleep"),
        ({"n_workflows": 0}, "n_workflows must be a whole number from 1 to 100000, not 0"),
        ({"no_report": "no"}, "no_report must be True or False, not 'no'"),
        ({"preset": "strongest"}, "these settings, .* train one policy without a workflow"),
        ({"config": ExperimentConfig(), "ppo": "modern"}, "config has every setting .*: leave out"),
        ({"executor": "x"}, "unknown executor 'x': choose one of serial, processes, ray"),
    ],
)
def test_a_wrong_keyword_gets_the_command_s_sentence_and_begins_nothing(
    flags: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    refused(sentence, workflow_rl.search, checkpoint_dir=tmp_path, **flags)
    assert list(tmp_path.iterdir()) == []


# An interrupt may come between the opening of a file and the `with` that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_search_that_is_interrupted_loses_nothing(tmp_path: Path) -> None:
    from workflow_rl import search

    def interrupt() -> None:
        while not list(tmp_path.glob("exp_*/trainings/trial_001/*")):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        search(tiny(), checkpoint_dir=tmp_path, progress=False)
    run = the_run(tmp_path)
    assert caught.value.__notes__ == [f"go on with: workflow-rl search --resume {run}"]
    whole = search(tiny(), checkpoint_dir=tmp_path / "whole", progress=False)
    assert_same(search(resume=run, progress=False).path, whole.path)


def test_report_replay_and_landscape_are_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_tiny(tmp_path).path
    assert workflow_rl.report(run) == run / "report.html"
    assert workflow_rl.report([run, str(run)], output="two.html").name == "two.html"
    assert workflow_rl.replay(run, seed=3) == run / "replay.html"
    page = workflow_rl.replay("best", red_agent="meander", episode_length=5, output="best.html")
    assert "against Meander" in page.read_text()
    played: Any = {"policy": "universal", "games": 2, "max_steps": 5, "progress": False}
    land = workflow_rl.landscape(**played, seeds=1)
    assert (land.path / "landscape.html").exists()
    assert sorted(order for order, _ in land.ranking) == sorted(ORDERS)
    assert repr(land).startswith(f"LandscapeResult(120 orders, best: '{land.ranking[0][0]}'")
    sample = workflow_rl.landscape(**played, sample=3).ranking
    assert len(sample) == 3
    assert sample == sorted(sample, key=lambda pair: -pair[1])
    refused("report has no setting 'rules'", workflow_rl.report, run, rules="main")
    refused("runs must be a list", workflow_rl.report, 0)
    refused("--seeds must be a whole number", workflow_rl.landscape, seeds="x")
    refused("what is replayed must be a path", workflow_rl.replay, 0)


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
    calls: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (workflow_rl.evaluate, {"what": path}),
        (workflow_rl.evaluate, {"what": f"bline={path},meander={path}"}),
        (workflow_rl.evaluate, {"what": "greedy", "units": path, "workflow": "a > b"}),
        (workflow_rl.evaluate, {"what": "sleep", "backend": "cyborg", "cyborg_path": path}),
        (workflow_rl.CyborgEnv, {"cyborg_path": path}),
        (workflow_rl.load_policy, {"path": Path(path)}),
        (workflow_rl.load_policy("universal").save, {"path": path}),
        (workflow_rl.export_policy, {"policy": path}),
        (workflow_rl.export_policy, {"policy": "universal", "output": path}),
        (workflow_rl.read_playbook, {"path": path}),
        (workflow_rl.write_playbook, {"run": path}),
        (ExperimentConfig.from_file, {"path": path}),
        (workflow_rl.search, {"checkpoint_dir": path}),
        (workflow_rl.search, {"resume": path}),
        (workflow_rl.search, {"units": path}),
        (workflow_rl.search, {"config": path}),
        (workflow_rl.report, {"runs": [path]}),
        (workflow_rl.replay, {"source": path}),
        (workflow_rl.landscape, {"resume": path}),
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
    refused("config must be an ExperimentConfig", workflow_rl.landscape, wrong)
    refused("config must be an ExperimentConfig", open_landscape(wrong).__enter__)
    refused("config must be an ExperimentConfig", open_played(wrong).__enter__)
