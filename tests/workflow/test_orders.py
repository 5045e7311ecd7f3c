import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refused import refusal
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES, Orders
from workflow_rl.workflow.units import TYPE_UNITS, units_of

UNITS = TYPE_UNITS.names
INDICES = st.integers(0, NUM_ORDERS - 1)
SEQUENCES = TYPES.sequences(range(NUM_ORDERS))
POSITIONS = TYPES.positions(range(NUM_ORDERS))
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))
PAIRS = TYPES.pairs
EXAMPLE = ("op_server", "enterprise", "op_host", "user", "defender")


def test_the_120_orders_of_the_five_types_are_numbered_written_and_read_back() -> None:
    assert NUM_ORDERS == len(ORDERS) == len(set(ORDERS)) == math.factorial(5)
    for index, order in enumerate(ORDERS):
        assert sorted(order) == sorted(UNITS)
        assert TYPES.index(order) == TYPES.index(list(order)) == index
        assert TYPES.format(index) == str(order) == " > ".join(order)
        assert TYPES.read(TYPES.format(index)) == order
        assert tuple(UNITS[unit] for unit in SEQUENCES[index]) == order
        assert POSITIONS[index].tolist() == [order.index(unit) for unit in UNITS]


def test_precedence_says_which_of_a_pair_comes_first() -> None:
    assert len(PAIRS) == 10
    for order, row in zip(ORDERS, PRECEDENCE, strict=True):
        for (a, b), sign in zip(PAIRS, row, strict=True):
            assert sign == (1 if order.index(UNITS[a]) < order.index(UNITS[b]) else -1)


SEPARATORS = [">", " > ", "->", " → ", "→", ",", ", ", "  ", " >\t", " ->\n"]


@settings(deadline=None)
@given(INDICES, st.lists(st.sampled_from(SEPARATORS), min_size=4), st.booleans())
def test_separators_and_cases_may_be_mixed(index: int, between: list[str], upper: bool) -> None:
    order = ORDERS[index]
    text = order[0] + "".join(s + u for s, u in zip(between, order[1:], strict=False))
    assert TYPES.read(f"  {text.upper()} " if upper else text) == order


@pytest.mark.parametrize(
    "given",
    [
        *("", "   ", ">", "user", "0 1 2 3 4", (), (1, 2, 3, 4, 5), UNITS[:4], (*UNITS, "user")),
        *(" > ".join([*EXAMPLE[:4], "user"]), " > ".join([*EXAMPLE[:4], "attacker"])),
        *("; ".join(EXAMPLE), " - ".join(EXAMPLE), " > ".join(EXAMPLE).replace("_", " ")),
    ],
)
def test_what_is_not_an_order_is_one_sentence_that_names_the_five_types(given: Any) -> None:
    for read in (TYPES.read, TYPES.index):
        said = refusal(read, given)
        assert all(unit in said for unit in UNITS)


def swaps_between(a: int, b: int) -> int:
    """How many exchanges of neighbours turn one order into the other: those bubble sort makes."""
    ranks = [ORDERS[b].index(unit) for unit in ORDERS[a]]
    swaps = 0
    for _ in ranks:
        for i in range(4):
            if ranks[i] > ranks[i + 1]:
                ranks[i], ranks[i + 1] = ranks[i + 1], ranks[i]
                swaps += 1
    return swaps


def test_kendall_distance_counts_exchanges_of_neighbours() -> None:
    for a, b in itertools.product(range(0, 120, 7), range(120)):
        assert TYPES.distance(a, b) == swaps_between(a, b)


def test_against_bline_the_places_of_defender_and_op_host_make_no_difference() -> None:
    classes = TYPES.classes_of_equals("bline")
    for number in range(6):
        members = [ORDERS[i] for i in np.flatnonzero(classes == number)]
        rest = {tuple(u for u in order if u not in ("defender", "op_host")) for order in members}
        assert len(members) == 20
        assert len(rest) == 1
    for red_agent in ("meander", "sleep", "mixed"):  # no two orders are equal
        assert len(set(TYPES.classes_of_equals(red_agent).tolist())) == NUM_ORDERS


def test_what_equal_orders_have_in_common_names_their_class() -> None:
    classes = TYPES.classes_of_equals("bline")
    parts = [TYPES.common_part(np.flatnonzero(classes == c).tolist()) for c in range(6)]
    assert set(parts) == set(itertools.permutations(("enterprise", "op_server", "user")))
    for index, order in enumerate(ORDERS):
        assert TYPES.common_part([index]) == order
        assert TYPES.common_part([index, TYPES.index(order[::-1])]) == ()


HOSTS = Orders(units_of("hosts"))
HOST_ORDERS = st.integers(0, HOSTS.total - 1)


@settings(max_examples=30, deadline=None)
@given(HOST_ORDERS, HOST_ORDERS)
def test_numbers_rise_as_orders_do_and_are_read_back(a: int, b: int) -> None:
    one, other = HOSTS.sequences([a, b]).tolist()
    assert (a < b) == (one < other)
    assert HOSTS.index(HOSTS.format(a).upper()) == a
    assert HOSTS.indices(HOSTS.sequences([a, b])).tolist() == [a, b]


@settings(max_examples=20, deadline=None)
@given(HOST_ORDERS)
def test_neighbours_are_one_swap_or_one_insertion_away(index: int) -> None:
    near = HOSTS.neighbours(index)
    assert len(near) == 176 == len(set(near.tolist()) - {index})
    order = HOSTS.sequences([index])[0]
    for other in HOSTS.sequences(near):
        changed = np.flatnonzero(order != other)
        part = slice(changed[0], changed[-1] + 1)
        rolled = [np.roll(other[part], by).tolist() for by in (1, -1)]
        assert sorted(order[part]) == sorted(other[part])
        assert len(changed) == 2 or order[part].tolist() in rolled


def test_against_bline_units_of_hosts_it_never_touches_make_no_difference() -> None:
    one = HOSTS.read(HOSTS.units.names)
    moved = [name for name in one if name not in ("Defender", "Op_Host1")]
    other = ("Op_Host1", *moved, "Defender")
    third = (*one[:-2], one[-1], one[-2])
    indices = [HOSTS.index(order) for order in (one, other, third)]
    assert HOSTS.classes_of_equals("bline", indices).tolist() == [0, 0, 1]
    assert HOSTS.classes_of_equals("meander", indices).tolist() == [0, 1, 2]


def test_an_order_knows_its_units_wherever_it_goes() -> None:
    order = HOSTS.read(HOSTS.units.names)
    again = pickle.loads(pickle.dumps(order))
    assert (again, again.units) == (order, HOSTS.units)
    assert TYPES[3].units == TYPES.units
