"""YAML as plain values: no tags, no anchors, no objects; each value with its line."""

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tree import DEEPEST, Node

_RESOLVER: Final = yaml.resolver.Resolver()
_DECIMAL: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_KIND: Final = "tag:yaml.org,2002:"


def tree_of_yaml(text: str, file: str) -> Node:
    """Returns what a YAML file says.

    Args:
        text: what the file holds.
        file: what it is called in refusals.

    Raises:
        InvalidInputError: it is not YAML, or more than plain values.
    """
    events = yaml.parse(text, Loader=yaml.SafeLoader)
    try:
        next(events)  # of the stream
        if isinstance(next(events), yaml.StreamEndEvent):
            raise InvalidInputError(f"{file}: the file is empty")
        root = _node(events, next(events), file, ())
        next(events)  # the end of the document
        more = next(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidInputError(f"{file}, line {line}: not YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidInputError(f"{file}, line {line}: not YAML: {error.reason}") from error
    if not isinstance(more, yaml.StreamEndEvent):
        line = more.start_mark.line + 1
        raise InvalidInputError(f"{file}, line {line}: there must be one document only")
    return root


def _node(events: Iterator[Any], event: Any, file: str, path: tuple[str, ...]) -> Node:
    place = Node(None, file, event.start_mark.line + 1, ".".join(path))
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        raise place.refusal("anchors and aliases are not allowed")
    if event.tag:
        raise place.refusal(f"the tag {shown(event.tag)} is not allowed")
    if len(path) > DEEPEST:
        raise place.refusal(f"nested more than {DEEPEST} levels deep")
    value: Any
    if isinstance(event, yaml.ScalarEvent):
        value = _scalar(event, place)
    elif isinstance(event, yaml.SequenceStartEvent):
        value = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            value.append(_node(events, event, file, (*path, str(len(value) + 1))))
    else:
        value = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = _node(events, event, file, path)
            if not isinstance(key.value, str):
                raise key.refusal(f"a name must be text: {_kind_of(key.value)} is none")
            if key.value in value:
                raise key.refusal(f"{shown(key.value)} stands here twice")
            below = (*path, key.value)
            found = _node(events, next(events), file, below)
            value[key.value] = Node(found.value, file, key.line, ".".join(below))
    return Node(value, file, place.line, place.field)


def _scalar(event: Any, place: Node) -> Any:
    if not event.value.isprintable():
        raise place.refusal("control characters are not allowed")
    if not event.implicit[0]:
        return event.value
    kind = _RESOLVER.resolve(yaml.ScalarNode, event.value, (True, False)).removeprefix(_KIND)
    if kind == "str":
        return event.value
    if kind == "null":
        return None
    if kind == "bool":
        return event.value.lower() in ("yes", "true", "on")
    if kind == "int" and _DECIMAL.fullmatch(event.value):
        return int(event.value)
    raise place.refusal(
        f"{shown(event.value)} must be text in quotes or a plain decimal whole number"
    )


def _kind_of(value: Any) -> str:
    return (
        "a list"
        if isinstance(value, list)
        else "a mapping"
        if isinstance(value, dict)
        else (shown(value))
    )


def yaml_of(data: dict[str, Any]) -> str:
    """Returns plain data as YAML, in its own order."""
    text: str = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=150)
    return text
