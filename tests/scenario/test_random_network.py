"""Networks drawn at random."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refused
from tests.scenario.networks import random_networks
from workflow_rl.scenario.attackers import Course, forecasts, spread_of
from workflow_rl.scenario.cyborg_writer import why_not_in_cyborg
from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.network import (
    CHALLENGE_ACTIONS,
    Blue,
    Network,
    Reach,
    Reachability,
)
from workflow_rl.scenario.random_network import random_network


@given(st.integers(4, 64), st.integers(0, 2**63 - 1), st.sampled_from(list(Reachability)))
def test_a_seed_names_one_network(hosts: int, seed: int, reachability: Reachability) -> None:
    network = random_network(hosts, 3, seed, reachability)
    assert network == random_network(hosts, 3, seed, reachability)
    assert (len(network.hosts), len(network.zones)) == (hosts, 3)
    assert network.reachability is reachability
    assert network != random_network(hosts, 3, (seed + 1) % 2**63, reachability)


def test_a_seed_names_the_same_network_everywhere() -> None:
    assert random_network(12, 4, 1).digest.startswith("7730c5b6fbfe")


@given(random_networks(Reachability.CYBORG))
def test_cyborg_can_play_those_of_its_rule(network: Network) -> None:
    assert why_not_in_cyborg(network) is None


@given(st.integers(4, 40), st.integers(2, 4), st.integers(0, 10**6))
def test_red_can_take_something_in_most_zones(hosts: int, zones: int, seed: int) -> None:
    network = random_network(hosts, zones, seed)
    spread = spread_of(network)
    reached = {network.zone_of[host] for host in spread.reached}
    assert network.home in reached
    assert all(zone.reach is Reach.ROUTES for zone in network.zones)
    assert network.actions == CHALLENGE_ACTIONS
    assert {host.blue for host in network.hosts} == {Blue.WATCHED}
    assert any(IMAGES[host.image].runs_ot_service for host in network.hosts)


def test_most_targets_can_be_taken() -> None:
    taken = 0
    for seed in range(200):
        network = random_network(20, 4, seed)
        taken += bool(spread_of(network).held & set(network.roles.targets))
    assert taken >= 150


def test_cyborg_s_b_line_can_play_many() -> None:
    networks = [random_network(12, 4, seed, Reachability.CYBORG) for seed in range(100)]
    courses = [forecasts(network)[0].course for network in networks]
    assert courses.count(Course.PLAYS) >= 25
    assert courses.count(Course.RAISES) >= 10


def test_rarer_features_occur() -> None:
    networks = [random_network(24, 4, seed, Reachability.CYBORG, 0.5) for seed in range(40)]
    assert {zone.reach for network in networks for zone in network.zones} == {
        *(Reach.OPEN, Reach.GATED, Reach.CLOSED)
    }
    assert {host.blue for network in networks for host in network.hosts} == set(Blue)
    assert any(zone.ports for network in networks for zone in network.zones)
    assert any("Misinform" in network.actions for network in networks)
    assert any(len(network.known) > 1 for network in networks)
    assert any(not network.foothold_charged for network in networks)
    counts = {sum(IMAGES[h.image].runs_ot_service for h in n.hosts) for n in networks}
    assert {1, 2} <= counts


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((3, 1, 0), "hosts must be a whole number from 4 to 64, not 3"),
        ((65, 1, 0), "hosts must be"),
        ((10, 0, 0), "zones must be a whole number from 1 to 10, not 0"),
        ((5, 6, 0), "zones must be a whole number from 1 to 5, not 6"),
        ((10, 1, -1), "seed must be"),
        ((10, 1, 0, Reachability.ROUTES, 1.5), "rare must be a number from 0 to 1, not 1.5"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: Any, sentence: str) -> None:
    refused(sentence, random_network, *arguments)
