"""Checks of single values: the value comes back, or one sentence says what is allowed."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workflow_rl.config.checks import (
    file_path,
    fraction,
    instance,
    instance_or_default,
    not_allowed,
    one_of,
    positive,
    several,
    unknown,
    whole_number,
)
from workflow_rl.errors import InvalidInputError

GOOD: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [  # check, arguments, what returns
    (whole_number, (1, 1, 9), 1),
    (whole_number, (np.int8(9), 1, 9), 9),
    (one_of, ("down", ["up", "down"]), "down"),
    (instance, ("x", str), "x"),
    (instance_or_default, ("x", str), "x"),
    (instance_or_default, (None, str), ""),
    (file_path, ("a/b",), Path("a/b")),
    (file_path, ("é/" * 499 + "x" * 255,), Path("é/" * 499 + "x" * 255)),
    (several, (("a", "b"),), ["a", "b"]),
    (fraction, (0,), 0.0),
    (fraction, (1,), 1.0),
    (positive, (1e-9,), 1e-9),
]
BAD: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [  # ..., what is said
    *(
        (whole_number, (bad, 1, 9), f"it must be a whole number from 1 to 9, not {bad!r}")
        for bad in (0, 10, 1.0, "1", True, None)
    ),
    (one_of, ("left", ["up", "down"]), "unknown it 'left': choose one of up, down"),
    (instance, (3, str), "it must be a str, not 3"),
    (instance, (3, Exception), "it must be an Exception, not 3"),
    (instance_or_default, (0, str), "it must be a str, not 0"),
    (file_path, (3,), "it must be a path, not 3"),
    *(
        (
            file_path,
            (bad,),
            "it must be a path of at most 3,000 bytes, 255 between slashes, without NUL or half "
            f"characters, not {bad[:60]!r}",
        )
        for bad in ("a\0b", "\ud800", "é" * 128, "ab/" * 1_001)
    ),
    (several, ("ab",), "it must be a list, not 'ab'"),
    (several, (3,), "it must be a list, not 3"),
    *(
        (fraction, (bad,), f"it must be a number from 0 to 1, not {bad}")
        for bad in (1.01, -0.1, math.nan)
    ),
    *((positive, (bad,), f"it must be a number above 0, not {bad}") for bad in (0, math.inf)),
]


@pytest.mark.parametrize(("check", "given", "expected"), GOOD)
def test_what_is_allowed_returns(
    check: Callable[..., Any], given: tuple[Any, ...], expected: Any
) -> None:
    assert check("it", *given) == expected
    assert type(check("it", *given)) is type(expected)


@pytest.mark.parametrize(("check", "given", "sentence"), BAD)
def test_what_is_not_allowed_is_answered_with_what_is(
    check: Callable[..., Any], given: tuple[Any, ...], sentence: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        check("it", *given)
    assert str(error.value) == sentence


class Odd:
    def __repr__(self) -> str:
        return "a\nb" * 100


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a\nb\x1b[2J", r"'a\nb\x1b[2J'"),
        (np.zeros((30, 30)), "ndarray of shape (30, 30)"),
        ([np.zeros((2, 2))], "[array([[0., 0.], [0., 0.]])]"),
        ("x" * 300, "xxx...xxx"),
        (Odd(), "a ba b"),
        ([10**5000], "<list>"),
        (Silent(), "<Silent instance at"),
    ],
)
def test_a_sentence_shows_any_value_in_one_short_line(value: Any, said: str) -> None:
    for error in (not_allowed("x", value, "y"), unknown("x", value, ["y"])):
        assert said in str(error)
        assert str(error).isprintable()
        assert len(str(error)) < 120


def test_a_sentence_is_one_line_whatever_names_are_in_it() -> None:
    assert str(InvalidInputError(f"{Path('a') / 'b'}\n\ud800 is none")) == "a/b?? is none"
