"""By which rule Red reaches a zone, on networks made for it."""

import pytest

from tests.sim import tiny
from tests.sim.board import Board
from tests.sim.tiny import host
from workflow_rl.scenario.network import Blue, Network, Reach, Reachability, Roles, Zone
from workflow_rl.sim.state import Outcome, Success

KINDS = ("privileged", "removable", "persistent")


def gated(*pivots: str) -> Network:
    return tiny.network(
        *(host(name) for name in ("start", "near", "pivot", "safe", "gold")),
        Zone("home", ("start", "near")),
        Zone("dmz", ("pivot",)),
        Zone("vault", ("safe",), Reach.GATED),
        Zone("mint", ("gold",), Reach.GATED),
        Zone("island", (), Reach.CLOSED),
        roles=Roles(pivots=pivots),
    )


def routed(**routes: tuple[str, ...]) -> Network:
    """A host of the same name, in capitals, in each zone; Red begins in `home`."""
    return tiny.network(
        *(host(zone.upper()) for zone in routes),
        *(Zone(zone, (zone.upper(),), Reach.ROUTES, ways) for zone, ways in routes.items()),
    )


def reached(board: Board) -> set[str]:
    """The hosts on which a scan finds anything now."""
    return {
        name for name in board.names if board.turn(red=f"DNS {name}").red.outcome is Outcome.SUCCESS
    }


def swept(board: Board) -> set[str]:
    """The zones whose sweep succeeds now."""
    zones = board.network.zone_names
    return {zone for zone in zones if board.turn(red=f"DRS {zone}").red.success is Success.TRUE}


def test_two_hosts_in_one_zone_reach_each_other() -> None:
    board = Board(network=tiny.network(host("start"), host("other")))
    assert board.hosts("addresses_known") == {"start"}
    assert board.turn(red="DRS home").hosts("addresses_known") == {"start", "other"}
    board.turn(red="DNS other").turn(red="EXP other")
    assert board.sessions("other") == {"persistent"}
    assert board.turn(red="PE other").reward == -0.2  # the foothold, too


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_on_a_pivot_opens_every_gated_zone_and_losing_the_last_one_shuts_all(
    kind: str,
) -> None:
    board = Board(network=gated("pivot", "near"))
    assert reached(board) == {"start", "near", "pivot"}
    board.put(kind, "start", "pivot", "near")
    assert reached(board) == set(board.names)
    assert swept(board) == {"home", "dmz", "vault", "mint"}
    board.turn("Restore pivot")
    assert reached(board) == set(board.names)
    board.turn("Restore near")
    assert reached(board) == {"start", "near", "pivot"}
    assert swept(board) == {"home", "dmz"}


def test_a_session_inside_a_gated_zone_does_not_open_it_but_goes_on_working() -> None:
    board = Board(network=gated("pivot")).put("persistent", "safe").remember("safe", 22)
    assert "safe" not in reached(board)
    assert board.turn(red="EXP safe").red.outcome is Outcome.NO_ROUTE
    assert board.turn(red="PE safe").red.success is Success.TRUE


def test_a_gate_without_a_pivot_is_shut_and_with_the_foothold_as_one_it_is_open() -> None:
    shut = Board(network=gated()).put("privileged", "start", "near", "pivot", "safe")
    assert swept(shut) == {"home", "dmz"}
    assert swept(Board(network=gated("start"))) == {"home", "dmz", "vault", "mint"}


def test_a_closed_zone_is_never_reached_whatever_red_holds() -> None:
    network = tiny.network(
        *(host(name) for name in ("start", "near", "far")),
        Zone("home", ("start", "near"), Reach.CLOSED),
        Zone("next", ("far",)),
        roles=Roles(pivots=("start", "near", "far")),
    )
    board = Board(network=network).put("privileged", "start", "near", "far")
    assert reached(board) == {"far"}  # not even its own host
    assert swept(board) == {"next"}


def test_by_routes_red_goes_on_from_what_it_holds_across_several_zones() -> None:
    chain = routed(home=(), first=("home",), second=("first",), third=("second",))
    board = Board(network=chain)
    assert reached(board) == {"HOME", "FIRST"}
    assert reached(board.put("persistent", "FIRST")) == {"HOME", "FIRST", "SECOND"}
    board.put("removable", "SECOND")
    assert reached(board) == {"HOME", "FIRST", "SECOND", "THIRD"}


def test_losing_a_host_shuts_the_zone_behind_it_unless_red_is_there() -> None:
    chain = routed(home=(), first=("home",), second=("first",), third=("second",))
    board = Board(network=chain).put("persistent", "FIRST").turn("Restore FIRST")
    assert reached(board) == {"HOME", "FIRST"}
    board.put("persistent", "SECOND")  # it goes on from there, and around there
    assert reached(board) == {"HOME", "FIRST", "SECOND", "THIRD"}
    board.turn("Restore SECOND")
    assert reached(board) == {"HOME", "FIRST"}


def test_a_route_is_one_way_and_a_way_back_is_a_route_of_its_own() -> None:
    there = routed(home=(), far=("home",), mid=())
    assert reached(Board(network=there).put("persistent", "FAR")) == {"HOME", "FAR"}
    back = routed(home=(), far=("home",), mid=("far",))
    assert reached(Board(network=back).put("persistent", "FAR")) == {"HOME", "FAR", "MID"}


def test_two_zones_that_lead_to_each_other_stay_open_while_red_holds_one_of_them() -> None:
    circle = routed(home=(), one=("home", "two"), two=("one",), three=("two",))
    board = Board(network=circle).put("persistent", "TWO")
    assert reached(board) == {"HOME", "ONE", "TWO", "THREE"}


def test_the_network_says_whose_rule_of_reachability_it_uses() -> None:
    assert gated("pivot").reachability is Reachability.CYBORG
    assert routed(home=(), far=("home",)).reachability is Reachability.ROUTES


def test_red_acts_after_blue_so_that_a_gate_shuts_in_the_step_of_the_restore() -> None:
    for red in ("DRS vault", "DNS safe", "EXP safe"):
        board = Board(network=gated("pivot")).put("persistent", "pivot").remember("safe", 22)
        assert board.turn("Restore pivot", red).red.outcome is Outcome.NO_ROUTE
        assert board.shown() == {}


@pytest.mark.parametrize("blue", [Blue.UNWATCHED, Blue.NO_AGENT, Blue.HIDDEN])
def test_what_blue_sees_of_a_pivot_does_not_matter_to_the_gate(blue: Blue) -> None:
    network = tiny.network(
        *(host("start"), host("pivot", blue=blue), host("safe")),
        Zone("home", ("start", "pivot")),
        Zone("vault", ("safe",), Reach.GATED),
        roles=Roles(pivots=("pivot",)),
    )
    board = Board(network=network).put("persistent", "pivot").turn("Restore pivot")
    assert ("vault" in swept(board)) == (blue is not Blue.UNWATCHED)  # elsewhere Red stays
