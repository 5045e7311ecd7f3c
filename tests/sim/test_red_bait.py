from tests.sim import tiny
from tests.sim.board import Match
from tests.sim.tiny import host
from workflow_rl.scenario.network import Zone
from workflow_rl.sim.state import Outcome, Success


def there(target: str = "U4") -> Match:
    """Bait at the enterprise host that its user host has revealed."""
    match = Match(red_agent="bait").turn().turn(target=target)
    while not match.did.startswith("PE "):
        match.turn()
    return match


def test_bait_goes_through_the_user_host_it_drew_to_the_host_that_it_reveals() -> None:
    match = Match(red_agent="bait").turn(target="U1")  # too early
    assert match.did == "DRS User"
    got = [match.turn(target="U4").did, *(match.turn(target="U2").did for _ in "1234")]
    assert got == ["DNS U4", "EXP U4 by Haraka", "PE U4", "DNS Ent0", "EXP Ent0 by SSH"]


def test_bait_scans_anew_after_a_failure() -> None:
    match = Match(red_agent="bait").turn().turn(target="U3").turn()
    match.last("EXP U3", Success.FALSE, Outcome.SERVICE_ABSENT)
    assert [match.turn().did for _ in "12"] == ["DNS U3", "EXP U3 by Haraka"]
    match = there().turn().turn()
    match.last("EXP Ent0", Success.FALSE, Outcome.SERVICE_ABSENT)
    assert match.turn().did == "DNS Ent0"


def test_bait_stays_and_never_escalates_there() -> None:
    match = there()
    for step in range(60):
        match.turn("Restore Ent0" if step % 7 == 0 else "Sleep")
        assert match.did.split()[:2] in (["DNS", "Ent0"], ["EXP", "Ent0"])


def test_bait_goes_to_a_host_outside_its_zone_and_sleeps_where_it_is_alone() -> None:
    door, inner = host("door", "Gateway", "inner"), host("inner")
    beside = (Zone("home", ("start", "door")), Zone("away", ("inner",)))
    match = Match(network=tiny.network(host("start"), door, inner, *beside), red_agent="bait")
    got = [match.turn().did.split(" by ")[0] for _ in range(7)]
    assert got == [
        *("DRS home", "DNS door", "EXP door", "PE door"),
        *("DNS inner", "EXP inner", "EXP inner"),
    ]
    alone = Match(network=tiny.network(host("start")), red_agent="bait")
    assert [alone.turn().did for _ in range(3)] == [""] * 3
