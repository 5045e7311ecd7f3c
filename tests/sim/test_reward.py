import pytest

from tests.sim.board import Board


def test_restoring_the_host_red_is_privileged_on_counts_only_the_restore() -> None:
    board = Board().turn(red="DNS U1").turn(red="EXP U1 by FTP")
    assert board.reward == -0.1
    assert board.turn("Restore U1").reward == -1.0


@pytest.mark.parametrize("host", ["OpH0", "OpH1", "OpH2"])
def test_user_level_sessions_cost_nothing(host: str) -> None:
    board = Board().turn(red="DNS Ent0").turn(red="EXP Ent0 by SSH").turn(red=f"DNS {host}")
    assert board.turn(red=f"EXP {host} by SSH").reward == 0.0
    assert board.turn(red=f"PE {host}").reward == -0.1
