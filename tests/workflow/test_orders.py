import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.tables import HOST_NAMES
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES, Orders
from workflow_rl.workflow.units import units_of

INDICES = st.integers(0, NUM_ORDERS - 1)
SEQUENCES = TYPES.sequences(range(NUM_ORDERS))
POSITIONS = TYPES.positions(range(NUM_ORDERS))
PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))
PAIRS = TYPES.pairs
EXAMPLE = ("op_server", "enterprise", "op_host", "user", "defender")


# --- the 120 orders and their arrays


def test_there_are_120_distinct_orders_of_the_five_types() -> None:
    assert NUM_ORDERS == len(ORDERS) == len(set(ORDERS)) == math.factorial(5)
    assert all(sorted(order) == sorted(UNITS) for order in ORDERS)


def test_every_order_is_found_by_its_index() -> None:
    assert [TYPES.index(order) for order in ORDERS] == list(range(120))
    assert [TYPES.index(list(order)) for order in ORDERS] == list(range(120))


def test_sequences_name_the_type_at_each_position() -> None:
    assert [tuple(UNITS[unit] for unit in row) for row in SEQUENCES] == list(ORDERS)


def test_positions_and_sequences_are_inverse() -> None:
    rows = np.arange(120)[:, None]
    everywhere = np.tile(np.arange(5), (120, 1))
    np.testing.assert_array_equal(SEQUENCES[rows, POSITIONS], everywhere)
    np.testing.assert_array_equal(POSITIONS[rows, SEQUENCES], everywhere)


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
    assert TYPES.read(text) == EXAMPLE


@settings(deadline=None)
@given(INDICES, st.lists(st.sampled_from([">", " > ", "->", " → ", ",", ", ", "  "]), min_size=4))
def test_an_order_with_any_mix_of_separators_is_read_back(index: int, between: list[str]) -> None:
    order = ORDERS[index]
    text = order[0] + "".join(s + u for s, u in zip(between, order[1:], strict=False))
    assert TYPES.read(text) == order


def test_every_written_order_is_read_back() -> None:
    for index, order in enumerate(ORDERS):
        assert TYPES.format(index) == str(order) == " > ".join(order)
        assert TYPES.read(TYPES.format(index)) == order


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
        TYPES.read(text)
    assert_names_the_five_types(str(caught.value))


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_an_order_or_a_sentence(text: str) -> None:
    try:
        assert TYPES.read(text) in ORDERS
    except InvalidInputError as error:
        assert_names_the_five_types(str(error))


@pytest.mark.parametrize("order", [(), UNITS[:4], (*UNITS, "user"), (1, 2, 3, 4, 5)])
def test_a_sequence_that_is_not_an_order_is_refused_alike(order: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        TYPES.index(order)
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
        assert TYPES.distance(a, b) == swaps_between(a, b)


def test_the_reversed_order_and_only_it_is_furthest() -> None:
    for a in range(0, 120, 11):
        far = [b for b in range(120) if TYPES.distance(a, b) == 10]
        assert far == [TYPES.index(ORDERS[a][::-1])]
        assert max(TYPES.distance(a, b) for b in range(120)) == 10


@settings(deadline=None)
@given(INDICES, INDICES, INDICES)
def test_the_distance_is_symmetric_and_zero_only_for_equals(a: int, b: int, c: int) -> None:
    assert TYPES.distance(a, b) == TYPES.distance(b, a) >= 0
    assert (TYPES.distance(a, b) == 0) == (a == b)
    assert TYPES.distance(a, c) <= TYPES.distance(a, b) + TYPES.distance(b, c)


# --- classes of equals


@pytest.mark.parametrize("unit", UNITS)
def test_ignoring_a_type_leaves_24_classes_of_5(unit: str) -> None:
    classes = TYPES.classes_without(unit)
    assert classes.shape == (120,)
    assert sorted(np.bincount(classes).tolist()) == [5] * 24


def test_orders_of_a_class_differ_only_in_where_the_ignored_type_stands() -> None:
    classes = TYPES.classes_without("defender")
    for number in range(24):
        members = [ORDERS[i] for i in np.flatnonzero(classes == number)]
        assert len({tuple(u for u in order if u != "defender") for order in members}) == 1
        assert {order.index("defender") for order in members} == set(range(5))


def test_against_bline_the_places_of_defender_and_op_host_make_no_difference() -> None:
    assert (TYPES.classes_of_equals("bline") == TYPES.classes_without("defender", "op_host")).all()


@pytest.mark.parametrize("red_agent", ["meander", "sleep", "mixed"])
def test_against_others_no_two_orders_are_equal(red_agent: str) -> None:
    assert len(set(TYPES.classes_of_equals(red_agent).tolist())) == NUM_ORDERS


def test_what_equal_orders_have_in_common_names_their_class() -> None:
    classes = TYPES.classes_of_equals("bline")
    parts = [TYPES.common_part(np.flatnonzero(classes == c).tolist()) for c in range(6)]
    assert set(parts) == set(itertools.permutations(("enterprise", "op_server", "user")))


@given(INDICES)
def test_an_order_alone_has_all_of_itself_in_common(order: int) -> None:
    assert TYPES.common_part([order]) == ORDERS[order]


@given(INDICES)
def test_an_order_and_its_reverse_have_nothing_in_common(order: int) -> None:
    assert TYPES.common_part([order, TYPES.index(ORDERS[order][::-1])]) == ()


# --- other units

HOSTS = Orders(units_of("hosts"))
HOST_ORDERS = st.integers(0, HOSTS.total - 1)


def test_twelve_units_have_479_million_orders() -> None:
    assert HOSTS.count == HOSTS.total == math.factorial(12)
    assert not HOSTS.is_listable
    assert len(HOSTS.pairs) == 66
    assert HOSTS[0] == HOSTS.units.names
    assert HOSTS[HOSTS.total - 1] == HOSTS.units.names[::-1]


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
        first, last = changed[0], changed[-1]
        moved = sorted(order[first : last + 1]) == sorted(other[first : last + 1])
        is_insertion = (
            order[first : last + 1].tolist() == np.roll(other[first : last + 1], 1).tolist()
            or order[first : last + 1].tolist() == np.roll(other[first : last + 1], -1).tolist()
        )
        assert moved
        assert len(changed) == 2 or is_insertion


def test_a_host_s_rank_is_the_place_of_its_unit() -> None:
    order = HOSTS.read(("Op_Server0", *(n for n in HOSTS.units.names if n != "Op_Server0")))
    (ranks,) = HOSTS.host_ranks([HOSTS.index(order)])
    np.testing.assert_array_equal(ranks, order.host_ranks)
    assert ranks[HOST_NAMES.index("Op_Server0")] == 0
    assert sorted(np.delete(ranks, HOST_NAMES.index("User0")).tolist()) == list(range(12))
    shared = TYPES.read(EXAMPLE).host_ranks
    assert len({shared[h] for h, name in enumerate(HOST_NAMES) if name.startswith("User")}) == 1


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
