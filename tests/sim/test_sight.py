"""Hosts that Blue does not watch, has no agent on, or does not see at all."""

import pytest

from tests.sim import tiny
from tests.sim.board import Board
from tests.sim.tiny import host
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.sim.observation import simulated
from workflow_rl.sim.state import Mark, Success

ON_HOST = ("Analyse", "Remove", "DecoyFemitter", "Restore")


def network(blue: Blue) -> Network:
    return tiny.network(host("start"), host("far", "Internal", blue=blue), host("last", value=1.0))


def attacked(blue: Blue, *, detected: bool = True) -> Board:
    """Red has got into the host by a reverse shell."""
    board = Board(network=network(blue)).turn(red="DNS far")
    return board.turn(red="EXP far by HTTPS", detected=detected)


def test_on_a_watched_host_the_scan_and_the_shell_are_seen() -> None:
    board = Board(network=network(Blue.WATCHED)).turn(red="DNS far")
    assert board.bits("far") == "1000"
    board.turn(red="EXP far by HTTPS")
    assert (board.bits("far"), board.sessions("far")) == ("1101", {"removable"})


@pytest.mark.parametrize("blue", [Blue.UNWATCHED, Blue.NO_AGENT, Blue.HIDDEN])
def test_nothing_is_seen_on_a_host_that_is_not_watched_and_remove_never_finds_its_shells(
    blue: Blue,
) -> None:
    board = Board(network=network(blue)).turn(red="DNS far")
    assert board.shown() == {}
    board.turn(red="EXP far by HTTPS")
    assert (board.shown(), board.sessions("far")) == ({}, {"persistent"})
    assert board.turn("Remove far").sessions("far") == {"persistent"}
    assert board.turn().shown() == {}  # later, too
    assert board.turn(red="DNS last").shown() == {"last": "1000"}


def test_on_an_unwatched_host_blues_actions_work() -> None:
    board = attacked(Blue.UNWATCHED).turn("Analyse far")
    assert (board.blue_success, board.bits("far")) == (Success.TRUE, "0011")
    assert board.turn("Remove far").bits("far") == "0010"
    assert board.turn("DecoyFemitter far").decoys("far") == {"DecoyFemitter"}
    board.turn("Restore far")
    assert (board.reward, board.access("far"), board.shown()) == (-1.1, 0, {})
    assert not board.decoys("far")


def test_without_an_agent_blues_actions_fail_and_a_restore_costs_and_clears_the_mark() -> None:
    for action in ON_HOST:
        board = attacked(Blue.NO_AGENT).marked("far", Mark.PRIVILEGED)
        before = board.record()
        board.turn(f"{action} far")
        assert (board.blue_success, board.sessions("far")) == (Success.FALSE, {"persistent"})
        assert board.has("malware", "far")
        restores = action == "Restore"
        assert board.bits("far") == ("0000" if restores else "0011")
        assert board.reward == (-1.1 if restores else -0.1)  # 0.1 for Red's foothold
        assert board.state["blue_valid"]
        assert board.changed_since(before) <= {
            *("blue_action", "blue_success", "action_cost"),
            *("red_action", "red_target", "red_success", "red_outcome"),
            *("red_exploit", "red_options"),
            *(("table",) if restores else ()),
        }


@pytest.mark.parametrize("action", ON_HOST)
def test_an_action_on_a_hidden_host_is_invalid_costs_a_tenth_and_does_nothing(action: str) -> None:
    board = attacked(Blue.HIDDEN)
    before = board.record()
    board.turn(f"{action} far")
    assert (board.blue_success, bool(board.state["blue_valid"])) == (Success.FALSE, False)
    assert board.reward == -0.2  # 0.1 for Red's foothold
    assert board.changed_since(before) <= {
        *("blue_action", "blue_success", "blue_valid", "action_cost"),
        *("red_action", "red_target", "red_success", "red_outcome"),
        *("red_exploit", "red_options"),
    }
    assert board.turn("Sleep").state["blue_valid"]


def test_a_hidden_host_has_no_place_in_the_observation_and_keeps_its_actions() -> None:
    hidden, watched = network(Blue.HIDDEN), network(Blue.WATCHED)
    assert (simulated("challenge", hidden).size, simulated("challenge", watched).size) == (8, 12)
    board = Board(network=hidden).marked("last", Mark.USER).turn(red="DNS last")
    assert board.bits("last") == "1001"
    assert board.batch.out.action_mask.shape == (1, 2 + 11 * 3)


@pytest.mark.parametrize("blue", [Blue.NO_AGENT, Blue.HIDDEN])
def test_the_mask_offers_no_decoy_where_none_is_placed(blue: Blue) -> None:
    board = Board(network=network(blue))
    far = board.net["decoy_action"][board.index("far")]
    assert not board.batch.out.action_mask[0, far].any()
    assert Board(network=network(Blue.UNWATCHED)).batch.out.action_mask[0, far].any()


@pytest.mark.parametrize("blue", Blue)
def test_red_is_charged_whatever_blue_sees(blue: Blue) -> None:
    parts = (host("start", value=0.0), host("far", "Internal", value=10.0, blue=blue))
    board = Board(network=tiny.network(*parts)).put("persistent", "far").turn(red="PE far")
    assert board.reward == -10.0
