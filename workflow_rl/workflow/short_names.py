"""Orders in short, where there is no room for their units' whole names."""

import re
from functools import cache
from typing import Final

from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import Units

_ROOM: Final = 34  # columns of an order in a table of 80
_WHOLE: Final = 4  # letters of a name that is not worth shortening
_LEAST: Final = 3  # letters of a short name, where there is room for them
_BETWEEN: Final = " > "
_PART: Final = re.compile(r"\d+|[^\W\d_]+")  # of a name: letters, or a number


def short_order(order: Order) -> str:
    """Writes an order as `op_s > ent > ...`, or of many units as `S0>E0>...`."""
    short = short_names(order.units.names)
    whole = _BETWEEN.join(short[unit] for unit in order)
    return whole if len(whole) <= _ROOM else whole.replace(_BETWEEN, _BETWEEN.strip())


@cache
def short_names(units: tuple[str, ...]) -> dict[str, str]:
    """Returns the short name of each unit: its beginning, as long as it takes to be told.

    Where that leaves no room for an order it is the first letters of its last word, `H0` for
    Op_Host0, or of all its words, as few as tell all of the units.
    """
    names = {unit: _beginning(unit, units) for unit in units}
    if len(_BETWEEN.join(names.values())) <= _ROOM:
        return names
    for letters in range(1, max(map(len, units))):
        for whole in (False, True):
            tight = {unit: _initials(unit, letters, whole) for unit in units}
            if all(tight.values()) and len(set(tight.values())) == len(units):
                return tight
    return names


def legend(units: Units) -> str:
    """Says which short name stands for which unit, of those that are shortened."""
    names = short_names(units.names)
    pairs = [f"{short} {unit}" for unit, short in names.items() if short != unit]
    return ", ".join(pairs)


def _beginning(unit: str, units: tuple[str, ...]) -> str:
    if len(unit) <= _WHOLE:
        return unit
    others = [other for other in units if other != unit]
    lengths = range(_LEAST, len(unit))
    return next(
        (unit[:n] for n in lengths if not any(o.startswith(unit[:n]) for o in others)), unit
    )


def _initials(unit: str, letters: int, whole: bool) -> str:
    parts = _PART.findall(unit)
    words = [part for part in parts if not part.isdigit()]
    kept = parts if whole else [part for part in parts if part not in words[:-1]]
    return "".join(part if part.isdigit() else part[:letters] for part in kept)
