import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refused import refusal, refused
from workflow_rl.config import TrainConfig
from workflow_rl.workflow.orders import Orders, orders_of
from workflow_rl.workflow.precedence import Requirements
from workflow_rl.workflow.units import TYPE_UNITS, units_of

HOSTS = units_of("hosts")
SOME = ("op_server > user", "defender > enterprise > op_host")


def constrained(*texts: str) -> Orders:
    return orders_of(TrainConfig(require=texts))


def agrees(order: tuple[str, ...], pairs: tuple[tuple[str, str], ...]) -> bool:
    return all(order.index(first) < order.index(second) for first, second in pairs)


def test_only_orders_that_agree_are_listed_and_by_rising_number() -> None:
    orders = constrained(*SOME)
    expected = [
        index
        for index, order in enumerate(itertools.permutations(TYPE_UNITS.names))
        if agrees(order, orders.required.pairs)
    ]
    assert orders.listed().tolist() == expected
    assert orders.count == len(expected) == 10
    assert [index for index in range(120) if orders.holds(index)] == expected


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=8), st.integers(0, 99))
def test_orders_of_hosts_are_drawn_only_as_required(pairs: Any, seed: int) -> None:
    texts = tuple(f"{HOSTS.names[a]} > {HOSTS.names[b]}" for a, b in pairs if a < b)
    orders = orders_of(TrainConfig(units="hosts", require=texts))
    for index in orders.draw(np.random.default_rng(seed), 20).tolist():
        assert orders.holds(index)
        assert agrees(orders[index], orders.required.pairs)


def test_every_order_that_agrees_is_drawn_equally_often() -> None:
    orders = constrained(*SOME)
    drawn = orders.draw(np.random.default_rng(0), 20_000)
    found, times = np.unique(drawn, return_counts=True)
    assert found.tolist() == orders.listed().tolist()
    assert times.min() > 1_800
    assert times.max() < 2_200


def test_chains_and_separators_are_read_alike() -> None:
    units = units_of({"a": ("User1",), "b": ("User2",), "c": ("User3",)})
    for text in ("A > b > C", "a->B->c", "a → b → c"):
        assert Requirements.read([text], units).pairs == (("a", "b"), ("b", "c"))


@pytest.mark.parametrize(
    ("texts", "circle"),
    [
        (["user > enterprise", "enterprise > user"], "user enterprise"),
        (["user > user"], "user"),
        (
            ["user > op_host", "op_host > defender > user", "op_server > user"],
            "user op_host defender",
        ),
    ],
)
def test_a_contradiction_is_refused_and_its_cycle_named(texts: list[str], circle: str) -> None:
    said = refusal(constrained, *texts)
    assert said.startswith("what is required contradicts itself: ")
    named = said.split(": ")[1].split(", so")[0].split(" > ")
    assert named[0] == named[-1]
    assert sorted(named[1:]) == sorted(circle.split())  # wherever it begins


@pytest.mark.parametrize("text", ["user", "", "user >", "user > admin", "user, enterprise"])
def test_what_requires_nothing_is_refused_with_the_names_there_are(text: str) -> None:
    said = refusal(constrained, text)
    assert "requires nothing" in said
    assert all(name in said for name in TYPE_UNITS.names)


def test_an_order_that_does_not_agree_is_refused() -> None:
    refused(
        "has user before op_server, but op_server > user",
        constrained("op_server > user").read,
        "user op_server enterprise op_host defender",
    )
