"""Checks of single settings: each returns the value or says in one sentence what is allowed."""

import math

from workflow_rl.errors import InvalidInputError


def one_of(what: str, value: object, allowed: tuple[str, ...]) -> str:
    """Returns the value if it is one of the allowed names, else raises a sentence naming them."""
    if value in allowed:
        return str(value)
    raise InvalidInputError(f"unknown {what} {value!r}: choose one of {', '.join(allowed)}")


def whole_number(what: str, value: object, low: int, high: int) -> int:
    """Returns the value as an int in [low, high], else raises a sentence naming the range."""
    try:
        number = value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        number = None
    if number is None or isinstance(value, bool) or not low <= number <= high:
        raise InvalidInputError(
            f"{what} must be a whole number from {low} to {high}, not {value!r}"
        )
    return int(number)


def fraction(what: str, value: float) -> float:
    """Returns the value if it lies in [0, 1], else raises a sentence saying so."""
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return float(value)
    raise InvalidInputError(f"{what} must be a number from 0 to 1, not {value!r}")


def not_negative(what: str, value: float) -> float:
    """Returns the value if it is a finite number of 0 or more, else raises a sentence saying so."""
    if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0:
        return float(value)
    raise InvalidInputError(f"{what} must be a number of 0 or more, not {value!r}")


def positive(what: str, value: float) -> float:
    """Returns the value if it is a finite number above 0, else raises a sentence saying so."""
    if isinstance(value, (int, float)) and math.isfinite(value) and value > 0:
        return float(value)
    raise InvalidInputError(f"{what} must be a number above 0, not {value!r}")
