from tests.sim.board import HOSTS, Match
from workflow_rl.sim.state import Access, Success


def test_a_sleeping_red_holds_user0_and_shows_nothing() -> None:
    match = Match(red_agent="sleep")
    for _ in range(20):
        match.turn(target="U1")
        assert (match.did, match.red.success) == ("", Success.UNKNOWN)
        assert (match.reward, match.shown()) == (0.0, {})
    assert {host: match.access(host) for host in HOSTS} == {
        host: Access.PRIVILEGED if host == "U0" else Access.NONE for host in HOSTS
    }


def test_against_a_sleeping_red_only_restores_cost() -> None:
    match = Match(red_agent="sleep")
    blue = ("Restore U0", "Analyse U0", "DecoyApache Ent0", "Restore OpS", "Remove U1", "Monitor")
    assert [match.turn(action).reward for action in blue] == [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0]
    assert match.access("U0") is Access.PRIVILEGED
