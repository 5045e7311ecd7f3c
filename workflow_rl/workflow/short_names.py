"""Orders in short, where there is no room for their unit types' whole names."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import ORDERS

_WHOLE: Final = 4  # letters of a name that is not worth shortening
_LEAST: Final = 3  # letters of a short name


def short_order(order: int | Sequence[str]) -> str:
    """Writes an order, given as a tuple or an index, as `op_s > ent > ...`."""
    units = ORDERS[order] if isinstance(order, int) else order
    return " > ".join(short_names()[unit] for unit in units)


@cache
def short_names() -> dict[str, str]:
    """Returns the short name of each unit type: its beginning, as long as it takes to be told."""
    return {unit: _short(unit) for unit in UNITS}


def legend() -> str:
    """Says which short name stands for which unit type, of those that are shortened."""
    pairs = [f"{short} {unit}" for unit, short in short_names().items() if short != unit]
    return ", ".join(pairs)


def _short(unit: str) -> str:
    if len(unit) <= _WHOLE:
        return unit
    others = [other for other in UNITS if other != unit]
    lengths = range(_LEAST, len(unit))
    return next(
        (unit[:n] for n in lengths if not any(o.startswith(unit[:n]) for o in others)), unit
    )
