"""Some of the orders, and searches among them, by playing."""

import pytest

from tests.studies.landscape.test_played import player
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import SearchConfig
from workflow_rl.studies.landscape.played import PlayedSample, sampled_orders, search_by_playing
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import units_of

HOSTS = Orders(units_of("hosts"))
FEW = Orders.of(units_of("types"), ["op_server > user"])


@pytest.mark.parametrize("orders", [TYPES, FEW, HOSTS], ids=["types", "required", "hosts"])
@pytest.mark.parametrize("number", [1, 50, 60])
def test_a_sample_is_of_so_many_different_orders_that_are_allowed(
    orders: Orders, number: int
) -> None:
    drawn = sampled_orders(orders, number, seed=3)
    assert len(set(drawn)) == len(drawn) == number
    assert all(orders.holds(order) for order in drawn)
    assert drawn == sampled_orders(orders, number, seed=3)
    if number < orders.count:
        assert drawn != sampled_orders(orders, number, seed=4)


def test_a_sample_tells_together_what_its_orders_gave() -> None:
    playing = player(load_policy("universal"), FEW, steps=10)
    played = [playing.play(order, 0, 2) for order in sampled_orders(FEW, 3, 0)]
    data = PlayedSample(playing, played).as_json()
    assert [row["workflow"] for row in data["orders"]] == [FEW.format(one.order) for one in played]
    assert data["required"] == FEW.required.texts
    assert data["searches"] == {}


def test_a_search_by_playing_is_asked_on_its_way() -> None:
    playing = player(load_policy("universal"), HOSTS, steps=10)
    found = list(search_by_playing(playing, "random", SearchConfig(), 3, asked=(2, 4)))
    assert len(found) == 2
    again = list(search_by_playing(playing, "random", SearchConfig(), 3, asked=(2, 4)))
    assert found == again
