"""The order as a security playbook of the OASIS standard CACAO, version 2.0.

One pass: read the marks; while a host is marked, go down the units to the first that has one, fix
it, read the marks again. Priority is nesting: a unit is asked about where no unit before it has a
marked host. Commands are OpenC2's: `remediate` stands for Remove, `restore` for Restore.

Identifiers follow from the content, so the same run gives the same file. The standard asks for
version 4 of all but the playbook's own: those are the hash of their place with the bits of that
version set.
"""

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from workflow_rl.files import json_text
from workflow_rl.playbook.plan import Plan, Unit, formatted
from workflow_rl.scenario.loading import SCENARIO2

Step = dict[str, Any]  # of a workflow; until it is linked, a branch is the list of its steps
Identify = Callable[[str, str], str]  # of the type and the place of an object, its identifier
SPEC_VERSION: Final = "cacao-2.0"
_NAMESPACE: Final = uuid.UUID("9d2f6c3e-8a41-5b7e-9c55-1f0a7be4d2c6")  # of our playbooks alone
EXTENSION: Final = "extension-definition--3b0c2b7e-5d0f-4c0a-8f5a-6f4f0c9a7d21"
_IDENTITY: Final = "identity--c1f4f1f7-2a4b-4a86-9d0e-7e1b3d5c8a90"
_EXTENSION_VERSION: Final = "1.0.0"
_MARKED: Final = "__marked_hosts__"
_CONSUMER: Final = "__openc2_consumer__"
_NO_HOST: Final = "none"
_REMOVE: Final = "remove"
_OPENC2: Final = {"remove": "remediate", "restore": "restore"}
_ACTIVITY: Final = {
    "look": "match-indicator",
    "remove": "eliminate-risk",
    "restore": "revert-system",
}


def playbook_of(
    plan: Plan, description: str, facts: Mapping[str, Any], created: datetime
) -> dict[str, Any]:
    """Returns the playbook of any plan.

    Args:
        plan: the units, first to be fixed first.
        description: its purpose, in a sentence.
        facts: plain data to keep with it: the run, the evidence.
        created: in UTC.
    """
    moment = f"{created:%Y-%m-%dT%H:%M:%S}.{created.microsecond // 1000:03d}Z"
    units = [{"name": u.name, "hosts": list(u.hosts)} for u in sorted(plan, key=lambda u: u.name)]
    kept = json.loads(json_text({"units": units, **facts}))
    content = json.dumps([[unit.name for unit in plan], description, kept, moment], sort_keys=True)
    own = uuid.uuid5(_NAMESPACE, content)

    def identify(kind: str, place: str) -> str:
        digest = hashlib.sha256(f"{own}/{kind}/{place}".encode()).digest()
        return f"{kind}--{uuid.UUID(bytes=digest[:16], version=4)}"

    actors = {name: identify(kind, name) for name, kind in _ACTORS.items()}
    steps: dict[str, Step] = {}
    start, first = identify("start", ""), _linked(_steps_of(plan, actors), "0", steps, identify)
    steps = {start: {"type": "start", "name": "Start", "on_completion": first}, **steps}
    is_theirs = all(unit.network.digest == SCENARIO2.digest for unit in plan)
    activities = {c["playbook_activity"] for s in steps.values() for c in s.get("commands", ())}
    return {
        "type": "playbook",
        "spec_version": SPEC_VERSION,
        "id": f"playbook--{own}",
        "name": f"Repair order: {formatted(plan)}",
        "description": description,
        "playbook_types": ["mitigation", "remediation"],
        "playbook_activities": sorted(activities),
        "playbook_processing_summary": {"if_logic": True, "while_logic": True, "extensions": True},
        "created_by": _IDENTITY,
        "created": moment,
        "modified": moment,
        "labels": ["workflow-rl", *(["cage-challenge-2"] if is_theirs else [])],
        **({"external_references": [_CHALLENGE]} if is_theirs else {}),
        "playbook_variables": _variables(plan),
        "workflow_start": start,
        "workflow": steps,
        "playbook_extensions": {EXTENSION: kept},
        **_definitions(actors),
    }


_CHALLENGE: Final = {
    "name": "CAGE Challenge 2",
    "description": "The network and the attackers that the order was found on.",
    "url": "https://github.com/cage-challenge/cage-challenge-2",
}
_ACTORS: Final = {  # who acts or is acted on, by type
    "analyst": "individual",
    "orchestrator": "security-category",
    "consumer": "http-api",
}


def _definitions(actors: Mapping[str, str]) -> dict[str, Any]:
    return {
        "agent_definitions": {
            actors["analyst"]: {
                "type": _ACTORS["analyst"],
                "name": "Analyst on duty",
                "description": "Reads the table of marks.",
            },
            actors["orchestrator"]: {
                "type": _ACTORS["orchestrator"],
                "name": "Orchestrator",
                "description": "Sends the commands.",
                "category": ["orchestrator"],
            },
        },
        "target_definitions": {
            actors["consumer"]: {
                "type": _ACTORS["consumer"],
                "name": "OpenC2 consumer",
                "description": "Carries commands out on the hosts it manages.",
                "address": {"dname": [f"{_CONSUMER}:value"]},
                "port": "443",
            }
        },
        "extension_definitions": {
            EXTENSION: {
                "type": "extension-definition",
                "name": "workflow-rl order",
                "description": "The units of the order, the run that found it, and the evidence.",
                "created_by": _IDENTITY,
                "schema": "Of a playbook: units (name, hosts), run and evidence. Of an "
                "if-condition step: unit, the unit that is fixed if the condition holds.",
                "version": _EXTENSION_VERSION,
            }
        },
    }


def _stems(plan: Plan) -> dict[str, str]:
    """Returns the stem of each unit's variables by its name: letters and digits, no two alike."""
    stems: dict[str, str] = {}
    for name in sorted(unit.name for unit in plan):
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        stem = plain if plain[:1].isalpha() else f"unit_{plain}".rstrip("_")
        while stem in stems.values():
            stem += "_x"
        stems[name] = stem
    return stems


def _variables(plan: Plan) -> dict[str, Any]:
    stems = _stems(plan)
    variables: dict[str, Any] = {
        _CONSUMER: {
            "type": "string",
            "description": "domain name of the OpenC2 consumer that manages the hosts",
            "external": True,
        },
        _MARKED: {"type": "integer", "description": "how many hosts are marked", "value": "0"},
    }
    for unit in plan:
        variables[f"__{stems[unit.name]}_host__"] = {
            "type": "string",
            "description": f"a marked host of {unit.name} ({', '.join(unit.hosts)}), or {_NO_HOST}",
            "value": _NO_HOST,
        }
        if unit.removable:
            variables[f"__{stems[unit.name]}_fix__"] = {
                "type": "string",
                "description": f"{_REMOVE} if that host is marked User and is one of "
                f"{', '.join(unit.removable)}; else restore",
                "value": "restore",
            }
    return variables


def _steps_of(plan: Plan, actors: Mapping[str, str]) -> list[Step]:
    """Returns what the playbook of a plan does."""
    stems = _stems(plan)
    look = _look(plan, actors)
    asked: list[Step] = []
    for unit in reversed(plan):
        stem = stems[unit.name]
        asked = [
            {
                "type": "if-condition",
                "name": f"Is a host of {unit.name} marked?",
                "step_extensions": {EXTENSION: {"unit": unit.name}},
                "condition": f"__{stem}_host__:value != '{_NO_HOST}'",
                "on_true": _fixes(unit, stem, actors),
                "on_false": asked,
            }
        ]
    loop = {
        "type": "while-condition",
        "name": "While a host is marked",
        "condition": f"{_MARKED}:value > 0",
        "on_true": [*asked, look],
    }
    return [look, loop]


def _linked(branch: list[Step], place: str, steps: dict[str, Step], identify: Identify) -> str:
    """Adds the steps of a branch and its end step; returns the identifier of the first one.

    A branch of a CACAO workflow ends in an end step of its own, after which the step that branched
    goes on.
    """
    names = [identify(step["type"], f"{place}.{k}") for k, step in enumerate(branch)]
    names.append(identify("end", place))
    for k, step in enumerate(branch):
        steps[names[k]] = linked = {**step, "on_completion": names[k + 1]}
        for way in ("on_true", "on_false"):
            if inner := linked.pop(way, None):
                linked[way] = _linked(inner, f"{place}.{k}.{way[3]}", steps, identify)
    steps[names[-1]] = {"type": "end", "name": "End"}
    return names[0]


def _look(plan: Plan, actors: Mapping[str, str]) -> Step:
    return {
        "type": "action",
        "name": "Read the marks",
        "description": "A host is marked if the table says Unknown, User or Privileged of it.",
        "commands": [
            {
                "type": "manual",
                "command": "Count the marked hosts, name one of each unit, and say how to fix it; "
                "the variables' descriptions say which.",
                "playbook_activity": _ACTIVITY["look"],
            }
        ],
        "agent": actors["analyst"],
        "out_args": [name for name in _variables(plan) if name != _CONSUMER],
    }


def _fixes(unit: Unit, stem: str, actors: Mapping[str, str]) -> list[Step]:
    restore = _fix("restore", unit, stem, actors)
    if not unit.removable:
        return [restore]
    return [
        {
            "type": "if-condition",
            "name": f"Is that host of {unit.name} to be removed?",
            "condition": f"__{stem}_fix__:value = '{_REMOVE}'",
            "on_true": [_fix("remove", unit, stem, actors)],
            "on_false": [restore],
        }
    ]


def _fix(kind: str, unit: Unit, stem: str, actors: Mapping[str, str]) -> Step:
    host = f"__{stem}_host__"
    request = {
        "action": _OPENC2[kind],
        "target": {"device": {"hostname": f"{host}:value"}},
        "args": {"response_requested": "complete"},
    }
    message = json.dumps({"body": {"openc2": {"request": request}}})
    return {
        "type": "action",
        "name": f"{kind.capitalize()} the marked host of {unit.name}",
        "commands": [
            {
                "type": "openc2-http",
                "description": f"OpenC2 {_OPENC2[kind]} of the device {host}:value",
                "command": "POST /.well-known/openc2 HTTP/1.1",
                "headers": {"Content-Type": ["application/openc2+json;version=1.0"]},
                "content_b64": base64.b64encode(message.encode()).decode(),
                "playbook_activity": _ACTIVITY[kind],
            }
        ],
        "agent": actors["orchestrator"],
        "targets": [actors["consumer"]],
        "in_args": [_CONSUMER, host],
    }
