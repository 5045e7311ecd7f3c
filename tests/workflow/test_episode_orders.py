import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.networks import OTHERS
from tests.refused import refused
from workflow_rl.config import TrainConfig
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.scenario2 import HOST_NAMES, USER0
from workflow_rl.workflow.episode_orders import AnyOrders, episode_orders_of
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import (
    fixable,
    fixable_hosts,
    stands_for_foothold,
    units_of,
)

ANY = AnyOrders()
PLACES = [host for host in range(len(HOST_NAMES)) if host != USER0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, AnyOrders.count - 1))
def test_every_number_is_an_order_without_gaps(number: int) -> None:
    (ranks,) = ANY.host_ranks([number])
    used = set(ranks[PLACES].tolist())
    assert used == set(range(len(used)))
    assert ranks[USER0] == ranks[HOST_NAMES.index("User1")]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(list(OTHERS.values())), st.integers(0, AnyOrders.count - 1))
def test_on_any_network_a_number_ranks_all_hosts_that_can_be_fixed(
    network: Network, number: int
) -> None:
    (ranks,) = AnyOrders(network).host_ranks([number])
    assert ranks.shape == (len(network.hosts),)
    used = set(ranks[fixable_hosts(network)].tolist())
    assert used == set(range(len(used)))
    foothold = network.number(network.foothold)
    assert ranks[foothold] == ranks[stands_for_foothold(network)]
    if network.units == () and number % 3 == 0:
        assert len(used) == len({network.zone_of[host] for host in fixable(network)})


def test_a_third_are_orders_of_types_a_third_of_hosts_and_a_third_of_groups() -> None:
    drawn = np.random.default_rng(0).integers(0, ANY.count, 3_000)
    ranks = ANY.host_ranks(ANY.nth(drawn))
    of_types = {row.tobytes() for row in TYPES.host_ranks(range(120))}
    units = np.array([len(set(row[PLACES].tolist())) for row in ranks])
    types = np.array([row.tobytes() in of_types for row in ranks])
    assert 900 < types.sum() < 1_100
    assert 900 < (units == 12).sum() < 1_100
    others = units[~types & (units < 12)]
    assert set(others.tolist()) >= set(range(2, 9))  # of few and of many groups


def test_a_training_draws_from_its_units() -> None:
    assert episode_orders_of(TrainConfig()) is TYPES
    assert episode_orders_of(TrainConfig(units="hosts")) == Orders(units_of("hosts"))
    assert isinstance(episode_orders_of(TrainConfig(units="any")), AnyOrders)
    required = TrainConfig(units="any", require=("user > op_host",))
    refused("cannot be required of the units any", episode_orders_of, required)
