"""How a word of bits becomes a row of bytes, and back.

Blue's table and memory are words; an observation has a byte for each of their bits. What
`write_bits` does is a loop, but compilers do not see that processors have one or two instructions
for a whole word: so compiled code states it as the conversion of a vector.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.records import ONE

_WORD: Final = 64
_ROWS: Final = types.Array(types.int8, 2, "C")


def write_bits(rows: NDArray[np.int8], k: int, at: int, bits: int, number: int) -> None:
    """Writes the lowest bits of a word to row k, the lowest one to column `at`.

    Args:
        rows: (n, more) contiguous; that row k has `number` columns from there on is not checked.
        k: the row.
        at: the column.
        bits: the word.
        number: how many bits, at most 64; a constant, for each there is machine code of its own.
    """
    for i in range(number):
        rows[k, at + i] = bits >> i & 1


def packed_rows(bits: NDArray[Any], words: int) -> NDArray[np.int64]:
    """Returns (n, words) rows of bits (n, at most 64 a word), the first bit lowest."""
    padded = np.zeros((len(bits), words * 8), np.uint8)
    packed = np.packbits(np.asarray(bits) != 0, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<i8").astype(np.int64, copy=False)


class Written(NamedTuple):
    """How far a row of bits is written."""

    word: int  # bits that are not yet in the row
    number: int  # how many, fewer than 64
    at: int  # the column that they begin at


@rule
def append_bits(
    rows: NDArray[np.int8], k: int, written: Written, bits: int, number: int
) -> Written:
    """Adds the lowest bits of a word to row k; the others must be 0.

    Args:
        rows: (n, more) contiguous; that row k has room is not checked.
        k: the row.
        written: how far the row is.
        bits: the word.
        number: how many of its bits, at most 64; need not be a constant.
    """
    word = written.word | bits * ONE << written.number  # of 64 bits also where it is interpreted
    total = written.number + number
    if total < _WORD:
        return Written(word, total, written.at)
    write_bits(rows, k, written.at, word, 64)
    left = total - _WORD
    rest = 0 * ONE
    if left:  # a logical shift: what did not fit
        rest = np.int64(np.uint64(bits * ONE) >> np.uint64(number - left))  # type: ignore[assignment]
    return Written(rest, left, written.at + _WORD)


@rule
def end_bits(rows: NDArray[np.int8], k: int, written: Written) -> None:
    """Writes what is left of row k."""
    word, at = written.word, written.at
    if written.number & 32:
        write_bits(rows, k, at, word, 32)
        word, at = word >> 32, at + 32
    if written.number & 16:
        write_bits(rows, k, at, word, 16)
        word, at = word >> 16, at + 16
    if written.number & 8:
        write_bits(rows, k, at, word, 8)
        word, at = word >> 8, at + 8
    if written.number & 4:
        write_bits(rows, k, at, word, 4)
        word, at = word >> 4, at + 4
    for i in range(written.number & 3):
        rows[k, at + i] = word >> i & 1


@overload(write_bits, prefer_literal=True)  # type: ignore[untyped-decorator]
def _write_bits(rows: Any, k: Any, at: Any, bits: Any, number: Any) -> Any:
    if rows != _ROWS or not isinstance(number, types.IntegerLiteral):
        return None
    width = number.literal_value

    def compiled(rows: Any, k: Any, at: Any, bits: Any, number: Any) -> Any:
        _store_bits(rows, k, at, bits, width)

    return compiled


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def _store_bits(typing: Any, rows: Any, k: Any, at: Any, bits: Any, number: Any) -> Any:
    width = number.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(_ROWS)(context, builder, args[0])
        at = cgutils.get_item_pointer(context, builder, _ROWS, array, args[1:3], wraparound=False)
        word = builder.trunc(args[3], ir.IntType(width)) if width < _WORD else args[3]
        flags = builder.bitcast(word, ir.VectorType(ir.IntType(1), width))
        values = builder.zext(flags, ir.VectorType(ir.IntType(8), width))
        builder.store(values, builder.bitcast(at, values.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(_ROWS, types.intp, types.intp, types.int64, number), generate
