"""How a word of bits becomes a row of bytes, and back.

Blue's table and memory are words; an observation has a byte for each of their bits. What
`write_bits` does is a loop, but compilers do not see that processors have one or two instructions
for a whole word: so compiled code states it as the conversion of a vector.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

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


def packed_rows(bits: NDArray[Any]) -> NDArray[np.int64]:
    """Returns (n,) rows of bits (n, at most 63) as words, the first bit lowest."""
    words: NDArray[np.int64] = (bits != 0) @ (np.int64(1) << np.arange(bits.shape[1]))
    return words


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
