"""The core alone: what works without an extra, and what says which extra it needs."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.core_alone import TRACES
from tests.playbook.runs import finished
from workflow_rl.errors import EXTRA_OF, MissingDependencyError, explain_missing

ROOT = Path(__file__).resolve().parent.parent
RUN = "a_run"
COMMANDS = (
    *("search", "train", "watch", "report", "replay", "select", "evaluate", "landscape"),
    *("playbook", "export", "compare-updates", "play", "parity"),
)
NEED_AN_EXTRA = (
    *("search", "search --executor ray", "train", "landscape", "compare-updates", "play"),
    *(f"{name} {RUN}" for name in ("watch", "report", "replay", "playbook", "export", "select")),
    *(f"replay {TRACES / 'sleep.npz'}", "evaluate greedy", "evaluate cardiff", "parity --live"),
)


def asked_for(sentence: str) -> tuple[str, str]:
    """What needs an extra, and the extra, which is that of the module the sentence names."""
    found = re.fullmatch(r"(.*) needs (\w+): pip install '\.\[(\w+)\]'", sentence)
    assert found, sentence
    assert EXTRA_OF[found[2]] == found[3]
    return found[1], found[3]


class Alone(NamedTuple):
    """What happened where no extra is installed."""

    used: dict[str, Any]
    refused: dict[str, str]
    commands: dict[str, tuple[int, str, str]]  # code, last lines of output and of errors
    left: list[str]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    folder = tmp_path_factory.mktemp("alone")
    finished(folder / RUN)
    lines = ["--help", *(f"{name} --help" for name in COMMANDS), *NEED_AN_EXTRA, f"parity {TRACES}"]
    before = set(folder.rglob("*"))
    result = subprocess.run(
        [sys.executable, "-m", "tests.core_alone", json.dumps([line.split() for line in lines])],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    commands = dict(zip(lines, map(tuple, found["commands"]), strict=True))
    left = sorted(str(path) for path in set(folder.rglob("*")) - before)
    return Alone(found["used"], found["refused"], commands, left)


def test_the_simulator_the_belief_the_environments_and_parity_work(alone: Alone) -> None:
    assert alone.used["vector"] == [0.0, 0.0, 0.0]
    assert alone.used["single"] == 0.0
    assert alone.used["picture"] == [640, 960, 3]  # without an image library
    assert alone.used["red_agent"] == pytest.approx([1 / 3] * 3)
    assert alone.used["mismatches"] == 0
    assert set(alone.used["totals"]) == {"sleep", "random", "react-restore", "greedy"}
    assert all(total <= 0 for total in alone.used["totals"].values())
    code, output, _ = alone.commands[f"parity {TRACES}"]
    assert code == 0
    assert output.endswith(" 0 mismatches")
    assert alone.left == []  # by the commands that were refused


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_needs_no_extra(alone: Alone, command: str) -> None:
    code, output, errors = alone.commands[f"{command} --help".strip()]
    assert (code, errors) == (0, "")
    assert output


@pytest.mark.parametrize("command", NEED_AN_EXTRA)
def test_a_command_names_the_extra_it_needs(alone: Alone, command: str) -> None:
    code, output, errors = alone.commands[command]
    assert (code, output) == (2, "")
    subject, extra = asked_for(errors)
    assert subject.startswith("workflow-rl: error: ")
    assert extra == "search"


@pytest.mark.parametrize(
    ("name", "subject", "extra"),
    [
        ("search", "workflow_rl.search", "search"),
        ("train_workflow", "workflow_rl.train_workflow", "search"),
        ("load_policy", str(Path(__file__).parent / "core_alone.py"), "search"),
        ("render", "text of an episode", "search"),
        ("export_policy", "exporting a policy", "export"),
        ("parallel_env", "workflow_rl.envs.parallel", "pettingzoo"),
        ("sb3", "workflow_rl.envs.sb3", "sb3"),
    ],
)
def test_a_function_names_its_extra(alone: Alone, name: str, subject: str, extra: str) -> None:
    assert asked_for(alone.refused[name]) == (f"MissingDependencyError: {subject}", extra)


def test_only_a_missing_module_of_an_extra_is_explained() -> None:
    sentence = r"^it needs ray: pip install '\.\[ray\]'$"
    with pytest.raises(MissingDependencyError, match=sentence), explain_missing("it"):
        raise ModuleNotFoundError("No module named 'ray.util'", name="ray.util")
    with pytest.raises(ModuleNotFoundError, match="ours"), explain_missing("it"):
        raise ModuleNotFoundError("ours", name="workflow_rl.nothing")
    with pytest.raises(ImportError, match="broken"), explain_missing("it"):
        raise ImportError("broken", name="torch")


def test_each_extra_brings_what_is_said_of_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    comes_along = {"markupsafe"}  # with jinja2
    extras = project["optional-dependencies"]
    for extra in set(EXTRA_OF.values()):
        names = {line.partition(">=")[0].replace("-", "_") for line in extras[extra]}
        said = {module for module, of in EXTRA_OF.items() if of == extra} - comes_along
        assert names - {"workflow_rl[search]"} == said
    core = {line.partition(">=")[0] for line in project["dependencies"]}
    assert core == {"gymnasium", "numba", "numpy", "pydantic", "pyyaml"}
