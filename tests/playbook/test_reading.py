import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.playbook.plans import plans, written
from workflow_rl import read_playbook
from workflow_rl.errors import InvalidInputError
from workflow_rl.playbook.cacao import EXTENSION
from workflow_rl.playbook.plan import Plan, plan_of
from workflow_rl.workflow.orders import ORDERS

TYPES = plan_of(ORDERS[69])
HERE = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
Playbook = dict[str, Any]


def read(folder: Path, data: Any) -> Plan:
    file = folder / "playbook.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return read_playbook(file)


def step(playbook: Playbook, name: str) -> Playbook:
    found: Playbook = next(
        step for step in playbook["workflow"].values() if step.get("name", "").startswith(name)
    )
    return found


@HERE
@given(plan=plans())
def test_what_was_written_is_read_back(tmp_path: Path, plan: Plan) -> None:
    assert read(tmp_path, written(plan)) == plan


def test_names_descriptions_evidence_and_identifiers_may_be_edited(tmp_path: Path) -> None:
    playbook = written(TYPES, evidence={"trials": 20})
    text = json.dumps(playbook)
    for number, identifier in enumerate(playbook["workflow"]):
        kind = identifier.partition("--")[0]
        text = text.replace(identifier, f"{kind}--{number:08d}-0000-4000-8000-000000000000")
    edited = json.loads(text)
    edited["name"] = "our own"
    edited["playbook_extensions"][EXTENSION]["evidence"] = "we know better"
    step(edited, "Restore")["name"] = "wipe it"
    assert read(tmp_path, edited) == TYPES


def test_steps_in_another_order_are_read_as_that_order(tmp_path: Path) -> None:
    playbook = written(TYPES)
    first, second = (step(playbook, f"Is a host of {unit.name}") for unit in TYPES[:2])
    for name in ("name", "condition", "on_true", "step_extensions"):
        first[name], second[name] = second[name], first[name]
    assert read(tmp_path, playbook) == (TYPES[1], TYPES[0], *TYPES[2:])


def unit_named_twice(p: Playbook) -> None:
    first, second = (step(p, f"Is a host of {unit.name}") for unit in TYPES[:2])
    first["step_extensions"] = second["step_extensions"]


def unit_left_out(p: Playbook) -> None:
    del step(p, f"Is a host of {TYPES[0].name}")["on_false"]


def other_command(p: Playbook) -> None:
    request = {"action": "detonate", "target": {"device": {"hostname": "User0"}}}
    content = json.dumps({"body": {"openc2": {"request": request}}}).encode()
    step(p, "Restore")["commands"][0]["content_b64"] = base64.b64encode(content).decode()


def units_of(p: Playbook) -> Any:
    return p["playbook_extensions"][EXTENSION]["units"]


NONSENSE: dict[str, Callable[[Playbook], Any]] = {
    "its steps name": unit_named_twice,
    "is never reached": unit_left_out,
    "do something else": other_command,
    "is in no unit": lambda p: units_of(p)[1]["hosts"].pop(),
    "never open to fix": lambda p: units_of(p)[0]["hosts"].append("User0"),
    "named twice, in defender and in enterprise": lambda p: units_of(p)[1]["hosts"].append(
        "Defender"
    ),
    "it has a unit twice": lambda p: units_of(p).append(units_of(p)[0]),
    "has no host": lambda p: units_of(p).append({"name": "laptops", "hosts": []}),
    "cannot name a unit": lambda p: units_of(p)[0].update(name="a > b"),
    "damaged": lambda p: p.update(workflow=[]),
    "or two ways lead to it": lambda p: step(p, "Start").update(on_completion="end--1"),
    "begin with a start step": lambda p: p.update(workflow_start=next(reversed(p["workflow"]))),
    "no type of step": lambda p: step(p, "Restore").update(type="playbook-action"),
    "of version 'cacao-1.1'": lambda p: p.update(spec_version="cacao-1.1"),
    "not one of workflow-rl": lambda p: p.pop("playbook_extensions"),
    "is not a CACAO playbook": lambda p: p.pop("type"),
    "301 steps": lambda p: p["workflow"].update({f"end--{k}": {} for k in range(268)}),
}


@pytest.mark.parametrize("said", NONSENSE)
def test_nonsense_is_refused_in_a_sentence(tmp_path: Path, said: str) -> None:
    playbook = copy.deepcopy(written(TYPES))
    NONSENSE[said](playbook)
    with pytest.raises(InvalidInputError, match=said) as refused:
        read(tmp_path, playbook)
    assert str(tmp_path / "playbook.json") in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("condition", ["__user_host__:value = 'none'", "", 7, None])
def test_a_changed_condition_is_refused(tmp_path: Path, condition: Any) -> None:
    for name in ("Is a host of user", "While", "Is that host of user"):
        playbook = copy.deepcopy(written(TYPES))
        step(playbook, name)["condition"] = condition
        with pytest.raises(InvalidInputError, match="do something else"):
            read(tmp_path, playbook)


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.none())


@HERE
@given(data=st.data())
def test_any_change_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    playbook = copy.deepcopy(written(TYPES))
    at: Any = playbook
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    if data.draw(st.booleans()):
        del at[key]
    else:
        at[key] = data.draw(PLAIN)
    try:
        plan = read(tmp_path, playbook)
    except InvalidInputError:
        return
    assert sorted(plan, key=lambda unit: unit.name) == sorted(TYPES, key=lambda u: u.name)
