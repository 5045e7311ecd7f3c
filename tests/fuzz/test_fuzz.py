"""Malformed requests and files: every outcome is a result or one sentence.

`make fuzz` takes 500 cases of each kind, `make test` 50.
"""

import contextlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agents.policies import weights
from tests.playbook.runs import finished
from tests.runs.toy import run_search, tiny
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.cli import build_parser, main
from workflow_rl.cli.console import make_console
from workflow_rl.cli.experiment import experiment_config
from workflow_rl.cli.watch import frame
from workflow_rl.config import ExperimentConfig, GameConfig, PolicyConfig, stored
from workflow_rl.config.units import read_groups
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import save_arrays
from workflow_rl.pages.findings import find
from workflow_rl.pages.report import write_report
from workflow_rl.pages.rundata import read_run
from workflow_rl.pages.snapshot import take_snapshot
from workflow_rl.playbook.reading import read_playbook
from workflow_rl.playbook.writing import write_playbook
from workflow_rl.runs.search import open_search
from workflow_rl.workflow.orders import TYPES
from workflow_rl.workflow.units import units_of

FUZZED = settings(
    max_examples=int(os.environ.get("FUZZ", "50")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 2**63, 1e308, -0.0])
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3)
    ),
    max_leaves=5,
)


def outcome(call: Callable[[], Any]) -> str:
    """What came of a call: a result, or the one sentence with which it was refused."""
    try:
        call()
    except InvalidInputError as error:
        said = str(error)
    else:
        return "a result"
    assert "\n" not in said, said
    return said


# --- command lines

COMMANDS = (
    *("evaluate", "replay", "report", "select", "watch", "parity", "play", "playbook", "export"),
    "nonsense",
)
TRAINING = ("search", "train", "landscape")


ODD = ["", ",", "0", "-1", "1e999", "nan", "64,64", "user", "bline", "all", "x" * 300, "é", "1,,2"]
VALUES = st.sampled_from([*ODD, "/"]) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6
)


@FUZZED
@given(data=st.data())
def test_flags_make_a_configuration_or_a_sentence(data: st.DataObject) -> None:
    command = data.draw(st.sampled_from(TRAINING))
    actions = build_parser().commands[command].flags
    names = [name for action in actions for name in action.option_strings]
    words = [command]
    for flag in data.draw(st.lists(st.sampled_from(names), max_size=4)):
        words += [flag, data.draw(VALUES)] if data.draw(st.booleans()) else [flag]
    try:
        args = build_parser().parse_args(words)
    except SystemExit as stop:
        code = stop.code
    else:
        outcome(lambda: experiment_config(args))
        return
    assert code in (0, 2)


@FUZZED
@given(command=st.sampled_from(COMMANDS), words=st.lists(VALUES, min_size=1, max_size=3))
def test_commands_end_with_a_documented_code(
    tmp_path_factory: pytest.TempPathFactory, command: str, words: list[str]
) -> None:
    words = [word for word in words if word not in ("/", "user", "bline")]
    with contextlib.chdir(tmp_path_factory.mktemp("here")):
        try:
            code = main([command, *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
    assert code in (0, 1, 2)


# --- configurations


@FUZZED
@given(data=st.data())
def test_a_stored_configuration_is_restored_or_refused(data: st.DataObject) -> None:
    stored: dict[str, Any] = json.loads(json.dumps(ExperimentConfig().as_json()))
    for _ in range(data.draw(st.integers(1, 3))):
        section = data.draw(st.sampled_from([None, *stored]))
        table = stored if section is None else stored[section]
        if isinstance(table, dict) and table:
            name = data.draw(st.sampled_from(list(table)) | st.text(max_size=5))
            table[name] = data.draw(PLAIN)
    outcome(lambda: ExperimentConfig.from_json(stored))


@pytest.fixture(scope="module")
def policy_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "policy.safetensors"


def nested(depth: int) -> st.SearchStrategy[str]:
    """A value of TOML in so many tables or lists."""
    opened = st.sampled_from([("[", "]"), ("{a = ", "}")])
    return opened.map(lambda pair: pair[0] * depth + '"User1"' + pair[1] * depth)


DEEP = st.sampled_from([1, 3, 90, 900, 5_000]).flatmap(nested)
TOML = st.sampled_from(['["User1"]', '["User9"]', "[1]", "[]", '"User1"', "nan"]) | DEEP


@FUZZED
@given(
    names=st.lists(st.text(max_size=4) | st.sampled_from(["a", "rest", "b.b" * 900]), max_size=14),
    value=TOML,
)
def test_units_are_read_or_refused(names: list[str], value: str, policy_path: Path) -> None:
    path = policy_path.with_name("units.toml")
    lines = [f"{name if '.' in name else json.dumps(name)} = {value}" for name in names]
    path.write_text("\n".join(lines))
    outcome(lambda: units_of(read_groups(path)))
    outcome(lambda: units_of(dict.fromkeys(names, value)))
    outcome(lambda: units_of(dict.fromkeys(names)))


# --- policies


def mutated(content: bytes, data: st.DataObject) -> bytes:
    """Some bytes that were others: cut, flipped, inserted or replaced."""
    how = data.draw(st.sampled_from(["cut", "flip", "insert", "noise"]))
    at = data.draw(st.integers(0, max(len(content) - 1, 0)))
    if how == "cut":
        return content[:at]
    if how == "flip":
        flipped = bytes([content[at] ^ data.draw(st.integers(1, 255))])
        return content[:at] + flipped + content[at + 1 :]
    if how == "insert":
        return content[:at] + data.draw(st.binary(max_size=20)) + content[at:]
    return data.draw(st.binary(max_size=200))


@FUZZED
@given(data=st.data())
def test_a_policy_plays_or_is_refused(data: st.DataObject, policy_path: Path) -> None:
    config = PolicyConfig(game=GameConfig(episode_length=30), order=str(TYPES[3]))
    description: dict[str, Any] = {"trained": stored(config)}
    arrays: dict[str, Any] = weights(52 + 25, 145)
    if data.draw(st.booleans()):  # with a digest that fits what it holds
        name = data.draw(st.sampled_from([*arrays, "actor.9.weight", "other"]))
        shape = data.draw(st.sampled_from([(), (0,), (3,), (16, 77), (145, 16), (2, 2, 2)]))
        kind = data.draw(st.sampled_from([np.float32, np.float64, np.int8, np.bool_]))
        value = data.draw(st.sampled_from([0, 1, 1e30, 3e38, np.nan, np.inf]))
        arrays[name] = np.zeros(shape, kind)
        if kind in (np.float32, np.float64):
            arrays[name] = np.full(shape, value, kind)
        trained = description["trained"]
        tables = [description, trained, trained["game"], trained["train"], trained["ppo"]]
        table = data.draw(st.sampled_from(tables))
        table[data.draw(st.sampled_from([*table, "other"]))] = data.draw(PLAIN)
    save_arrays(policy_path, "policy", arrays, description)
    if data.draw(st.booleans()):
        policy_path.write_bytes(mutated(policy_path.read_bytes(), data))

    def play() -> None:
        agent = PolicyAgent(load_policy(policy_path), "fuzzed")
        agent.keeps_chances = True
        agent.begin(2, seed=0)
        rows = np.zeros((2, agent.policy.observation.size), np.int8)
        agent.act(rows, np.ones((2, 145), np.bool_), 0)
        assert agent.chances is not None
        assert np.isfinite(agent.chances).all()

    outcome(play)


# --- runs


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = tiny(n_workflows=1, base_updates=1, max_episodes=1, polish_updates=0)
    return run_search(config, checkpoint_dir=tmp_path_factory.mktemp("whole")).path


def replaced(data: st.DataObject, path: Path) -> bytes:
    """Other content of a file of a run: other bytes, or of JSON other values."""
    content = path.read_bytes()
    if path.suffix != ".json" or data.draw(st.booleans()):
        return mutated(content, data)
    return changed(data, path, PLAIN)


def changed(data: st.DataObject, path: Path, value: st.SearchStrategy[Any]) -> bytes:
    """Other JSON: one value of a file of a run is another one."""
    found: Any = json.loads(path.read_bytes())
    table = found
    while isinstance(table, (dict, list)) and table:
        keys = list(table) if isinstance(table, dict) else list(range(len(table)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(table[key], (dict, list)) or data.draw(st.booleans()):
            table[key] = data.draw(value)
            break
        table = table[key]
    return json.dumps(found).encode()


@FUZZED
@given(data=st.data())
def test_a_run_is_read_and_gone_on_with_or_refused(data: st.DataObject, whole: Path) -> None:
    run = whole.with_name("fuzzed")
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != ".lock")
    path = data.draw(st.sampled_from(files))
    path.write_bytes(replaced(data, path))
    outcome(lambda: find(read_run(run)))

    def go_on() -> None:
        with open_search(resume=run) as search:
            if search.is_finished:
                list(search.events())

    outcome(go_on)


NASTY = st.sampled_from(
    [
        *("<script>x</script>", "<img src=x onerror=x>", "[x](javascript:x)", "`</code><script>`"),
        *("\x1b[31m\x9b2J", "\ud800", "a\n# b", "=1+1", "{{ 7 * 7 }}", "%{x}<b>", "[bold]x[/no]"),
    ]
)
DEEP_LIST = st.sampled_from([60, 400, 900]).map(lambda n: json.loads("[" * n + "]" * n))
ANYTHING = NASTY | DEEP_LIST | st.dictionaries(NASTY, NASTY) | st.lists(NASTY) | PLAIN


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("done") / "exp")


@FUZZED
@given(data=st.data())
def test_nothing_in_a_run_is_obeyed_by_who_shows_it(data: st.DataObject, done: Path) -> None:
    run = done.with_name("shown")
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(done, run)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(run.glob("*.json"))))
        path.write_bytes(changed(data, path, ANYTHING))
    markdown, plan = run / "playbook.md", run / "playbook.json"

    def show() -> None:
        write_playbook(run)
        text = markdown.read_text(encoding="utf-8")
        assert "<" not in re.sub(r"`[^`\n]+`", "", text)
        assert text.replace("\n", "").isprintable()
        assert plan.read_text(encoding="ascii").replace("\n", "").isprintable()
        read_playbook(plan)

    outcome(show)
    out = io.StringIO()
    make_console(file=out, width=120).print(frame(take_snapshot(run)))
    assert out.getvalue().replace("\n", "").isprintable()
    if data.draw(st.integers(0, 9)) == 0:  # a page takes a second
        write_report([run], run / "report.html")
        page = (run / "report.html").read_text(encoding="utf-8")
        assert not re.search(r"<script>x|<img src=x|</code><script>`", page)
