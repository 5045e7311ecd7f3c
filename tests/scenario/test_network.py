"""The object `Network`: what fits together, and what follows from it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.refused import refusal, refused
from tests.scenario.networks import SMALL, random_networks
from workflow_rl.scenario.loading import network_of
from workflow_rl.scenario.network import (
    Blue,
    Host,
    Network,
    NetworkError,
    Reach,
    Reachability,
    Reveal,
    Zone,
)
from workflow_rl.scenario.network_toml import network_from_toml

NETWORK = network_from_toml(SMALL, "small.toml")


def changed(**changes: Any) -> Network:
    return replace(NETWORK, **changes)


def with_host(number: int = 1, **changes: Any) -> Network:
    hosts = list(NETWORK.hosts)
    hosts[number] = replace(hosts[number], **changes)
    return changed(hosts=tuple(hosts))


def with_zone(number: int = 1, **changes: Any) -> Network:
    zones = list(NETWORK.zones)
    zones[number] = replace(zones[number], **changes)
    return changed(zones=tuple(zones))


def test_what_follows_from_a_network() -> None:
    assert NETWORK.host_names == ("laptop", "desk", "plc")
    assert NETWORK.zone_of == {"laptop": "office", "desk": "office", "plc": "vault"}
    assert (NETWORK.home, NETWORK.number("plc")) == ("office", 2)
    assert NETWORK.reachability is Reachability.ROUTES
    assert with_host(blue=Blue.HIDDEN).observed == ("laptop", "plc")


def test_a_zone_is_opened_by_hosts() -> None:
    office, vault = NETWORK.zones
    assert set(NETWORK.openers(office)) == {"laptop", "desk"}
    assert set(NETWORK.openers(vault)) == {"laptop", "desk", "plc"}
    assert NETWORK.openers(Zone("x", (), Reach.OPEN)) == ("laptop",)
    assert NETWORK.openers(Zone("x", (), Reach.CLOSED)) == ()
    gated = network_of("scenario2")
    zone = gated.zones[gated.zone_names.index("Operational")]
    assert gated.openers(zone) == ("Enterprise0", "Enterprise1", "Enterprise2")


def test_equal_digests_are_equal_games() -> None:
    assert changed(name="another").digest == NETWORK.digest
    assert with_host(value=1.0).digest != NETWORK.digest
    assert with_zone(ports=(22,)).digest != NETWORK.digest


def twice(name: str) -> tuple[Zone, ...]:
    office, vault = NETWORK.zones
    return (office, replace(vault, hosts=(*vault.hosts, name)))


WRONG = [
    (lambda: changed(hosts=()), "hosts: there are 0; allowed are 1 to 64"),
    (
        lambda: changed(
            hosts=tuple(Host(f"h{n}", "Gateway") for n in range(65)),
        ),
        "hosts: there are 65; allowed are 1 to 64",
    ),
    (lambda: changed(zones=()), "zones: there are 0"),
    (lambda: changed(foothold="nobody"), "foothold: there is no host 'nobody'"),
    (lambda: changed(known=()), "known: Red must know the address and the zone of its foothold"),
    (lambda: changed(known=(Reveal("laptop"),)), "known: Red must know"),
    (lambda: changed(zones=twice("desk")), "hosts.desk.zone: desk is in two zones, office and vau"),
    (lambda: with_zone(hosts=()), "hosts.plc.zone: plc is in no zone"),
    (lambda: with_zone(hosts=("plc", "x")), "zones.vault.hosts: there is no host 'x'"),
    (lambda: with_zone(routes=("cellar",)), "zones.vault.from: there is no zone 'cellar'"),
    (lambda: with_zone(reach=Reach.OPEN), "zones.vault.from: a zone that is open has no routes"),
    (lambda: with_zone(ports=(23,)), "zones.vault.ports: there is no service .* on port 23"),
    (lambda: with_zone(ports=(22, 22)), "zones.vault.ports: 22 is named twice"),
    (lambda: with_host(name="Laptop"), "hosts.Laptop: .* differ in case only"),
    (lambda: with_host(name="laptop"), "hosts.laptop: there is 'laptop' twice"),
    (lambda: with_host(name=" desk"), "no space at either end"),
    (lambda: with_host(name="de\x1bsk"), "printable characters"),
    (lambda: with_host(name="x" * 65), "a name has 1 to 64"),
    (lambda: with_zone(name="OFFICE"), "differ in case only"),
    (lambda: with_host(image="Toaster"), "hosts.desk.image: there is no image 'Toaster'; allowed"),
    (lambda: with_host(value=-1.0), "hosts.desk.value: -1.0 is not allowed; allowed is 0 to 50"),
    (lambda: with_host(value=float("nan")), "hosts.desk.value: nan is not allowed"),
    (lambda: with_host(value=0.05), "steps of 0.1"),
    (lambda: with_host(service_value=50.1), "hosts.desk.service_value: 50.1 is not allowed"),
    (lambda: with_host(reveals=(Reveal("x"),)), "hosts.desk.reveals: there is no host 'x'"),
    (lambda: with_host(reveals=(Reveal("desk"),) * 2), "hosts.desk.reveals: 'desk' is named twice"),
    (lambda: with_host(reveals=(Reveal("plc"), Reveal("desk"))), "in the order of the hosts"),
    (lambda: with_host(reveals=(Reveal("desk", ot_service=True),)), "does not run the OT service"),
    (lambda: with_host(reveals=(Reveal("plc", address=False),)), "neither address nor service"),
    (
        lambda: with_host(reveals=(Reveal("plc", address=False, zone=True),)),
        "the zone is revealed without the address",
    ),
    (lambda: changed(actions=("Monitor",)), "actions: Sleep must be one of them"),
    (lambda: changed(actions=("Sleep", "Dance")), "actions: there is no kind of action 'Dance'"),
    (lambda: changed(actions=("Sleep", "Sleep")), "actions: 'Sleep' is named twice"),
    (lambda: changed(units=(("a", ("x",)),)), "units.a: there is no host 'x'"),
    (lambda: changed(units=(("a", ()),)), "units.a: there must be at least one host"),
    (lambda: changed(units=(("a", ("plc",)), ("b", ("plc",)))), "units: 'plc' is named twice"),
    (
        lambda: changed(roles=replace(NETWORK.roles, targets=("x",))),
        "roles.targets: there is no host 'x'",
    ),
    (lambda: changed(roles=replace(NETWORK.roles, entry="x")), "roles.entry: there is no host"),
    (lambda: changed(roles=replace(NETWORK.roles, green=("x",))), "roles.green: there is no host"),
]


@pytest.mark.parametrize(("make", "sentence"), WRONG, ids=range(len(WRONG)))
def test_parts_that_do_not_fit_are_refused(make: Any, sentence: str) -> None:
    refused(sentence, make)


def test_a_network_that_blue_does_not_see_is_refused() -> None:
    hidden = tuple(replace(host, blue=Blue.HIDDEN) for host in NETWORK.hosts)
    assert "Blue must see at least one" in refusal(changed, hosts=hidden)


def test_the_error_names_the_part() -> None:
    with pytest.raises(NetworkError) as caught:
        with_host(value=-1.0)
    assert caught.value.part == ("hosts", "desk", "value")


@given(random_networks())
def test_the_foothold_s_zone_is_always_reached_and_every_host_has_one(network: Network) -> None:
    home = network.zones[network.zone_names.index(network.home)]
    assert network.foothold in network.openers(home)
    assert set(network.zone_of) == set(network.host_names)
    assert sum(len(zone.hosts) for zone in network.zones) == len(network.hosts)
