from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refusal, refused
from workflow_rl.config import TrainConfig
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import HOST_NAMES
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import TYPE_UNITS, Units, fixable, units_of

FIXABLE = fixable(SCENARIO2)
JEWELS = {"crown_jewels": ("Op_Server0", "Enterprise2"), "Laptops": ("user1", "User2")}


def hosts_in(units: Units) -> list[str]:
    return sorted(host for hosts in units.groups.values() for host in hosts)


@pytest.mark.parametrize("setting", ["types", "hosts", "subnets", JEWELS])
def test_every_host_that_can_be_fixed_is_of_exactly_one_unit(setting: object) -> None:
    units = units_of(setting)  # type: ignore[arg-type]
    assert hosts_in(units) == sorted(FIXABLE)  # without Red's foothold, which ...
    assert (units.unit_of.dtype, units.unit_of.shape) == (np.dtype(np.int8), (len(HOST_NAMES),))
    for host, unit in enumerate(units.unit_of):
        assert HOST_NAMES[host] == "User0" or units.hosts[unit] >> host & 1
    user0, user1 = map(HOST_NAMES.index, ("User0", "User1"))
    assert units.unit_of[user0] == units.unit_of[user1]  # ... stands where its neighbour does
    assert units_of(units.setting) == units


def test_the_kinds_have_the_hosts_their_names_promise() -> None:
    assert units_of("types") == TYPE_UNITS
    assert units_of("hosts").groups == {name: [name] for name in FIXABLE}
    assert units_of("subnets").groups == {
        "user": ["User1", "User2", "User3", "User4"],
        "enterprise": ["Defender", "Enterprise0", "Enterprise1", "Enterprise2"],
        "operational": ["Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0"],
    }


def test_hosts_in_no_group_are_the_last_unit() -> None:
    units = units_of(JEWELS)
    assert units.names == ("crown_jewels", "Laptops", "rest")
    assert units.groups["Laptops"] == ["User1", "User2"]
    assert len(units.groups["rest"]) == len(FIXABLE) - 4
    whole = {"a": FIXABLE[:5], "b": FIXABLE[5:]}
    assert units_of(whole).names == ("a", "b")
    assert str(units_of(whole)).startswith("a: Defender, Enterprise0")


TWICE = {"a": ("User1",), "b": ("User1",)}
ONE_EACH = {f"u{k}": (name,) for k, name in enumerate(FIXABLE)}


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ({"a": ("User9",)}, "unknown host 'User9' in a: the hosts are Defender, "),
        (TWICE, "User1 is named twice, in a and in b: a host has one unit"),
        ({"a": ("User0", "User1")}, "User0 in a is Red's permanent foothold and never open to fix"),
        ({"all": FIXABLE}, "a workflow orders 2 to 12 units, not 1: all"),
        ({}, "a workflow orders 2 to 12 units, not 1: rest"),
        (ONE_EACH | {"none": ()}, "a workflow orders 2 to 12 units, not 13: u0, "),
        ({"a": ()}, "the unit a has no hosts"),
        ({"a b": ("User1",)}, "'a b' cannot name a unit: use letters, digits, _ and - only"),
        ({"rest": ("User1",)}, "rest is the unit of the hosts that are in no group"),
        ({"a": ("User1",), "A": ("User2",)}, "differ only in upper and lower case"),
        ({"a": None}, "'a' must be a list of hosts"),
        ({"a": "User1"}, "'a' must be a list of hosts"),
        ({f"u\n{k}": ("User1",) for k in range(20)}, r"'u\n0' cannot name a unit"),
    ],
)
def test_groups_that_are_no_units_are_one_sentence(groups: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(units_of, groups)


def test_a_file_of_groups_is_read_once_and_need_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "units.toml"
    path.write_text('jewels = ["Op_Server0"]  # what must not stop\nlaptops = ["User1", "User2"]\n')
    config = TrainConfig(units=str(path))
    path.unlink()
    assert config.units == {"jewels": ("Op_Server0",), "laptops": ("User1", "User2")}
    assert config == TrainConfig(units=config.units)
    assert units_of(config.units).names == ("jewels", "laptops", "rest")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("jewels = [Op_Server0]\n", r"units.toml is not TOML: .*line 1"),
        ('a = ["User1"]\nb = "User2"\n', r"units.toml: 'b' must be a list of hosts"),
        ("a = [1]\n", r"units.toml: 'a' must be a list of hosts"),
        ("a = " + "[" * 5_000, "units.toml is not TOML: maximum recursion"),
        ("a" + ".a" * 5_000 + " = 1", r"'a' must be a list of hosts, .* not \{'a': \{'a': "),
        ("\udcff", "cannot be read"),  # no text
    ],
)
def test_a_file_without_groups_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "units.toml"
    path.write_text(text, errors="surrogateescape")
    refused(sentence, TrainConfig, units=str(path))


@pytest.mark.parametrize("value", ["typs", "no/such/file.toml", 5, None])
def test_what_stands_for_no_units_says_what_does(value: object) -> None:
    refused("types, hosts, subnets, any", TrainConfig, units=value)
    refused("only for training on all orders", units_of, "any")


def test_an_order_of_types_or_of_twelve_hosts_fits_a_table_of_80_columns() -> None:
    order = TYPES.read("op_server > enterprise > op_host > user > defender")
    assert order.short == "op_s > ent > op_h > user > def"
    assert TYPES.units.legend == "def defender, ent enterprise, op_s op_server, op_h op_host"
    orders = Orders(units_of("hosts"))
    order = orders.read(" > ".join(FIXABLE))
    assert order.short == "D>E0>E1>E2>H0>H1>H2>S0>U1>U2>U3>U4"
    told = dict(pair.split(" ") for pair in orders.units.legend.split(", "))
    assert [told[short] for short in order.short.split(">")] == list(FIXABLE)


@given(st.lists(st.text("abA_-01", min_size=1, max_size=12), min_size=2, max_size=12, unique=True))
def test_no_two_units_are_told_alike(names: list[str]) -> None:
    short = Units(tuple(names), (0,) * len(names), "groups").short_names
    assert len(set(short.values())) == len(names)
    assert all(short.values())
