"""Checks of single values: each returns the value or says in one sentence what is allowed.

Settings check themselves by their description (`setting.py`), with the same sentences; these
functions are for other arguments, and for ranges that depend on another setting.
"""

import math
import operator
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from workflow_rl.errors import InvalidInputError, shown

_LONGEST_PATH: Final = 3_000  # bytes, where systems allow 4,095
_LONGEST_NAME: Final = 255
_SHOWN: Final = 60  # characters of a path that is refused

Name = TypeVar("Name", bound=str)
T = TypeVar("T")


def unknown(what: str, value: object, allowed: Iterable[str]) -> InvalidInputError:
    """Returns the error that names what is to be chosen from."""
    return InvalidInputError(f"unknown {what} {shown(value)}: choose one of {', '.join(allowed)}")


def not_allowed(what: str, value: object, allowed: str) -> InvalidInputError:
    """Returns the error that says what a value must be."""
    return InvalidInputError(f"{what} must be {allowed}, not {shown(value)}")


def numbers_allowed(
    kind: str, low: float | None = None, high: float | None = None, above: float | None = None
) -> str:
    """Returns which numbers of a kind a range allows: "a whole number from 1 to 9"."""
    if low is not None and high is not None:
        return f"a {kind} from {low} to {high}"
    if low is not None:
        return f"a {kind} of {low} or more"
    return f"a {kind}" if above is None else f"a {kind} above {above}"


def one_of(what: str, value: object, allowed: Sequence[Name]) -> Name:
    """Returns the value if it is one of the allowed names, else raises a sentence naming them."""
    for name in allowed:
        if name == value:
            return name
    raise unknown(what, value, allowed)


def as_index(value: object) -> int | None:
    """Returns a whole number of any kind, numpy's too, as an int; None of everything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def whole_number(what: str, value: object, low: int, high: int) -> int:
    """Returns the value as an int in [low, high], else raises a sentence naming the range."""
    number = as_index(value)
    if number is None or not low <= number <= high:
        raise not_allowed(what, value, numbers_allowed("whole number", low, high))
    return number


def instance(what: str, value: object, kind: type[T]) -> T:
    """Returns the value if it is of a class, else raises a sentence naming the class."""
    if isinstance(value, kind):
        return value
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise not_allowed(what, value, f"{article} {kind.__name__}")


def instance_or_default(what: str, value: object, kind: type[T]) -> T:
    """Returns an instance of a class, the default one for None; else raises as `instance`."""
    return kind() if value is None else instance(what, value, kind)


def file_path(what: str, value: object) -> Path:
    """Returns text or a path as a path, else raises a sentence saying so.

    Files have no name that is longer, and below a folder there is room for ours.
    """
    if not isinstance(value, str | os.PathLike):
        raise not_allowed(what, value, "a path")
    path = Path(value)
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # half of a character
        name = b"\0"
    too_long = len(name) > _LONGEST_PATH or max(map(len, name.split(b"/"))) > _LONGEST_NAME
    if too_long or b"\0" in name:
        raise not_allowed(
            what,
            str(path)[:_SHOWN],
            f"a path of at most {_LONGEST_PATH:,} bytes, {_LONGEST_NAME} between slashes, without "
            "NUL or half characters",
        )
    return path


def several(what: str, value: object) -> list[Any]:
    """Returns the parts of a list or the like, else raises a sentence saying so."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(value)
    raise not_allowed(what, value, "a list")


def fraction(what: str, value: float) -> float:
    """Returns the value if it lies in [0, 1], else raises a sentence saying so."""
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return float(value)
    raise not_allowed(what, value, numbers_allowed("number", 0, 1))


def positive(what: str, value: float) -> float:
    """Returns the value if it is a finite number above 0, else raises a sentence saying so."""
    if isinstance(value, (int, float)) and math.isfinite(value) and value > 0:
        return float(value)
    raise not_allowed(what, value, numbers_allowed("number", above=0))
