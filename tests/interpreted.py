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
        value = super().__getitem__(key)
        return value.item() if type(value) in _INTEGERS else as_compiled(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            super().__setitem__(key, value._record if type(value) is Record else value)
        except OverflowError:
            super().__setitem__(key, wrapped(value, self.dtype))


class Record:
    """One record of a structured array; its fields are attributes."""

    __slots__ = ("_record",)
    _record: Any

    def __init__(self, record: Any) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        value = self._record[name]
        return value.item() if type(value) in _INTEGERS else as_compiled(value)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self._record[name] = value
        except OverflowError:
            self._record[name] = wrapped(value, self._record.dtype[name])


_INTEGERS = {np.bool_, *(np.dtype(code).type for code in "bBhHiIlq")}  # but for uint64: it wraps
_AS_IT_IS = {int, bool, float, Record, Ints, np.uint64, np.float64, np.float32, type(None)}


def wrapped(value: int, dtype: np.dtype[Any]) -> Any:
    """Returns an integer as it is stored in a type, the bits beyond its size cut off."""
    return np.int64(value).astype(dtype.base)


def as_compiled(value: Any) -> Any:
    """Returns an argument or a value as a compiled function would see it."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind in _INTEGERS:
        return value.item()
    if isinstance(value, np.void):
        return Record(value)
    if isinstance(value, np.ndarray):
        return value.view(Ints) if value.dtype.kind in "iubV" else value
    if isinstance(value, tuple):
        items = map(as_compiled, value)
        return kind(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def interpreted(function: _Function) -> _Function:
    """Returns a rule or a kernel that sees what it would see compiled."""
    names = function.__globals__
    to_adapt = list(function.__code__.co_names)  # at the first call, when the module is complete

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        while to_adapt:
            name = to_adapt.pop()
            if isinstance(names.get(name), np.ndarray):
                names[name] = as_compiled(names[name])
        for value in args:
            if type(value) not in _AS_IT_IS:
                return function(*map(as_compiled, args))
        return function(*args)

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
