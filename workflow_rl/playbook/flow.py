"""What a playbook does, as a tree; and the same as the linked steps of a CACAO workflow.

A branch of a CACAO workflow ends in an end step of its own, after which the step that branched goes
on: so a workflow without jumps is a tree, and two workflows do the same if their trees are equal.
What steps are called, and their identifiers, make no difference.
"""

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workflow_rl.errors import InvalidInputError

Step = dict[str, Any]
Identify = Callable[[str, str], str]  # of the type and the place of an object, its identifier
_LARGEST: Final = 300  # steps of a playbook of ours; twelve units take about a hundred


@dataclass(frozen=True)
class Action:
    """Commands to carry out; equal to another if the commands mean the same."""

    commands: str
    step: Step = field(compare=False)  # as written, but for what comes next


@dataclass(frozen=True)
class If:
    """A branch."""

    condition: str
    then: "Flow"
    otherwise: "Flow" = ()
    unit: str | None = None  # whose turn it is if the condition holds
    step: Step = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class While:
    """A loop."""

    condition: str
    do: "Flow"
    step: Step = field(default_factory=dict, compare=False)


Flow = tuple[Action | If | While, ...]  # one after the other


def action(step: Step) -> Action:
    """Returns an action step as a part of the tree.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    return Action(json.dumps([_meaning(c) for c in step["commands"]], sort_keys=True), step)


def _meaning(command: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in command.items() if name != "description"}
    if "content_b64" in told:
        told["content"] = json.loads(base64.b64decode(told.pop("content_b64"), validate=True))
    return told


def steps_of(flow: Flow, identify: Identify) -> tuple[str, dict[str, Step]]:
    """Returns the identifier of the start step, and all steps."""
    steps: dict[str, Step] = {}
    start = identify("start", "")
    steps[start] = {"type": "start", "name": "Start", "on_completion": ""}
    steps[start]["on_completion"] = _branch(flow, "0", steps, identify)
    return start, steps


def _branch(flow: Flow, place: str, steps: dict[str, Step], identify: Identify) -> str:
    """Adds the steps of a branch, its end step included; returns the first one's identifier."""
    following = [identify(_type_of(node), f"{place}.{k}") for k, node in enumerate(flow)]
    following.append(identify("end", place))
    for k, node in enumerate(flow):
        step: Step = {"type": _type_of(node), **node.step, "on_completion": following[k + 1]}
        steps[following[k]] = step
        if isinstance(node, If):
            step["condition"] = node.condition
            step["on_true"] = _branch(node.then, f"{place}.{k}.t", steps, identify)
            if node.otherwise:
                step["on_false"] = _branch(node.otherwise, f"{place}.{k}.f", steps, identify)
        elif isinstance(node, While):
            step["condition"] = node.condition
            step["on_true"] = _branch(node.do, f"{place}.{k}.t", steps, identify)
    steps[following[-1]] = {"type": "end", "name": "End"}
    return following[0]


def _type_of(node: Action | If | While) -> str:
    return {Action: "action", If: "if-condition", While: "while-condition"}[type(node)]


def flow_of(steps: Mapping[str, Any], start: str, unit_of: Callable[[Step], str | None]) -> Flow:
    """Returns the tree of a workflow's steps.

    Args:
        steps: the workflow.
        start: the identifier of its start step.
        unit_of: the unit that a step says it is about.

    Raises:
        InvalidInputError: the steps make no tree of ours.
        KeyError, TypeError, ValueError, AttributeError: a step is no step.
    """
    if len(steps) > _LARGEST:
        raise InvalidInputError(f"it has {len(steps)} steps, and at most {_LARGEST} are read")
    left = dict(steps)
    first = left.pop(start)
    if first["type"] != "start":
        raise InvalidInputError("it does not begin with a start step")
    flow = _flow(left, first["on_completion"], unit_of)
    if left:
        raise InvalidInputError(f"the step {next(iter(left))!r:.80} is never reached")
    return flow


def _flow(left: dict[str, Any], at: str, unit_of: Callable[[Step], str | None]) -> Flow:
    """Takes the steps of a branch away, up to its end step."""
    nodes: list[Action | If | While] = []
    while True:
        if at not in left:
            raise InvalidInputError(f"there is no step {at!r:.80}, or two ways lead to it")
        step = left.pop(at)
        kind = step["type"]
        if kind == "end":
            return tuple(nodes)
        if kind == "action":
            nodes.append(action(step))
        elif kind == "if-condition":
            then = _flow(left, step["on_true"], unit_of)
            otherwise = _flow(left, step["on_false"], unit_of) if "on_false" in step else ()
            nodes.append(If(step["condition"], then, otherwise, unit_of(step), step))
        elif kind == "while-condition":
            nodes.append(While(step["condition"], _flow(left, step["on_true"], unit_of), step))
        else:
            raise InvalidInputError(f"{kind!r:.80} is no type of step that is read")
        at = step["on_completion"]
