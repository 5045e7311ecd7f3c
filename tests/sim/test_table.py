from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.sim.state import STATE_DTYPE, Activity, Mark
from workflow_rl.sim.table import (
    activity,
    clear_activity,
    mark,
    mark_of,
    packed_tables,
    show,
)

HOST = st.integers(0, 12)
TABLE = st.integers(0, 2**52 - 1)


def environment(table: int) -> Any:
    states = np.zeros(1, STATE_DTYPE)
    states["table"] = table
    return states[0]


def bits(table: int) -> list[int]:
    return [table >> i & 1 for i in range(52)]


@settings(deadline=None)
@given(tables=st.lists(TABLE, min_size=1, max_size=3))
def test_tables_come_back_from_the_bits_of_observations(tables: list[int]) -> None:
    shown = np.array([[*bits(table), 1, 0, 1] for table in tables], np.int8)  # and what follows
    for observation in (shown, shown.astype(np.float32)):
        assert packed_tables(observation).tolist() == tables


@settings(deadline=None)
@given(table=TABLE, host=HOST)
def test_activity_and_mark_are_the_hosts_own_bits(table: int, host: int) -> None:
    env = environment(table)
    a1, a2, c1, c2 = bits(table)[4 * host : 4 * host + 4]
    assert activity(env, host) == a1 + 2 * a2
    assert mark_of(env, host) == c1 + 2 * c2


@settings(deadline=None)
@given(table=TABLE, host=HOST, new=st.sampled_from(Mark))
def test_a_mark_replaces_the_mark_of_that_host_only(table: int, host: int, new: Mark) -> None:
    env = environment(table)
    mark(env, host, int(new))
    expected = bits(table)
    expected[4 * host + 2 : 4 * host + 4] = [new & 1, new >> 1]
    assert bits(int(env["table"])) == expected


@settings(deadline=None)
@given(table=TABLE, host=HOST, new=st.sampled_from(Activity))
def test_activities_are_cleared_and_shown_on_one_host(table: int, host: int, new: Activity) -> None:
    env = environment(table)
    clear_activity(env)
    expected = [bit if i % 4 >= 2 else 0 for i, bit in enumerate(bits(table))]
    assert bits(int(env["table"])) == expected
    show(env, host, int(new))
    expected[4 * host : 4 * host + 2] = [new & 1, new >> 1]
    assert bits(int(env["table"])) == expected
