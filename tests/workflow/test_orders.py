import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import (
    ENCODING_SIZE,
    ENCODINGS,
    NUM_ORDERS,
    ORDERS,
    PAIRS,
    POSITIONS,
    PRECEDENCE,
    SEQUENCES,
    classes_of_equals,
    classes_without,
    common_part,
    format_order,
    kendall_distance,
    order_index,
    parse_order,
)

INDICES = st.integers(0, NUM_ORDERS - 1)
EXAMPLE = ("op_server", "enterprise", "op_host", "user", "defender")


# --- the 120 orders and their arrays


def test_there_are_120_distinct_orders_of_the_five_types() -> None:
    assert NUM_ORDERS == len(ORDERS) == len(set(ORDERS)) == math.factorial(5)
    assert all(sorted(order) == sorted(UNITS) for order in ORDERS)


def test_every_order_is_found_by_its_index() -> None:
    assert [order_index(order) for order in ORDERS] == list(range(120))
    assert [order_index(list(order)) for order in ORDERS] == list(range(120))


def test_sequences_name_the_type_at_each_position() -> None:
    assert [tuple(UNITS[unit] for unit in row) for row in SEQUENCES] == list(ORDERS)


def test_positions_and_sequences_are_inverse() -> None:
    rows = np.arange(120)[:, None]
    everywhere = np.tile(np.arange(5), (120, 1))
    np.testing.assert_array_equal(SEQUENCES[rows, POSITIONS], everywhere)
    np.testing.assert_array_equal(POSITIONS[rows, SEQUENCES], everywhere)


def test_an_encoding_is_one_hot_per_position_and_per_type() -> None:
    assert ENCODINGS.shape == (120, ENCODING_SIZE) == (120, 25)
    grid = ENCODINGS.reshape(120, 5, 5)
    assert set(np.unique(grid)) == {0, 1}
    assert (grid.sum(axis=1) == 1).all()
    assert (grid.sum(axis=2) == 1).all()


def test_an_encoding_can_be_read_back() -> None:
    for order, bits in zip(ORDERS, ENCODINGS, strict=True):
        read = tuple(UNITS[int(np.flatnonzero(row)[0])] for row in bits.reshape(5, 5))
        assert read == order
    assert len({bits.tobytes() for bits in ENCODINGS}) == 120


def test_precedence_says_which_of_a_pair_comes_first() -> None:
    assert len(PAIRS) == 10
    for order, row in zip(ORDERS, PRECEDENCE, strict=True):
        for (a, b), sign in zip(PAIRS, row, strict=True):
            assert sign == (1 if order.index(UNITS[a]) < order.index(UNITS[b]) else -1)


# --- reading and writing


@pytest.mark.parametrize(
    "text",
    [
        "op_server > enterprise > op_host > user > defender",
        "op_server>enterprise>op_host>user>defender",
        "op_server -> enterprise -> op_host -> user -> defender",
        "op_server->enterprise->op_host->user->defender",
        "op_server → enterprise → op_host → user → defender",
        "op_server→enterprise→op_host→user→defender",
        "op_server, enterprise, op_host, user, defender",
        "op_server,enterprise,op_host,user,defender",
        "op_server enterprise op_host user defender",
        "  OP_SERVER >\tEnterprise , Op_Host  ->user\n→ DEFENDER ",
    ],
)
def test_an_order_is_read_however_it_is_separated(text: str) -> None:
    assert parse_order(text) == EXAMPLE


@settings(deadline=None)
@given(INDICES, st.lists(st.sampled_from([">", " > ", "->", " → ", ",", ", ", "  "]), min_size=4))
def test_an_order_with_any_mix_of_separators_is_read_back(index: int, between: list[str]) -> None:
    order = ORDERS[index]
    text = order[0] + "".join(s + u for s, u in zip(between, order[1:], strict=False))
    assert parse_order(text) == order


def test_every_written_order_is_read_back() -> None:
    for index, order in enumerate(ORDERS):
        assert format_order(index) == format_order(order) == " > ".join(order)
        assert parse_order(format_order(index)) == order


def assert_names_the_five_types(message: str) -> None:
    assert "\n" not in message
    assert all(unit in message for unit in UNITS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        ">",
        "user",
        "op_server > enterprise > op_host > user",
        "op_server > enterprise > op_host > user > user",
        "op_server > enterprise > op_host > user > defender > user",
        "op_server > enterprise > op_host > user > attacker",
        "op_server; enterprise; op_host; user; defender",
        "op_server - enterprise - op_host - user - defender",
        "0 1 2 3 4",
        "op server > enterprise > op host > user > defender",
    ],
)
def test_what_is_not_an_order_is_one_sentence_that_names_the_five_types(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_order(text)
    assert_names_the_five_types(str(caught.value))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_an_order_or_a_sentence(text: str) -> None:
    try:
        assert parse_order(text) in ORDERS
    except InvalidInputError as error:
        assert_names_the_five_types(str(error))


@pytest.mark.parametrize("order", [(), UNITS[:4], (*UNITS, "user"), (1, 2, 3, 4, 5)])
def test_a_sequence_that_is_not_an_order_is_refused_alike(order: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        order_index(order)
    assert_names_the_five_types(str(caught.value))


# --- distances


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
        assert kendall_distance(a, b) == swaps_between(a, b)


def test_the_reversed_order_and_only_it_is_furthest() -> None:
    for a in range(0, 120, 11):
        far = [b for b in range(120) if kendall_distance(a, b) == 10]
        assert far == [order_index(ORDERS[a][::-1])]
        assert max(kendall_distance(a, b) for b in range(120)) == 10


@settings(deadline=None)
@given(INDICES, INDICES, INDICES)
def test_the_distance_is_symmetric_and_zero_only_for_equals(a: int, b: int, c: int) -> None:
    assert kendall_distance(a, b) == kendall_distance(b, a) >= 0
    assert (kendall_distance(a, b) == 0) == (a == b)
    assert kendall_distance(a, c) <= kendall_distance(a, b) + kendall_distance(b, c)


# --- classes of equals


@pytest.mark.parametrize("unit", UNITS)
def test_ignoring_a_type_leaves_24_classes_of_5(unit: str) -> None:
    classes = classes_without(unit)
    assert classes.shape == (120,)
    assert sorted(np.bincount(classes).tolist()) == [5] * 24


def test_orders_of_a_class_differ_only_in_where_the_ignored_type_stands() -> None:
    classes = classes_without("defender")
    for number in range(24):
        members = [ORDERS[i] for i in np.flatnonzero(classes == number)]
        assert len({tuple(u for u in order if u != "defender") for order in members}) == 1
        assert {order.index("defender") for order in members} == set(range(5))


def test_against_bline_the_places_of_defender_and_op_host_make_no_difference() -> None:
    assert (classes_of_equals("bline") == classes_without("defender", "op_host")).all()


@pytest.mark.parametrize("red_agent", ["meander", "sleep", "mixed"])
def test_against_others_no_two_orders_are_equal(red_agent: str) -> None:
    assert len(set(classes_of_equals(red_agent).tolist())) == NUM_ORDERS


def test_what_equal_orders_have_in_common_names_their_class() -> None:
    classes = classes_of_equals("bline")
    parts = [common_part(np.flatnonzero(classes == c).tolist()) for c in range(6)]
    assert set(parts) == set(itertools.permutations(("enterprise", "op_server", "user")))


@given(INDICES)
def test_an_order_alone_has_all_of_itself_in_common(order: int) -> None:
    assert common_part([order]) == ORDERS[order]


@given(INDICES)
def test_an_order_and_its_reverse_have_nothing_in_common(order: int) -> None:
    assert common_part([order, order_index(ORDERS[order][::-1])]) == ()
