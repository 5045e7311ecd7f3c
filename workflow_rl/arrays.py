"""Arrays that a caller hands in, checked once: compiled code reads and writes what it is given."""

from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import kernel

Shape = tuple[int | None, ...]  # None for any length
Range = tuple[float, float]  # the lowest and the highest number allowed

_WHOLE: Final = "whole numbers"
_KINDS: Final = {"b": "truth values", "i": _WHOLE, "u": _WHOLE, "f": "numbers"}
_TAKEN: Final = {"b": "biu", "i": "iu", "u": "iu", "f": "iufb"}  # what each is made of
_WITHIN: Final = -1  # where no number is outside


@kernel()
def _first_outside(numbers: NDArray[Any], low: float, high: float) -> int:
    for k in range(len(numbers)):
        if not low <= numbers[k] <= high:
            return k
    return _WITHIN


def has_form(value: object, shape: Shape, dtype: type[np.generic]) -> TypeGuard[NDArray[Any]]:
    """Returns whether a value is an array of a shape and a type, however it lies in memory."""
    return (
        type(value) is np.ndarray
        and (value.shape == shape or _has_shape(value, shape))
        and value.dtype == dtype
    )


def is_plain(value: object, shape: Shape, dtype: type[np.generic]) -> TypeGuard[NDArray[Any]]:
    """Returns whether machine code can read a value as an array of a shape and a type."""
    return has_form(value, shape, dtype) and value.flags.c_contiguous and value.flags.aligned


def _has_shape(array: NDArray[Any], shape: Shape) -> bool:
    if array.ndim != len(shape):
        return False
    if shape[1:] == array.shape[1:]:  # the usual case, at once
        return shape[0] is None or shape[0] == array.shape[0]
    for size, found in zip(shape, array.shape, strict=True):
        if size is not None and size != found:
            return False
    return True


def checked_array(
    what: str,
    value: object,
    shape: Shape,
    dtype: type[np.generic],
    within: Range | None = None,
) -> NDArray[Any]:
    """Returns a value as a contiguous array of a shape and a type, itself if it is one.

    Args:
        what: how a sentence names it.
        value: whatever was given.
        shape: its shape; None for any length.
        dtype: of the array: truth values, integers or floats.
        within: the lowest and the highest number allowed.

    Raises:
        InvalidInputError: it is not such an array; the sentence says what is allowed.
    """
    if has_form(value, shape, dtype):
        plain = value if value.flags.c_contiguous and value.flags.aligned else value.copy()
        if within is None or _first_outside(plain.reshape(-1), *within) == _WITHIN:
            return plain
    kind = np.dtype(dtype).kind
    sizes = ", ".join("any" if size is None else str(size) for size in shape)
    allowed = f"{_KINDS[kind]}{f' from {within[0]} to {within[1]}' if within else ''}"
    needed = f"{what} must be {allowed} of shape ({sizes}{',' if len(shape) == 1 else ''})"
    array = numbers(needed, value)
    if not _has_shape(array, shape) or array.dtype.kind not in _TAKEN[kind]:
        raise InvalidInputError(f"{needed}, not {array.dtype} of shape {array.shape}")
    wrong = np.zeros(array.shape, np.bool_)
    for bounds in filter(None, (within, _range_of(dtype))):
        low, high = map(np.float64, bounds) if array.dtype.kind == "f" else bounds
        wrong |= ~((array >= low) & (array <= high))  # what is not a number is neither
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), array.shape)
        where = ", ".join(map(str, place))
        raise InvalidInputError(f"{needed}, not {array[place]} at ({where})")
    return np.array(array, dtype, order="C")


def numbers(needed: str, value: object) -> NDArray[Any]:
    """Returns a value as an array of any shape; InvalidInputError if it is none."""
    try:
        array = np.asarray(value)
    except Exception:  # rows of different lengths, or an object's own reason
        raise InvalidInputError(f"{needed}, not {type(value).__name__} of another form") from None
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{needed}, not {array.dtype} of shape {array.shape}")
    return array


def _range_of(dtype: type[np.generic]) -> Range:
    """Returns the lowest and the highest number that a type holds."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return 0, 1
    limits: Any = np.finfo(dtype) if kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max
