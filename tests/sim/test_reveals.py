"""What an escalation tells Red, and the session that Red begins with."""

from dataclasses import replace

import pytest

from tests.sim import tiny
from tests.sim.board import Board
from tests.sim.tiny import host, in_zone, service
from workflow_rl.scenario.network import Network, Reveal, Zone
from workflow_rl.sim.state import Access, Outcome, Success


def told(*shows: str | Reveal) -> Board:
    """A board on which Red has escalated on a host that reveals this."""
    return Board(network=network(*shows)).put("persistent", "near").turn(red="PE near")


def network(*shows: str | Reveal) -> Network:
    return tiny.network(
        *(host("start"), host("near", "Gateway", *shows)),
        *(host("plant", "OP_Server"), host("office")),
        Zone("home", ("start",)),
        Zone("middle", ("near",)),
        Zone("field", ("plant", "office")),
    )


@pytest.mark.parametrize(
    ("shows", "addresses", "zones", "ot"),
    [
        ((), set(), set(), False),  # not even its own zone
        (("near",), {"near"}, set(), False),
        ((in_zone("near"),), {"near"}, {"middle"}, False),
        (("plant", "office"), {"plant", "office"}, set(), False),
        (("near", in_zone("office")), {"office", "near"}, {"field"}, False),
        ((service("plant"),), set(), set(), True),
        ((Reveal("plant", True, True, True),), {"plant"}, {"field"}, True),
    ],
)
def test_an_escalation_tells_what_its_host_reveals_and_nothing_else(
    shows: tuple[str | Reveal, ...], addresses: set[str], zones: set[str], ot: bool
) -> None:
    board = told(*shows)
    assert board.red.success is Success.TRUE
    assert board.hosts("addresses_known") == {"start"} | addresses
    assert board.zones("subnets_known") == {"home"} | zones
    assert bool(board.state["ot_known"]) is ot
    assert board.hosts("names_known") == {"start"}


def test_an_escalation_tells_again_also_after_a_restore() -> None:
    board = told("office")
    for blue in ("Sleep", "Restore near"):
        board.turn(blue).put("persistent", "near").put("addresses_known", "start")
        board.turn(red="PE near")
        assert board.hosts("addresses_known") == {"start", "office"}
    assert board.turn(red="PE start").red.outcome is Outcome.ALREADY_PRIVILEGED


def test_red_begins_with_what_the_network_says_it_knows() -> None:
    more = (Reveal("plant", zone=True), Reveal("office"))
    there = network()
    board = Board(network=replace(there, known=(*there.known, *more)))
    assert board.hosts("addresses_known") == {"start", "plant", "office"}
    assert board.zones("subnets_known") == {"home", "field"}
    assert board.hosts("names_known") == {"start"}


# --- the foothold


def at_home(image: str, *, charged: bool) -> Board:
    parts = (host("start", image, value=1.0), host("other"))
    return Board(network=tiny.network(*parts, foothold_charged=charged))


def test_the_foothold_charged_from_the_first_step_if_it_has_a_value() -> None:
    assert [at_home("Gateway", charged=True).turn().reward for _ in range(2)] == [-1.0] * 2


def test_a_foreign_administrator_is_charged_once_red_wins_a_session_of_the_hosts_own() -> None:
    board = at_home("linux_user_host2", charged=False)
    assert board.turn(red="DNS start").reward == 0.0
    assert board.turn(red="EXP start by SSH").reward == 0.0  # a user's session
    assert board.turn(red="EXP start by Haraka").reward == -1.0
    assert board.turn().reward == -1.0
    assert board.turn("Restore start").reward == -1.0  # the Restore itself
    assert (board.turn().reward, board.access("start")) == (0.0, Access.PRIVILEGED)


@pytest.mark.parametrize("blue", ["Restore start", "Remove start"])
@pytest.mark.parametrize("charged", [True, False])
def test_the_first_session_survives_everything(blue: str, charged: bool) -> None:
    board = at_home("Gateway", charged=charged).turn(blue)
    assert board.access("start") is Access.PRIVILEGED
    assert board.turn(red="DNS other").red.success is Success.TRUE
