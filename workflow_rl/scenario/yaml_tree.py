"""YAML as plain values: no tags, no objects, aliases within bounds; each value with its line."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tree import DEEPEST, Node

_MOST_VALUES: Final = 100_000  # of a file, those behind aliases counted each time
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
            raise InvalidInputError(f"{file}, line 1: the file is empty")
        root = _Reader(events, file).node(next(events), ())
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


def yaml_of(data: dict[str, Any]) -> str:
    """Returns plain data as YAML, in its own order."""
    copied = json.loads(json.dumps(data))  # what is shared would be written as an alias
    text: str = yaml.safe_dump(
        copied, sort_keys=False, default_flow_style=None, width=150, allow_unicode=True
    )
    return text


class _Reader:
    """Makes nodes of the events of a document."""

    def __init__(self, events: Iterator[Any], file: str) -> None:
        self.events = events
        self.file = file
        self.count = 0  # of values so far
        self.anchors: dict[str, tuple[Node, int]] = {}  # what each stands for, and its values

    def node(self, event: Any, path: tuple[str, ...]) -> Node:
        place = Node(None, self.file, event.start_mark.line + 1, ".".join(path))
        before = self.count
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise place.refusal(f"the alias *{event.anchor} stands for nothing, or for itself")
            found, size = self.anchors[event.anchor]
            self._counted(size, place)
            return Node(found.value, self.file, place.line, place.field)
        self._counted(1, place)
        if event.tag:
            raise place.refusal(f"the tag {shown(event.tag)} is not allowed")
        if len(path) > DEEPEST:
            raise place.refusal(f"nested more than {DEEPEST} levels deep")
        node = Node(self._value(event, place, path), self.file, place.line, place.field)
        if event.anchor:
            self.anchors[event.anchor] = (node, self.count - before)
        return node

    def _counted(self, values: int, place: Node) -> None:
        self.count += values
        if self.count > _MOST_VALUES:
            raise place.refusal(f"there are more than {_MOST_VALUES:,} values, aliases included")

    def _value(self, event: Any, place: Node, path: tuple[str, ...]) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event, place)
        if isinstance(event, yaml.SequenceStartEvent):
            parts: list[Node] = []
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                parts.append(self.node(event, (*path, str(len(parts) + 1))))
            return parts
        below: dict[str, Node] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event, path)
            if not isinstance(key.value, str):
                raise key.refusal("a name must be text; a number or the like needs quotes")
            if key.value in below:
                raise key.refusal(f"{shown(key.value)} stands here twice")
            found = self.node(next(self.events), (*path, key.value))
            below[key.value] = Node(found.value, self.file, key.line, found.field)
        return below


def _scalar(event: Any, place: Node) -> str | int | bool | None:
    text: str = event.value
    if not text.isprintable():
        raise place.refusal("control characters are not allowed")
    if not event.implicit[0]:  # in quotes
        return text
    kind = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).removeprefix(_KIND)
    if kind == "str":
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("yes", "true", "on")
    if kind == "int" and _DECIMAL.fullmatch(text):
        return int(text)
    raise place.refusal(f"{shown(text)} must be text in quotes or a plain decimal whole number")
