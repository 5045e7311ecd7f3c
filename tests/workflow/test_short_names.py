from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.short_names import legend, short_names, short_order
from workflow_rl.workflow.units import FIXABLE, units_of

HOSTS = Orders(units_of("hosts"))
NAMES = st.text("abA_-01", min_size=1, max_size=12)


def test_the_five_types_are_told_by_their_beginnings() -> None:
    order = TYPES.read("op_server > enterprise > op_host > user > defender")
    assert short_order(order) == "op_s > ent > op_h > user > def"
    assert legend(TYPES.units) == "def defender, ent enterprise, op_s op_server, op_h op_host"


def test_an_order_of_twelve_hosts_fits_a_table_of_80_columns() -> None:
    order = HOSTS.read(" > ".join(FIXABLE))
    assert short_order(order) == "D>E0>E1>E2>H0>H1>H2>S0>U1>U2>U3>U4"
    told = dict(pair.split(" ") for pair in legend(HOSTS.units).split(", "))
    assert [told[short] for short in short_order(order).split(">")] == list(FIXABLE)


def test_more_letters_are_taken_where_initials_do_not_tell() -> None:
    groups = {"servers": "Op_Server0", "switches": "Enterprise0", "shops": "User1"}
    others = {f"somebody_else_{k}": f"User{k}" for k in (2, 3, 4)}
    units = units_of({name: [host] for name, host in (groups | others).items()})
    short = short_names(units.names)
    assert [short[name] for name in groups] == ["se", "sw", "sh"]
    assert (short["somebody_else_2"], short["rest"]) == ("el2", "re")


@given(st.lists(NAMES, min_size=2, max_size=12, unique=True))
def test_no_two_units_are_told_alike(names: list[str]) -> None:
    short = short_names(tuple(names))
    assert len(set(short.values())) == len(names)
    assert all(short.values())
