"""Runs the rules as plain Python, with the integers that compiled code has.

Installed before any rule is defined where NUMBA_DISABLE_JIT=1 is set: coverage then sees the
lines of a rule, and a changed rule is tried without compiling it (docs/testing.md). Compiled, every
integer has 64 bits and the fields of a record are attributes; numpy's own scalars are neither: the
bits of an int8 shifted to the left fall off. So here rules get Python's integers, and records of
them.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from workflow_rl import jit

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Ints(np.ndarray[Any, Any]):
    """An array whose single values are Python's, and which takes any integer, as C does."""

    def __getitem__(self, key: Any) -> Any:
        return as_compiled(super().__getitem__(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, wrapped(value, self.dtype))


class Record:
    """One record of a structured array; its fields are attributes."""

    __slots__ = ("_record",)
    _record: Any

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        return as_compiled(self._record[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self._record[name] = wrapped(value, self._record.dtype[name])


_AS_IT_IS = {int, bool, float, Record, np.uint64, np.float64, np.float32, type(None)}


def wrapped(value: Any, dtype: np.dtype[Any]) -> Any:
    """Returns a value as it is stored in a type, the bits beyond its size cut off."""
    if type(value) is int and dtype.kind in "iu":
        return np.int64(value).astype(dtype.base)
    return value._record if isinstance(value, Record) else value


def as_compiled(value: Any) -> Any:
    """Returns an argument or a value as a compiled function would see it."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, np.void):
        return Record(value)
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        is_plain = type(value) is Ints or value.dtype.kind not in "iubV"
        return value if is_plain else value.view(Ints)
    if isinstance(value, tuple):
        items = map(as_compiled, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def interpreted(function: _Function) -> _Function:
    """Returns a rule or a kernel that sees what it would see compiled."""
    names = function.__globals__

    @functools.cache
    def adapt_tables() -> None:
        for name in function.__code__.co_names:
            if isinstance(names.get(name), np.ndarray):
                names[name] = as_compiled(names[name])

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        adapt_tables()
        return function(*map(as_compiled, args))

    return call  # type: ignore[return-value]


def kernel(*, parallel: bool = False, reorder: bool = False) -> Callable[[_Function], _Function]:
    """Stands for `jit.kernel`."""
    return interpreted


def install() -> None:
    """Makes every rule defined from now on an interpreted one."""
    np.seterr(over="ignore")  # hashes and random words wrap around, as in compiled code
    jit.rule = interpreted
    jit.formula = interpreted
    jit.kernel = kernel
