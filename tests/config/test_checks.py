"""Checks of single values: the value comes back, or one sentence says what is allowed."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workflow_rl.config.checks import (
    as_index,
    file_path,
    fraction,
    instance,
    one_of,
    positive,
    several,
    whole_number,
)
from workflow_rl.errors import InvalidInputError


@pytest.mark.parametrize(
    ("check", "good", "expected"),
    [
        (lambda value: whole_number("n", value, 1, 9), 1, 1),
        (lambda value: whole_number("n", value, 1, 9), np.int8(9), 9),
        (lambda value: one_of("order", value, ["up", "down"]), "down", "down"),
        (lambda value: instance("name", value, str), "x", "x"),
        (lambda value: file_path("folder", value), "a/b", Path("a/b")),
        (lambda value: several("names", value), ("a", "b"), ["a", "b"]),
        (lambda value: fraction("share", value), 0, 0.0),
        (lambda value: fraction("share", value), 1, 1.0),
        (lambda value: positive("rate", value), 1e-9, 1e-9),
    ],
)
def test_what_is_allowed_comes_back(check: Callable[[Any], Any], good: Any, expected: Any) -> None:
    assert check(good) == expected
    assert type(check(good)) is type(expected)


@pytest.mark.parametrize(
    ("check", "bad", "sentence"),
    [
        *(
            (
                lambda value: whole_number("n", value, 1, 9),
                bad,
                f"n must be a whole number from 1 to 9, not {bad!r}",
            )
            for bad in (0, 10, 1.0, "1", True, None)
        ),
        (
            lambda value: one_of("order", value, ["up", "down"]),
            "left",
            "unknown order 'left': choose one of up, down",
        ),
        (lambda value: instance("name", value, str), 3, "name must be a str, not 3"),
        (lambda value: file_path("folder", value), 3, "folder must be a path, not 3"),
        (lambda value: several("names", value), "ab", "names must be a list, not 'ab'"),
        (lambda value: several("names", value), 3, "names must be a list, not 3"),
        (lambda v: fraction("share", v), 1.01, "share must be a number from 0 to 1, not 1.01"),
        (lambda v: fraction("share", v), -0.1, "share must be a number from 0 to 1, not -0.1"),
        (lambda v: fraction("share", v), math.nan, "share must be a number from 0 to 1, not nan"),
        (lambda value: positive("rate", value), 0, "rate must be a number above 0, not 0"),
        (lambda value: positive("rate", value), math.inf, "rate must be a number above 0, not inf"),
    ],
)
def test_what_is_not_allowed_is_answered_with_what_is(
    check: Callable[[Any], Any], bad: Any, sentence: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        check(bad)
    assert str(error.value) == sentence


def test_only_whole_numbers_are_an_index() -> None:
    assert [as_index(value) for value in (3, np.uint8(3), True, 3.0, "3", None)] == [
        *(3, 3, None, None, None, None)
    ]
