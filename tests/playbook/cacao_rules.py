"""The rules of the OASIS standard CACAO Security Playbooks 2.0 for what our playbooks use.

Written from the published schemas (oasis-open/cacao-json-schemas) and the specification's words
that no schema can say: which references must lead somewhere, which branches must end by themselves.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

IDENTIFIER = re.compile(
    r"(?P<type>[a-z][a-z0-9-]+[a-z0-9])--[0-9a-f]{8}-[0-9a-f]{4}-(?P<version>[1-5])[0-9a-f]{3}-"
    r"[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)
TIMESTAMP = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z")
VARIABLE = re.compile(r"__[a-zA-Z][a-zA-Z0-9_-]{0,199}__")
# A comparison of STIX patterning: object path, operator, constant.
CONDITION = re.compile(r"(?P<name>__\w+__):value (=|!=|>|<|>=|<=) ('[^'\\]*'|\d+)")
START_LINE = re.compile(r"POST /\S* HTTP/1\.1")

# Of each vocabulary of the standard the part that our playbooks use; property -> is it required?
PLAYBOOK = dict.fromkeys(
    ("type", "spec_version", "id", "name", "created_by", "created", "modified"), True
) | {
    **dict.fromkeys(("workflow_start", "workflow"), True),
    **dict.fromkeys(("description", "playbook_types", "playbook_activities", "labels"), False),
    **dict.fromkeys(("playbook_processing_summary", "external_references"), False),
    **dict.fromkeys(("playbook_variables", "playbook_extensions", "agent_definitions"), False),
    **dict.fromkeys(("target_definitions", "extension_definitions"), False),
}
STEP = {"type": True, "name": False, "description": False, "step_extensions": False}
ON = STEP | {"on_completion": True}
STEPS = {
    "start": ON,
    "end": STEP,
    "action": ON
    | {"commands": True, "agent": True, "targets": False, "in_args": False, "out_args": False},
    "if-condition": ON | {"condition": True, "on_true": True, "on_false": False},
    "while-condition": ON | {"condition": True, "on_true": True},
}
COMMAND = {"type": True, "description": False, "playbook_activity": False}
COMMANDS = {
    "manual": COMMAND | {"command": False},
    "openc2-http": COMMAND | {"command": True, "content_b64": True, "headers": False},
}
AGENT = {"type": True, "name": True, "description": False}
AGENTS = {
    "individual": AGENT,
    "security-category": AGENT | {"category": True},
    "http-api": AGENT | {"address": True, "port": False},
}
ADDRESSES = {"dname"}
CATEGORIES = {"orchestrator"}
VARIABLE_TYPES = {"integer", "string"}
SUMMARY = {"if_logic", "while_logic", "extensions"}
EXTENSION = dict.fromkeys(("type", "name", "created_by", "schema", "version"), True) | {
    "description": False
}
TYPES = {"mitigation", "remediation"}
ACTIVITIES = {"match-indicator", "eliminate-risk", "revert-system"}
OPENC2_ACTIONS = {"restore", "remediate"}


def broken_rules(playbook: Mapping[str, Any]) -> list[str]:
    """Returns what a playbook breaks of the rules."""
    return [*_fields(playbook), *_steps(playbook), *_objects(playbook), *_identifiers(playbook)]


def _properties(what: str, data: Mapping[str, Any], allowed: Mapping[str, bool]) -> Iterator[str]:
    yield from (f"{what} lacks {n}" for n, needed in allowed.items() if needed and n not in data)
    yield from (f"{what} cannot have {name}" for name in data if name not in allowed)


def _identifier(what: str, value: Any, kind: str) -> Iterator[str]:
    found = IDENTIFIER.fullmatch(value) if isinstance(value, str) else None
    if found is None or found["type"] != kind:
        yield f"{what}: {value} is no identifier of a {kind}"
    elif kind != "playbook" and found["version"] != "4":
        yield f"{what}: {value} is not of version 4"


def _fields(playbook: Mapping[str, Any]) -> Iterator[str]:
    yield from _properties("the playbook", playbook, PLAYBOOK)
    if (playbook.get("type"), playbook.get("spec_version")) != ("playbook", "cacao-2.0"):
        yield "the playbook is of another type or version"
    yield from _identifier("the playbook", playbook.get("id"), "playbook")
    yield from _identifier("created_by", playbook.get("created_by"), "identity")
    for name in ("created", "modified"):
        if not TIMESTAMP.fullmatch(playbook.get(name, "")):
            yield f"{name} is no time in milliseconds"
    if playbook.get("modified", "") < playbook.get("created", ""):
        yield "it was modified before it was created"
    types, activities = playbook.get("playbook_types", []), playbook.get("playbook_activities", [])
    if not set(types) <= TYPES or not set(activities) <= ACTIVITIES or not activities:
        yield "unknown types or activities, or none"
    done = {c.get("playbook_activity") for _, c in _all_commands(playbook)}
    yield from (f"no step does {a}" for a in activities if a not in done)
    summary = playbook.get("playbook_processing_summary", {})
    if not set(summary) <= SUMMARY or not all(isinstance(v, bool) for v in summary.values()):
        yield "the summary of processing is none"
    for name, variable in playbook.get("playbook_variables", {}).items():
        if not VARIABLE.fullmatch(name) or len(name) > 250:
            yield f"{name} is no name of a variable"
        allowed = {"type", "description", "value", "constant", "external"}
        if not set(variable) <= allowed or variable.get("type") not in VARIABLE_TYPES:
            yield f"{name} is no variable"
        if not isinstance(variable.get("value"), str | None):
            yield f"the value of {name} is no text"
    for reference in playbook.get("external_references", []):
        if "name" not in reference or not set(reference) & {"description", "source", "url"}:
            yield "a reference lacks its name, or everything else"


def _all_commands(playbook: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for identifier, step in playbook.get("workflow", {}).items():
        yield from ((identifier, command) for command in step.get("commands", []))


def _steps(playbook: Mapping[str, Any]) -> Iterator[str]:
    steps: dict[str, Any] = playbook.get("workflow", {})
    start: str = playbook.get("workflow_start", "")
    if steps.get(start, {}).get("type") != "start":
        yield "the start is no start step"
    kinds = [step.get("type") for step in steps.values()]
    yield from (f"there is no {kind} step" for kind in ("action", "end") if kind not in kinds)
    variables = set(playbook.get("playbook_variables", {}))
    referred: list[str] = []
    for identifier, step in steps.items():
        kind = step.get("type")
        if kind not in STEPS:
            yield f"{kind} is no type of step"
            continue
        yield from _identifier("a step", identifier, kind)
        yield from _properties(identifier, step, STEPS[kind])
        leads = [step[name] for name in ("on_completion", "on_true", "on_false") if name in step]
        referred += leads
        yield from (f"{identifier} leads to no step" for lead in leads if lead not in steps)
        if "condition" in step:
            found = CONDITION.fullmatch(step["condition"])
            if found is None or found["name"] not in variables:
                yield f"{step['condition']} is no condition on a variable"
        for name in (*step.get("in_args", []), *step.get("out_args", [])):
            if name not in variables:
                yield f"{identifier}: there is no variable {name}"
    yield from (f"two ways lead to {lead}" for lead in set(referred) if referred.count(lead) > 1)
    yield from (f"no way leads to {i}" for i in steps if i != start and i not in referred)
    for identifier, command in _all_commands(playbook):
        yield from _command(identifier, command)


def _command(identifier: str, command: Mapping[str, Any]) -> Iterator[str]:
    kind = command.get("type", "")
    if kind not in COMMANDS:
        yield f"{kind} is no type of command"
        return
    yield from _properties(f"a command of {identifier}", command, COMMANDS[kind])
    if command.get("playbook_activity") not in ACTIVITIES:
        yield f"{identifier}: unknown activity"
    if kind == "openc2-http":
        if not START_LINE.fullmatch(command["command"]):
            yield f"{command['command']} is no start line of HTTP"
        if not all(isinstance(value, list) for value in command.get("headers", {}).values()):
            yield f"{identifier}: a header is no list"
        request = json.loads(base64.b64decode(command["content_b64"], validate=True))
        request = request["body"]["openc2"]["request"]
        if request["action"] not in OPENC2_ACTIONS or len(request["target"]) != 1:
            yield f"{identifier}: {request} is no command of OpenC2"


def _objects(playbook: Mapping[str, Any]) -> Iterator[str]:
    agents = playbook.get("agent_definitions", {})
    targets = playbook.get("target_definitions", {})
    for identifier, thing in (*agents.items(), *targets.items()):
        kind = thing.get("type", "")
        if kind not in AGENTS:
            yield f"{kind} is no type of agent or target"
            continue
        yield from _identifier("an agent or target", identifier, kind)
        yield from _properties(identifier, thing, AGENTS[kind])
        if not set(thing.get("address", {})) <= ADDRESSES:
            yield f"{identifier}: unknown kind of address"
        if not set(thing.get("category", [])) <= CATEGORIES:
            yield f"{identifier}: unknown category"
    for identifier, step in playbook.get("workflow", {}).items():
        if "agent" in step and step["agent"] not in agents:
            yield f"{identifier} has no agent"
        if not set(step.get("targets", [])) <= set(targets):
            yield f"{identifier} has no target"
    known = playbook.get("extension_definitions", {})
    for identifier, extension in known.items():
        yield from _identifier("an extension", identifier, "extension-definition")
        yield from _properties("an extension", extension, EXTENSION)
    used = [playbook.get("playbook_extensions", {})]
    used += [step.get("step_extensions", {}) for step in playbook.get("workflow", {}).values()]
    for extensions in used:
        for identifier, content in extensions.items():
            if identifier not in known:
                yield f"the extension {identifier} is not defined"
            names = [name for name in content if not re.fullmatch(r"[a-z0-9_]{3,250}", name)]
            yield from (f"{name} is no name of an extension's property" for name in names)


def _identifiers(playbook: Mapping[str, Any]) -> Iterator[str]:
    """The part after the type may not occur twice, whatever the types."""
    places = ("workflow", "agent_definitions", "target_definitions", "extension_definitions")
    named = [i for place in places for i in playbook.get(place, {})]
    named += [playbook.get("id", ""), playbook.get("created_by", "")]
    parts = [name.partition("--")[2] for name in named]
    yield from (f"{part} identifies two things" for part in set(parts) if parts.count(part) > 1)
