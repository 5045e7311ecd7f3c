import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.envs.toys import Toy
from workflow_rl.envs.shared_block import Field, SharedBlock, info_fields

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


def fill(block: SharedBlock) -> None:
    block["a"][:] = [1, 2, 3]


@pytest.mark.parametrize("start_method", ["fork", "spawn", "forkserver"])
def test_other_processes_see_the_same_memory_which_has_no_name(start_method: str) -> None:
    names = sorted(os.listdir("/dev/shm"))
    block = SharedBlock([Field("a", (3,), np.dtype(np.float32))])
    context: Any = multiprocessing.get_context(start_method)
    process = context.Process(target=fill, args=(block,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert block["a"].tolist() == [1, 2, 3]
    given = block["a"]
    block.close()
    assert given.tolist() == [1, 2, 3]  # whoever still uses it may
    assert sorted(os.listdir("/dev/shm")) == names


def test_numbers_and_arrays_of_a_reset_become_info_arrays() -> None:
    class Talkative(Toy):
        def info(self) -> dict[str, Any]:
            return {
                "flag": True,
                "level": 2,
                "share": np.float32(0.5),
                "mask": np.ones((2, 3), np.bool_),
                "name": "toy",
                "names": np.array(["toy"]),
                "table": {"a": 1},
                "nothing": None,
            }

    found = {field.name: (field.shape, field.dtype) for field in info_fields(None, Talkative())}
    assert found == {
        "clock": ((), np.dtype(np.int64)),
        "flag": ((), np.dtype(np.bool_)),
        "level": ((), np.dtype(np.int64)),
        "share": ((), np.dtype(np.float32)),
        "mask": ((2, 3), np.dtype(np.bool_)),
    }
