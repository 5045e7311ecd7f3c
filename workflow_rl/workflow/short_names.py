"""Orders in short, where there is no room for their units' whole names."""

from functools import cache
from typing import Final

from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import Units

_WHOLE: Final = 4  # letters of a name that is not worth shortening
_LEAST: Final = 3  # letters of a short name


def short_order(order: Order) -> str:
    """Writes an order as `op_s > ent > ...`."""
    short = short_names(order.units.names)
    return " > ".join(short[unit] for unit in order)


@cache
def short_names(units: tuple[str, ...]) -> dict[str, str]:
    """Returns the short name of each unit: its beginning, as long as it takes to be told."""
    return {unit: _short(unit, units) for unit in units}


def legend(units: Units) -> str:
    """Says which short name stands for which unit, of those that are shortened."""
    names = short_names(units.names)
    pairs = [f"{short} {unit}" for unit, short in names.items() if short != unit]
    return ", ".join(pairs)


def _short(unit: str, units: tuple[str, ...]) -> str:
    if len(unit) <= _WHOLE:
        return unit
    others = [other for other in units if other != unit]
    lengths = range(_LEAST, len(unit))
    return next(
        (unit[:n] for n in lengths if not any(o.startswith(unit[:n]) for o in others)), unit
    )
