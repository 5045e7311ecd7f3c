import pytest

from workflow_rl.evaluation.leaderboard import LEADERBOARD, RERUN


def test_the_published_rows() -> None:
    assert len(LEADERBOARD) == 20
    winner, last = LEADERBOARD[0], LEADERBOARD[-1]
    assert (winner.team, winner.total, winner.half_width) == ("CardiffUni", -54.57, 0.43)
    assert winner.cell(100, "bline") == -13.76
    assert winner.cell(30, "meander") == -5.64
    assert (last.method, last.cell(100, "meander")) == ("Sleeping Agent", -972.43)
    assert {row.rules for row in LEADERBOARD} == {"competition"}
    assert RERUN.rules == "main"
    totals = [row.total for row in LEADERBOARD]
    assert totals == sorted(totals, reverse=True)


def test_cells_add_up_to_the_total_but_in_one_row_that_was_published_so() -> None:
    for row in (*LEADERBOARD, RERUN):
        assert len(row.cells) == 9
        if row.team != "UTS_CIBCI":
            assert sum(row.cells) == pytest.approx(row.total, abs=0.05)
