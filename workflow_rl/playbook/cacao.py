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
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.files import json_text
from workflow_rl.playbook.flow import Flow, If, Step, While, action, steps_of
from workflow_rl.playbook.plan import Plan, Unit, formatted

if TYPE_CHECKING:
    from workflow_rl.playbook.handout import Handout  # needs what runs need

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


def cacao_playbook(handout: "Handout") -> dict[str, Any]:
    """Returns the playbook of a run's order."""
    game = handout.config.game
    description = (
        f"Fix marked hosts in the order {formatted(handout.plan)}: found by the workflow-rl run "
        f"{handout.run.name} against {game.red_agent}, rules {game.rules}, "
        f"{game.episode_length} steps an episode."
    )
    return playbook_of(handout.plan, description, handout.facts(), handout.created)


def playbook_of(
    plan: Plan, description: str, facts: Mapping[str, Any], created: datetime
) -> dict[str, Any]:
    """Returns the playbook of any plan.

    Args:
        plan: the units, first to be fixed first.
        description: what it is for, in a sentence.
        facts: plain data to keep with it: the run, the evidence.
        created: in UTC.
    """
    moment = f"{created:%Y-%m-%dT%H:%M:%S}.{created.microsecond // 1000:03d}Z"
    units = [{"name": u.name, "hosts": list(u.hosts)} for u in sorted(plan, key=lambda u: u.name)]
    kept = json.loads(json_text({"units": units, **facts}))
    names = [unit.name for unit in plan]
    content = json.dumps([names, description, kept, moment], sort_keys=True)
    own = uuid.uuid5(_NAMESPACE, content)

    def identify(kind: str, place: str) -> str:
        digest = hashlib.sha256(f"{own}/{kind}/{place}".encode()).digest()
        return f"{kind}--{uuid.UUID(bytes=digest[:16], version=4)}"

    actors = {name: identify(kind, name) for name, kind in _ACTORS.items()}
    start, steps = steps_of(flow_of_plan(plan, actors), identify)
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
        "labels": ["workflow-rl", "cage-challenge-2"],
        "external_references": [
            {
                "name": "CAGE Challenge 2",
                "description": "The network and the attackers that the order was found on.",
                "url": "https://github.com/cage-challenge/cage-challenge-2",
            }
        ],
        "playbook_variables": _variables(plan),
        "workflow_start": start,
        "workflow": steps,
        "playbook_extensions": {EXTENSION: kept},
        **_definitions(actors),
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


def variables_of(names: Sequence[str]) -> dict[str, str]:
    """Returns the stem of each unit's variables: letters and digits, no two alike."""
    stems: dict[str, str] = {}
    for name in sorted(names):
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        stem = plain if plain[:1].isalpha() else f"unit_{plain}".rstrip("_")
        while stem in stems.values():
            stem += "_x"
        stems[name] = stem
    return stems


def _variables(plan: Plan) -> dict[str, Any]:
    stems = variables_of([unit.name for unit in plan])
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


def flow_of_plan(plan: Plan, actors: Mapping[str, str] | None = None) -> Flow:
    """Returns what the playbook of a plan does; with the identifiers of who acts, if given."""
    who = actors or dict.fromkeys(_ACTORS, "")
    stems = variables_of([unit.name for unit in plan])
    look = action(_look(plan, who))
    chain: Flow = ()
    for unit in reversed(plan):
        chain = (
            If(
                f"__{stems[unit.name]}_host__:value != '{_NO_HOST}'",
                _fixes(unit, stems[unit.name], who),
                chain,
                unit.name,
                {
                    "name": f"Is a host of {unit.name} marked?",
                    "step_extensions": {EXTENSION: {"unit": unit.name}},
                },
            ),
        )
    loop = While(f"{_MARKED}:value > 0", (*chain, look), {"name": "While a host is marked"})
    return (look, loop)


def _look(plan: Plan, who: Mapping[str, str]) -> Step:
    filled = [name for name in _variables(plan) if name != _CONSUMER]
    return {
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
        "agent": who["analyst"],
        "out_args": filled,
    }


def _fixes(unit: Unit, stem: str, who: Mapping[str, str]) -> Flow:
    restore = action(_fix("restore", unit, stem, who))
    if not unit.removable:
        return (restore,)
    remove = action(_fix("remove", unit, stem, who))
    step = {"name": f"Is that host of {unit.name} to be removed?"}
    return (If(f"__{stem}_fix__:value = '{_REMOVE}'", (remove,), (restore,), step=step),)


def _fix(kind: str, unit: Unit, stem: str, who: Mapping[str, str]) -> Step:
    host = f"__{stem}_host__"
    request = {
        "action": _OPENC2[kind],
        "target": {"device": {"hostname": f"{host}:value"}},
        "args": {"response_requested": "complete"},
    }
    message = json.dumps({"body": {"openc2": {"request": request}}})
    return {
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
        "agent": who["orchestrator"],
        "targets": [who["consumer"]],
        "in_args": [_CONSUMER, host],
    }
