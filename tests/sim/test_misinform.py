"""Misinform: one of the decoys whose port is free, whatever the operating system."""

import numpy as np
import pytest

from tests.sim import tiny
from tests.sim.board import ALL_DECOYS, Board
from tests.sim.tiny import host
from workflow_rl.scenario.images import DECOY_NEEDS, IMAGES, PORTS, port_set
from workflow_rl.sim.blue import misinform
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.state import Outcome, Success

KINDS = ("Sleep", "Monitor", "Misinform", "DecoyApache", "DecoyVsftpd", "Restore")
PORT = {"DecoySSHD": 22, "DecoyApache": 80, "Misinform Smss": 139, "DecoyTomcat": 443}
PORT |= {"Misinform Svchost": 3389}


def board_of(image: str) -> Board:
    return Board(network=tiny.network(host("start"), host("far", image), actions=KINDS))


@pytest.mark.parametrize("image", IMAGES)
def test_each_decoy_whose_port_is_free_is_placed_equally_often(image: str) -> None:
    used = {service.port for service in IMAGES[image].services}
    free = {name for name, port in PORT.items() if port not in used}
    placed: list[str] = []
    for i in range(60):
        board = board_of(image)
        misinform(board.state, board.net, board.index("far"), (2 * i + 1) * WORDS // 120)
        placed += board.decoys("far")
    assert {name: placed.count(name) for name in placed} == dict.fromkeys(
        free, 60 // max(len(free), 1)
    )


def test_misinform_goes_on_until_every_port_is_taken_and_then_fails() -> None:
    board = board_of("Gateway")
    action = board.net["misinform_action"][board.index("far")]
    standing: set[str] = set()
    for name in ("DecoyApache", "Misinform Svchost", "DecoyTomcat", "Misinform Smss"):
        board.turn("Misinform far", placed=name)
        standing.add(name)
        assert (board.blue_success, board.decoys("far")) == (Success.TRUE, standing)
    board.turn("Misinform far", placed="DecoySSHD")  # its port is the host's own
    assert (board.blue_success, board.decoys("far"), board.reward) == (
        *(Success.FALSE, standing),
        -0.1,  # Red's foothold
    )
    assert not board.turn("Restore far").decoys("far")
    assert board.batch.out.action_mask[0, action]


@pytest.mark.parametrize(("name", "exploit"), [("Smss", "EternalBlue"), ("Svchost", "BlueKeep")])
def test_an_exploit_of_its_imitations_meets_nothing_and_is_not_seen(
    name: str, exploit: str
) -> None:
    board = board_of("Gateway").turn("Misinform far", placed=f"Misinform {name}")
    board.turn(red="DNS far")
    assert int(board.state["ports"][1]) == port_set([22, PORT[f"Misinform {name}"]])
    board.turn(red=f"EXP far by {exploit}")
    assert (board.did, board.red.outcome) == (f"EXP far by {exploit}", Outcome.SERVICE_ABSENT)
    assert board.shown() == {}


@pytest.mark.parametrize(("name", "exploit"), [("Apache", "HTTP"), ("Tomcat", "HTTPS")])
def test_its_other_decoys_are_as_if_placed_by_name(name: str, exploit: str) -> None:
    board = board_of("Gateway").turn("Misinform far", placed=f"Decoy{name}").turn(red="DNS far")
    board.turn(red=f"EXP far by {exploit}")
    assert (board.red.outcome, board.bits("far")) == (Outcome.HIT_DECOY, "1000")


def test_misinform_and_decoys_by_name_share_the_ports_of_a_host() -> None:
    board = board_of("Gateway").turn("Misinform far", placed="DecoyApache")
    assert board.turn("DecoyApache far").blue_success is Success.FALSE
    board = board_of("Gateway").turn("DecoyVsftpd far").turn("Misinform far", placed="DecoyApache")
    assert "DecoyApache" not in board.decoys("far")  # Vsftpd holds port 80
    assert len(board.decoys("far")) == 2


def test_a_placement_hides_a_scan_as_every_decoy_does() -> None:
    board = board_of("Gateway").turn("Misinform far", "DNS far", placed="Misinform Smss")
    assert board.shown() == {}


def test_the_mask_offers_misinform_while_a_port_is_free() -> None:
    game = board_of("linux_user_host2")  # all but 139 and 3389 are its own
    action = int(game.net["misinform_action"][1])
    offered = []
    for _ in range(4):
        offered.append(bool(game.batch.out.action_mask[0, action]))
        game.batch.step(np.array([action]))
    assert offered == [True, True, False, False]
    assert game.decoys("far") == {"Misinform Smss", "Misinform Svchost"}


def test_what_it_can_place_needs_the_port_that_it_opens() -> None:
    for name, port in PORT.items():
        assert DECOY_NEEDS[ALL_DECOYS.index(name)] == port_set([port])
        assert port in PORTS
