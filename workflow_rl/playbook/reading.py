"""A playbook of ours, read back as an order.

The order is what the steps do, so steps that were put into another order are read as that order.
Anything else that was changed about what they do is refused: names, descriptions and the evidence
may be edited.

A branch of a workflow ends in an end step of its own, so a workflow without jumps is a tree. Two
workflows do the same if their trees are equal, whatever their steps are called.
"""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.files import read_json
from workflow_rl.playbook.cacao import EXTENSION, SPEC_VERSION, playbook_of
from workflow_rl.playbook.plan import Plan, plan_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.network_toml import network_from_toml
from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import units_of

_LARGEST: Final = 300  # steps of a playbook of ours; twelve units take about a hundred
_DAMAGE: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError)  # of other data
Node = dict[str, Any]  # what a step does, its branches as lists of such


def read_playbook(path: str | Path) -> Plan:
    """Reads the order of a playbook file: its units, first to be fixed first.

    Raises:
        InvalidInputError: it is no playbook of ours, or was edited into something that is no order.
    """
    found = file_path("a playbook", path)
    playbook = read_json(found)
    if not isinstance(playbook, dict) or playbook.get("type") != "playbook":
        raise InvalidInputError(f"{found} is not a CACAO playbook")
    if playbook.get("spec_version") != SPEC_VERSION:
        raise InvalidInputError(
            f"{found} is of version {shown(playbook.get('spec_version'))}; {SPEC_VERSION} is read"
        )
    kept = playbook.get("playbook_extensions")
    if not isinstance(kept, dict) or EXTENSION not in kept:
        raise InvalidInputError(f"{found} is a CACAO playbook, but not one of workflow-rl")
    try:
        return _plan_of(playbook, kept[EXTENSION])
    except InvalidInputError as error:
        raise InvalidInputError(f"{found} holds no order: {error}") from error
    except _DAMAGE as error:
        raise InvalidInputError(f"{found} holds no order: a part of it is damaged") from error


def _plan_of(playbook: Mapping[str, Any], kept: Mapping[str, Any]) -> Plan:
    groups = {unit["name"]: tuple(unit["hosts"]) for unit in kept["units"]}
    if len(groups) != len(kept["units"]):
        raise InvalidInputError("it has a unit twice")
    units = units_of(groups, _network_of(kept))
    if left := [name for name in units.names if name not in groups]:
        raise InvalidInputError(f"{', '.join(units.groups[left[0]])} is in no unit")
    tree = _tree(playbook)
    order = _order_of(tree)
    if sorted(order) != sorted(groups):
        raise InvalidInputError(
            f"its steps name {', '.join(order) or 'nothing'}, its units are {', '.join(groups)}"
        )
    plan = plan_of(Order(order, units))
    if tree != _tree(playbook_of(plan, "", {}, datetime.fromtimestamp(0, UTC))):
        raise InvalidInputError("its steps do something else than fixing its units in an order")
    return plan


def _network_of(kept: Mapping[str, Any]) -> Network:
    """Returns the network that a playbook keeps; without any it is Scenario2."""
    text = kept.get("network")
    if text is None:
        return SCENARIO2
    return network_from_toml(text, "its network", "network")


def _order_of(tree: list[Node]) -> list[str]:
    """Returns the units in the order in which the loop of a playbook asks about them."""
    order: list[str] = []
    branch: list[Node] = next(
        (node["on_true"] for node in tree if node["type"] == "while-condition"), []
    )
    while branch and branch[0].get("unit") is not None:
        order.append(branch[0]["unit"])
        branch = branch[0]["on_false"]
    return order


def _tree(playbook: Mapping[str, Any]) -> list[Node]:
    """Returns what the workflow of a playbook does, step by step."""
    left = dict(playbook["workflow"])
    if len(left) > _LARGEST:
        raise InvalidInputError(f"it has {len(left)} steps, and at most {_LARGEST} are read")
    start = left.pop(playbook["workflow_start"])
    if start["type"] != "start":
        raise InvalidInputError("it does not begin with a start step")
    tree = _branch(left, start["on_completion"])
    if left:
        raise InvalidInputError(f"the step {shown(next(iter(left)))} is never reached")
    return tree


def _branch(left: dict[str, Any], at: str) -> list[Node]:
    """Takes the steps of a branch away, up to its end step."""
    nodes: list[Node] = []
    while True:
        if at not in left:
            raise InvalidInputError(f"there is no step {shown(at)}, or two ways lead to it")
        step = left.pop(at)
        kind = step["type"]
        if kind == "end":
            return nodes
        if kind not in ("action", "if-condition", "while-condition"):
            raise InvalidInputError(f"{shown(kind)} is no type of step that is read")
        if kind == "action":
            node: Node = {"type": kind, "commands": [_meaning(c) for c in step["commands"]]}
        else:
            node = {"type": kind, "condition": step["condition"]}
            node["on_true"] = _branch(left, step["on_true"])
        if kind == "if-condition":
            node["on_false"] = _branch(left, step["on_false"]) if "on_false" in step else []
            node["unit"] = step.get("step_extensions", {}).get(EXTENSION, {}).get("unit")
        nodes.append(node)
        at = step["on_completion"]


def _meaning(command: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in command.items() if name != "description"}
    if "content_b64" in told:
        told["content"] = json.loads(base64.b64decode(told.pop("content_b64"), validate=True))
    return told
