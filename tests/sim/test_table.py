from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenario.drawn import networks, padded
from workflow_rl.scenario.records import CAPACITIES, record_dtype
from workflow_rl.sim.state import Activity, Mark, State
from workflow_rl.sim.table import (
    activity_at,
    clear_activity,
    mark,
    mark_at,
    packed_tables,
    read_table,
    show,
)

MOST = CAPACITIES[-1]
PLACE = st.integers(0, MOST - 1)
TABLE = st.integers(0, 2 ** (4 * MOST) - 1)  # four bits for each place


def environment(table: int) -> Any:
    states: Any = np.zeros(1, record_dtype(State, MOST))
    states["table"][0] = np.frombuffer(table.to_bytes(MOST // 2, "little"), np.int64)
    return states[0]


def number(env: Any) -> int:
    return int.from_bytes(env["table"].tobytes(), "little")


def bits(table: int) -> list[int]:
    return [table >> i & 1 for i in range(4 * MOST)]


@settings(deadline=None)
@given(network=networks(), spare=st.sampled_from([0, 10, 40]), data=st.data())
def test_tables_come_back_from_the_bits_of_observations(
    network: Any, spare: int, data: st.DataObject
) -> None:
    network = padded(network, spare)
    size = 4 * len(network.observed)
    shown = np.array(data.draw(st.lists(st.integers(0, 1), min_size=size + 3, max_size=size + 3)))
    for observation in (shown.astype(np.int8), shown.astype(np.float32)):
        (table,) = packed_tables(network, observation[None])
        read = read_table(network, table)
        seen = dict(zip(network.observed, shown[:size].reshape(-1, 4).tolist(), strict=True))
        for name, (activity, noted) in zip(network.host_names, read, strict=True):
            a1, a2, m1, m2 = seen.get(name, [0] * 4)
            assert (activity, noted) == (a1 + 2 * a2, m1 + 2 * m2)


@settings(deadline=None)
@given(table=TABLE, place=PLACE)
def test_activity_and_mark_are_the_bits_of_their_place(table: int, place: int) -> None:
    env = environment(table)
    a1, a2, c1, c2 = bits(table)[4 * place : 4 * place + 4]
    assert activity_at(env["table"], place) == a1 + 2 * a2
    assert mark_at(env["table"], place) == c1 + 2 * c2


@settings(deadline=None)
@given(table=TABLE, place=PLACE, new=st.sampled_from(Mark))
def test_a_mark_replaces_the_mark_of_that_place_only(table: int, place: int, new: Mark) -> None:
    env = environment(table)
    mark(env, place, int(new))
    expected = bits(table)
    expected[4 * place + 2 : 4 * place + 4] = [new & 1, new >> 1]
    assert bits(number(env)) == expected


@settings(deadline=None)
@given(table=TABLE, place=PLACE, new=st.sampled_from(Activity))
def test_activities_are_cleared_and_shown_at_one_place(
    table: int, place: int, new: Activity
) -> None:
    env = environment(table)
    clear_activity(env)
    expected = [bit if i % 4 >= 2 else 0 for i, bit in enumerate(bits(table))]
    assert bits(number(env)) == expected
    show(env, place, int(new))
    expected[4 * place : 4 * place + 2] = [new & 1, new >> 1]
    assert bits(number(env)) == expected
