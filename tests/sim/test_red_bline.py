from typing import Any

import pytest

from tests.sim.board import Match, host_index
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.state import Outcome, Success

CHAIN = [  # through User1: action, where it goes on after a failure
    ("DRS User", 0),
    ("DNS U1", 1),
    ("EXP U1", 2),
    ("PE U1", 2),
    ("DNS Ent1", 2),
    ("EXP Ent1", 2),
    ("PE Ent1", 5),
    ("DRS Enterprise", 5),
    ("DNS Ent2", 5),
    ("EXP Ent2", 5),
    ("PE Ent2", 9),
    ("DNS OpS", 9),
    ("EXP OpS", 9),
    ("PE OpS", 12),
    ("IMP OpS", 13),
]


ALL_PLACES, UP_TO_SCAN = 2**15 - 1, 2**12 - 1


def has_exploited(match: Match) -> bool:
    """Whether B_line has ever gone on from the scan of Op_Server0."""
    return bool(int(match.state["bline_reached"]) >> 12 & 1)


def bline(**game: Any) -> Match:
    return Match(red_agent="bline", **game)


def advanced(steps: int) -> Match:
    """B_line through User1 after the given number of undisturbed steps."""
    match = bline()
    for _ in range(steps):
        match.turn(target="U1")
    return match


def test_bline_against_a_sleeping_blue() -> None:
    match = bline()
    got = [match.turn(target="U1").did.split(" by ")[0] for _ in range(17)]
    assert got == [*(action for action, _ in CHAIN), "IMP OpS", "IMP OpS"]
    assert match.reward == -13.1  # four hosts and the service


def test_an_empty_scan_of_op_server_sends_bline_back_to_the_user_host() -> None:
    match = advanced(9)
    story = [
        ("Sleep", "", "EXP Ent2 by HTTPS", 9, Success.TRUE, -1.1),
        ("Restore Ent1", "", "PE Ent2", 10, Success.TRUE, -2.1),
        ("Restore Ent2", "", "DNS OpS", 11, Success.TRUE, -1.1),  # nothing is found
        ("Sleep", "", "DNS U1", 1, Success.TRUE, -0.1),
        ("Sleep", "", "EXP U1 by FTP", 2, Success.TRUE, -0.1),
        ("Sleep", "", "PE U1", 3, Success.TRUE, -0.1),
        ("Sleep", "", "DNS Ent1", 4, Success.TRUE, -0.1),
        ("Sleep", "EternalBlue", "EXP Ent1 by EternalBlue", 5, Success.FALSE, -0.1),
        ("Sleep", "", "EXP U1 by FTP", 2, Success.TRUE, -0.1),
        ("Sleep", "", "PE U1", 3, Success.TRUE, -0.1),
    ]
    for blue, other, *told in story:
        match.turn(blue, other=other, target="U4")  # its user host is not drawn again
        index = int(match.state["bline_index"])
        assert [match.did, index, match.red.success, match.reward] == told


def test_the_empty_scan_rule_applies_until_a_scan_with_a_result_was_followed_up() -> None:
    match = bline().arrange(bline_index=11, bline_target=host_index("U1"), bline_reached=UP_TO_SCAN)
    for _ in range(2):
        match.last("DNS OpS", Success.TRUE, Outcome.NO_ROUTE).turn(target="U4")
        assert (match.did, has_exploited(match)) == ("DNS U1", False)
        match.arrange(bline_index=11)
    match.last("DNS OpS", Success.TRUE, Outcome.SUCCESS).turn()
    assert (match.did, has_exploited(match)) == ("EXP OpS", True)
    match.arrange(bline_index=11).last("DNS OpS", Success.TRUE, Outcome.NO_ROUTE).turn()
    assert match.did == "EXP OpS"


@pytest.mark.parametrize("index", range(15))
@pytest.mark.parametrize("success", list(Success))
def test_where_bline_goes_on_after_each_result(index: int, success: Success) -> None:
    match = bline().arrange(bline_index=index, bline_target=host_index("U1"))
    match.arrange(bline_reached=ALL_PLACES, red_success=success).turn()
    after = min(index + 1, 14) if success is Success.TRUE else CHAIN[index][1]
    assert int(match.state["bline_index"]) == after
    assert match.did.split(" by ")[0] == CHAIN[after][0]


def test_bline_starts_with_the_sweep_since_nothing_has_happened_yet() -> None:
    match = bline()
    assert match.red.success is Success.UNKNOWN
    match.turn()
    assert (match.did, int(match.state["bline_index"])) == ("DRS User", 0)
    assert int(match.state["bline_target"]) == NOBODY


@pytest.mark.parametrize(
    ("first", "second"), [("U1", "Ent1"), ("U2", "Ent1"), ("U3", "Ent0"), ("U4", "Ent0")]
)
def test_one_of_four_user_hosts_is_drawn_kept_and_leads_to_its_enterprise_host(
    first: str, second: str
) -> None:
    match = bline().turn(target="U4")  # too early
    got = ["", match.turn(target=first).did]
    got += [match.turn(target="U2").did.split(" by ")[0] for _ in range(5)]
    assert bline().turn().turn(target="U0").did == "DNS U1"  # not one of them: the lowest
    assert got[1:] == [f"{do} {host}" for host in (first, second) for do in ("DNS", "EXP", "PE")]


def test_a_fallback_to_the_user_host_makes_bline_rescan_the_enterprise_host() -> None:
    match = advanced(5).turn("DecoyFemitter Ent1", other="EternalBlue")
    assert (match.did, match.red.options) == ("EXP Ent1 by EternalBlue", 5)
    got = [match.turn().did for _ in range(4)]
    assert got == ["EXP U1 by FTP", "PE U1", "DNS Ent1", "EXP Ent1 by FTP"]
    assert match.red.outcome is Outcome.HIT_DECOY
