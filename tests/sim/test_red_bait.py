from tests.sim.board import Match
from workflow_rl.sim.state import Outcome, Success


def test_bait_takes_the_user_host_it_drew_again_and_again() -> None:
    match = Match(red_agent="bait").turn(target="U1")  # too early
    assert match.did == "DRS User"
    got = [match.turn(target="U4").did, *(match.turn("Remove U4", target="U2").did for _ in "123")]
    assert got == ["DNS U4", *["EXP U4 by Haraka"] * 3]


def test_bait_scans_anew_after_a_failure() -> None:
    match = Match(red_agent="bait").turn().turn(target="U3").turn()
    match.last("EXP U3", Success.FALSE, Outcome.SERVICE_ABSENT)
    assert [match.turn().did for _ in "12"] == ["DNS U3", "EXP U3 by Haraka"]


def test_a_restore_gives_bait_a_port_list_without_decoys() -> None:
    match = Match(red_agent="bait").turn("DecoyFemitter U2").turn(target="U2").turn()
    assert (match.did, match.red.outcome) == ("EXP U2 by FTP", Outcome.HIT_DECOY)
    assert match.turn("Restore U2").did == "DNS U2"
    match.turn()
    assert (match.did, match.red.success) == ("EXP U2 by EternalBlue", Success.TRUE)


def test_bait_never_escalates() -> None:
    match = Match(red_agent="bait").turn()
    for step in range(60):
        match.turn("Restore U2" if step % 7 == 0 else "Sleep", target="U2")
        assert match.did.split()[:2] in (["DNS", "U2"], ["EXP", "U2"])
