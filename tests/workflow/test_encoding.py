import itertools
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.config import OrderEncodingName
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import HOST_NAMES
from workflow_rl.sim.state import Mark
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.episode_orders import AnyOrders
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES
from workflow_rl.workflow.units import TYPE_UNITS, fixable

FIXABLE = fixable(SCENARIO2)
PLACES = [HOST_NAMES.index(name) for name in FIXABLE]
ONEHOT = OrderEncoding("onehot", TYPE_UNITS).order_bits(TYPES.host_ranks(range(NUM_ORDERS)))
SIZES = {"onehot": 25, "ranks": 144, "precedence": 132, "due": 12}


@pytest.mark.parametrize("name", get_args(OrderEncodingName))
def test_an_encoding_has_the_size_of_its_parts(name: OrderEncodingName) -> None:
    encoding = OrderEncoding(name, TYPE_UNITS)
    assert encoding.size == sum(SIZES[part] for part in name.split("+"))
    assert encoding.size == encoding.lasting + encoding.of_step
    ranks = TYPES.host_ranks([7, 9])
    assert encoding.order_bits(ranks).shape == (2, encoding.lasting)
    assert encoding.step_bits(np.array([[0], [1 << 6]]), ranks).shape == (2, encoding.of_step)
    assert encoding.is_general == (name != "onehot")


def test_the_documents_25_bits_are_one_hot_per_place_and_per_type() -> None:
    grid = ONEHOT.reshape(120, 5, 5)
    assert set(np.unique(grid)) == {0, 1}
    for order, bits in zip(ORDERS, grid, strict=True):
        assert tuple(TYPE_UNITS.names[int(np.flatnonzero(row)[0])] for row in bits) == order


@settings(max_examples=30, deadline=None)
@given(st.integers(0, AnyOrders.count - 1))
def test_ranks_and_precedence_tell_any_order_of_any_units(number: int) -> None:
    ranks = AnyOrders().host_ranks([number])
    grid = OrderEncoding("ranks", None).order_bits(ranks).reshape(12, 12)
    assert (grid.sum(axis=1) == 1).all()
    assert (grid.argmax(axis=1) == ranks[0, PLACES]).all()
    bits = OrderEncoding("precedence", None).order_bits(ranks)[0].tolist()
    pairs = itertools.permutations(PLACES, 2)
    assert bits == [int(ranks[0, a] < ranks[0, b]) for a, b in pairs]


def table(*marked: str) -> int:
    return sum(int(Mark.USER) << 4 * HOST_NAMES.index(name) + 2 for name in marked)


def due(order: str, *marked: str) -> list[str]:
    encoding = OrderEncoding("due", None)
    bits = encoding.step_bits(np.array([[table(*marked)]]), TYPES.read(order).host_ranks[None])
    return [FIXABLE[k] for k in np.flatnonzero(bits[0])]


def test_due_are_the_marked_hosts_that_no_marked_host_comes_before() -> None:
    order = "op_server > enterprise > op_host > user > defender"
    assert due(order) == []
    assert due(order, "User0") == []
    assert due(order, "User1", "User3", "Defender") == ["User1", "User3"]
    assert due(order, "User1", "Enterprise2", "Enterprise0") == ["Enterprise0", "Enterprise2"]
    other = "user > op_server > enterprise > op_host > defender"
    assert due(other, "User1", "Op_Server0") == ["User1"]
