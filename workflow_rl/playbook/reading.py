"""A playbook of ours, read back as an order.

The order is what the steps do, so steps that were put into another order are read as that order.
Anything else that was changed about what they do is refused: names, descriptions and the evidence
may be edited.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json
from workflow_rl.playbook.cacao import EXTENSION, SPEC_VERSION, flow_of_plan
from workflow_rl.playbook.flow import Flow, If, Step, While, flow_of
from workflow_rl.playbook.plan import Plan, Unit, check_units

_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError)  # of data of another form


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
            f"{found} is of version {playbook.get('spec_version')!r:.40}; {SPEC_VERSION} is read"
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
    units = {unit["name"]: tuple(unit["hosts"]) for unit in kept["units"]}
    if len(units) != len(kept["units"]):
        raise InvalidInputError("it has a unit twice")
    check_units(units)
    flow = flow_of(playbook["workflow"], playbook["workflow_start"], _unit_of)
    order = _order_of(flow)
    if sorted(order) != sorted(units):
        raise InvalidInputError(
            f"its steps name {', '.join(order) or 'nothing'}, its units are {', '.join(units)}"
        )
    plan = tuple(Unit(name, units[name]) for name in order)
    if flow != flow_of_plan(plan):
        raise InvalidInputError("its steps do something else than fixing its units in an order")
    return plan


def _unit_of(step: Step) -> str | None:
    unit = step.get("step_extensions", {}).get(EXTENSION, {}).get("unit")
    if unit is not None and not isinstance(unit, str):
        raise InvalidInputError(f"{unit!r:.40} is no unit")
    return unit


def _order_of(flow: Flow) -> list[str]:
    """Returns the units in the order in which the loop of a playbook asks about them."""
    order: list[str] = []
    branch: Flow = next((node.do for node in flow if isinstance(node, While)), ())
    while branch and isinstance(asked := branch[0], If) and asked.unit is not None:
        order.append(asked.unit)
        branch = asked.otherwise
    return order
