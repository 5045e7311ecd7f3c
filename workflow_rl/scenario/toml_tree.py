"""TOML as plain values, each with its line."""

import re
import tomllib
from typing import Any, Final

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tree import DEEPEST, Node

_DEEP_NAME: Final = re.compile(rf"(?:[\w\"'-]+\s*\.\s*){{{DEEPEST},}}")
_HEADER: Final = re.compile(r"\s*\[\[?(?P<name>[^\[\]=#]+)\]\]?\s*(?:#.*)?")
_ENTRY: Final = re.compile(r"\s*(?P<name>[^=#\[\]{}]+?)\s*=")
_PLACE: Final = re.compile(r"(?P<sentence>.*) \(at (?:line (?P<line>\d+), column \d+|end of .*)\)")


def tree_of_toml(text: str, file: str) -> Node:
    """Returns what a TOML file says.

    Args:
        text: what the file holds.
        file: what it is called in refusals.

    Raises:
        InvalidInputError: it is not TOML.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#") and _DEEP_NAME.search(line):
            raise InvalidInputError(
                f"{file}, line {number}: names lead more than {DEEPEST} levels deep"
            )
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise InvalidInputError(f"{file}: not TOML: nested too deeply") from error
    except ValueError as error:  # numbers of thousands of digits, too
        found = _PLACE.fullmatch(str(error))
        sentence = found["sentence"] if found else str(error)
        line_number = (found and found["line"]) or text.count("\n") + 1
        raise InvalidInputError(f"{file}, line {line_number}: not TOML: {sentence}") from error
    return _node(data, file, (), 1, _lines(text))


def _node(
    value: Any, file: str, path: tuple[str, ...], line: int, lines: dict[tuple[str, ...], int]
) -> Node:
    line = lines.get(path, line)
    place = Node(None, file, line, ".".join(path))
    if len(path) > DEEPEST:
        raise place.refusal(f"nested more than {DEEPEST} levels deep")
    if isinstance(value, str) and not value.isprintable():
        raise place.refusal("control characters are not allowed")
    if isinstance(value, dict):
        below = {}
        for name, part in value.items():
            if not name.isprintable():
                raise place.refusal(f"control characters are not allowed: {shown(name)}")
            below[name] = _node(part, file, (*path, name), line, lines)
        value = below
    elif isinstance(value, list):
        value = [
            _node(part, file, (*path, str(number)), line, lines)
            for number, part in enumerate(value, 1)
        ]
    return Node(value, file, line, place.field)


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Returns the lines on which names stand; what looks like a name in a string does no harm."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADER.fullmatch(line):
            table = path = _names(found["name"])
        elif found := _ENTRY.match(line):
            path = table + _names(found["name"])
        else:
            continue
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], number)
    return lines


def _names(dotted: str) -> tuple[str, ...]:
    try:
        below: Any = tomllib.loads(f"{dotted} = 0")
    except ValueError:
        return ()
    names: list[str] = []
    while isinstance(below, dict):
        [(name, below)] = below.items()
        names.append(name)
    return tuple(names)
