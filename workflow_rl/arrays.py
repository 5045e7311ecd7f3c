"""Arrays that a caller hands in, checked once: compiled code reads and writes what it is given."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError

_KINDS: Final = {"b": "truth values", "i": "whole numbers", "f": "finite numbers"}
_TAKEN: Final = {"b": "b", "i": "iu", "f": "iufb"}  # kinds of numpy that each is made of


def checked_array(
    what: str,
    value: object,
    shape: tuple[int | None, ...],
    dtype: type[np.generic],
    within: tuple[int, int] | None = None,
) -> NDArray[Any]:
    """Returns a value as a contiguous array of a shape and a type.

    Args:
        what: how a sentence names it.
        value: whatever was given.
        shape: its shape; None for any length.
        dtype: of the array: truth values, integers or floats.
        within: the lowest and the highest number allowed.

    Raises:
        InvalidInputError: it is not such an array; the sentence says what is allowed.
    """
    kind = np.dtype(dtype).kind
    sizes = ", ".join("any" if size is None else str(size) for size in shape)
    allowed = f"{_KINDS[kind]}{f' from {within[0]} to {within[1]}' if within else ''}"
    needed = f"{what} must be {allowed} of shape ({sizes}{',' if len(shape) == 1 else ''})"
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths
        raise InvalidInputError(f"{needed}, not {type(value).__name__} of another form") from None
    fits = len(shape) == array.ndim and all(
        size in (None, found) for size, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in _TAKEN[kind]:
        raise InvalidInputError(f"{needed}, not {array.dtype} of shape {array.shape}")
    if kind == "f" and not np.isfinite(array).all():
        raise InvalidInputError(f"{needed}, and one of them is not finite")
    if within is not None and array.size:
        wrong = (array < within[0]) | (array > within[1])
        if wrong.any():
            place = np.unravel_index(int(wrong.argmax()), array.shape)
            where = ", ".join(map(str, place))
            raise InvalidInputError(f"{needed}, not {array[place]} at ({where})")
    return np.ascontiguousarray(array, dtype)
