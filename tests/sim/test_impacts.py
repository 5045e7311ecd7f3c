"""Two hosts whose OT service can be stopped: what they cost, and what a Restore does to each."""

import pytest

from tests.sim import tiny
from tests.sim.board import Board, Match
from tests.sim.tiny import host, service
from workflow_rl.scenario.network import Network, Roles
from workflow_rl.sim.state import Outcome, Success


def plant(*targets: str) -> Network:
    return tiny.network(
        host("start", value=0.0),
        host("pump", "OP_Server", service("pump"), value=0.0, service_value=10.0),
        host("valve", "OP_Server", value=0.0, service_value=0.7),
        host("desk", "Gateway", value=0.0),
        roles=Roles(targets=targets or ("pump", "valve")),
    )


def board(**fields: bool) -> Board:
    return Board(network=plant()).put("persistent", "pump", "valve", "desk").arrange(**fields)


def test_each_stopped_service_costs_its_own_value_and_a_restore_makes_that_host_immune() -> None:
    story = [
        ("Sleep", "IMP valve", Success.TRUE, {"valve"}, -0.7),
        ("Sleep", "IMP pump", Success.TRUE, {"valve", "pump"}, -10.7),
        ("Restore valve", "", Success.UNKNOWN, {"pump"}, -11.0),
        ("Sleep", "IMP valve", Success.FALSE, {"pump"}, -10.0),  # no session is left
        ("Restore pump", "", Success.UNKNOWN, set(), -1.0),
    ]
    match = board(ot_known=True)
    assert match.story(story, lambda b: (b.red.success, b.hosts("ot_down"), b.reward)) == story
    for host_ in ("pump", "valve"):
        match.put("persistent", host_).turn(red=f"IMP {host_}")
        assert (match.red.success, match.reward, match.ot_running) == (Success.TRUE, 0.0, True)


def test_a_restore_of_one_host_leaves_the_other_stoppable() -> None:
    match = board(ot_known=True).turn("Restore pump").put("persistent", "pump", "valve")
    assert match.turn(red="IMP pump").reward == 0.0
    assert match.turn(red="IMP valve").reward == -0.7


def test_whoever_tells_of_the_service_tells_of_all() -> None:
    match = board()
    assert match.turn(red="IMP valve").red.outcome is Outcome.OT_UNKNOWN
    match.turn(red="PE valve").turn(red="IMP valve")
    assert match.red.outcome is Outcome.OT_UNKNOWN  # it tells nothing
    match.turn(red="PE desk").turn(red="IMP valve")
    assert match.red.outcome is Outcome.OT_UNKNOWN
    match.turn(red="PE pump").turn(red="IMP valve")
    assert (match.red.success, match.hosts("ot_down")) == (Success.TRUE, {"valve"})


def test_an_impact_on_a_host_without_the_service_fails() -> None:
    match = board(ot_known=True).turn(red="IMP desk")
    assert (match.red.outcome, match.red.success) == (Outcome.NO_OT_SERVICE, Success.FALSE)
    assert match.ot_running
    assert match.turn(red="IMP start").red.outcome is Outcome.NO_OT_SERVICE


# --- Meander


def settled(network: Network, *escalated: str) -> Match:
    """Meander that has done everything but stop services."""
    match = Match(network=network, red_agent="meander").arrange(meander_swept=1, ot_known=True)
    match.put("persistent", *escalated)
    for field in ("addresses_known", "names_known", "meander_scanned", "meander_mapped"):
        match.put(field, *network.host_names)
    return match.put("meander_exploited", *network.host_names).put("meander_escalated", *escalated)


@pytest.mark.parametrize("first", ["pump", "valve"])
def test_meander_goes_on_to_the_second_target_and_then_takes_any(first: str) -> None:
    match = settled(plant(), "start", "pump", "valve", "desk")
    second = {"pump": "valve", "valve": "pump"}[first]
    assert match.turn(target=first).did == f"IMP {first}"
    assert match.turn(target=first).did == f"IMP {second}"  # nothing else is left to choose
    assert match.hosts("ot_down") == {"pump", "valve"}
    assert [match.turn(target=name).did for name in (first, second, first)] == [
        *(f"IMP {first}", f"IMP {second}", f"IMP {first}")
    ]


def test_meander_gets_into_every_target_before_it_stops_one_again() -> None:
    match = settled(plant(), "start", "pump", "desk")
    assert [match.turn(target=name).did for name in ("pump", "valve")] == ["IMP pump", "PE valve"]


def test_meander_stops_its_targets_and_no_other_host_with_the_service() -> None:
    match = settled(plant("valve"), "start", "pump", "valve", "desk")
    assert [match.turn(target="pump").did for _ in range(3)] == ["IMP valve"] * 3
    assert match.hosts("ot_down") == {"valve"}


def test_meander_stops_a_service_anew_that_it_lost() -> None:
    match = settled(plant(), "start", "pump", "valve", "desk")
    match.turn(target="pump").turn(target="valve").turn("Restore pump", target="pump")
    assert (match.did, match.red.success) == ("IMP pump", Success.FALSE)
    match.turn(target="pump")
    assert match.did == "EXP pump"  # not on the list of stopped ones any more
    assert match.hosts("meander_impacted") == {"valve"}
