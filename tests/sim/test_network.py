import pytest

from tests.sim.board import HOSTS, Board
from workflow_rl.sim.state import Outcome, Success

OPERATIONAL = {"OpS", "OpH0", "OpH1", "OpH2"}


def reached(board: Board) -> set[str]:
    """The hosts on which a scan finds anything at this moment."""
    return {host for host in HOSTS if board.turn(red=f"DNS {host}").red.outcome is Outcome.SUCCESS}


@pytest.mark.parametrize("kind", ["privileged", "removable", "persistent"])
@pytest.mark.parametrize("foothold", ["Ent0", "Ent1", "Ent2"])
def test_any_session_on_an_enterprise_host_opens_operational(foothold: str, kind: str) -> None:
    assert reached(Board().put(kind, "U0", foothold)) == set(HOSTS)


@pytest.mark.parametrize("host", ["Def", "U0", "U1", "OpH0", "OpS"])
def test_a_session_elsewhere_does_not_open_operational(host: str) -> None:
    assert reached(Board().put("privileged", "U0", host)) == set(HOSTS) - OPERATIONAL


def test_a_session_in_operational_needs_no_route_any_more() -> None:
    board = Board().put("persistent", "Ent0", "OpS").turn("Restore Ent0", "PE OpS")
    assert (board.red.success, board.sessions("OpS")) == (
        Success.TRUE,
        {"privileged", "persistent"},
    )
    board.turn(red="IMP OpS")
    assert (board.red.success, board.reward) == (Success.TRUE, -11.0)
