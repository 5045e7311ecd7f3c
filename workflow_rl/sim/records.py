"""From an annotated layout to a numpy record: it types the rules and holds the data."""

from typing import Any, Final, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

PADDING: Final = "_padding_"  # how the names of bytes begin that mean nothing


def record_dtype(layout: type[Any]) -> np.dtype[np.void]:
    """Returns the aligned numpy record with the annotated fields of `layout`.

    Padding has a name too: unnamed bytes between fields are undefined after a copy, and equal games
    must be equal to the byte.
    """
    fields: list[tuple[str, Any, tuple[int, ...]]] = []

    def fill_up_to(end: int) -> None:
        if free := end - np.dtype(fields).itemsize:
            fields.append((f"{PADDING}{len(fields)}", np.int8, (free,)))

    aligned = 1
    for name, hint in get_type_hints(layout, include_extras=True).items():
        _, scalar, shape = get_args(hint)
        alignment = np.dtype(scalar).alignment
        aligned = max(aligned, alignment)
        fill_up_to(-(-np.dtype(fields).itemsize // alignment) * alignment)
        fields.append((name, scalar, shape))
    fill_up_to(-(-np.dtype(fields).itemsize // aligned) * aligned)
    return np.dtype(fields, align=True)


def initial_record(layout: type[Any]) -> NDArray[np.void]:
    """Returns (1,) the record whose fields have the values that `layout` gives them.

    Raises:
        AttributeError: `layout` gives a field none.
    """
    record = np.zeros(1, record_dtype(layout))
    for name in get_type_hints(layout):
        record[name] = getattr(layout, name)
    record.flags.writeable = False
    return record
