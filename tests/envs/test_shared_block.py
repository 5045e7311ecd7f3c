from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.envs.shared_block import Field, SharedBlock

FIELDS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 5), max_size=3).map(tuple),
        st.sampled_from(["i1", "f8", "?", "u4", "c16"]),
    ),
    max_size=6,
)


@given(FIELDS)
def test_arrays_have_their_shapes_and_do_not_overlap(fields: list[Any]) -> None:
    block = SharedBlock(
        [Field(str(k), shape, np.dtype(dtype)) for k, (shape, dtype) in enumerate(fields)]
    )
    for k, (shape, dtype) in enumerate(fields):
        assert (block[str(k)].shape, block[str(k)].dtype) == (shape, np.dtype(dtype))
        assert not block[str(k)].any()
        assert block[str(k)].ctypes.data % 64 == 0
        block[str(k)][...] = k % 2
    for k in range(len(fields)):
        assert (block[str(k)] == k % 2).all()
    block.close()
