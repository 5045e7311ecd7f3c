from typing import Any

import pytest

from tests.sim import tiny
from tests.sim.board import Match, host_index
from tests.sim.tiny import host, in_zone, service
from workflow_rl.scenario.network import Network, Reach, Reveal, Roles, Zone
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.state import Outcome, Raised, Success

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


# --- on networks where CybORG's B_line ends the game

TOLD = Reveal("goal", ot_service=True)


def network(
    *,
    entry: str | None = "desk",
    home: tuple[str, ...] = ("start", "desk", "first"),
    dmz: tuple[str, ...] = ("pivot", "other", "third"),
    shows: tuple[Reveal, ...] = (Reveal("pivot"),),
    pivot: tuple[Reveal, ...] = (in_zone("pivot"),),
    third: tuple[Reveal, ...] = (TOLD,),
    image: str = "Gateway",
    reach: Reach = Reach.OPEN,
    ports: tuple[int, ...] | None = None,
    goal: Reach = Reach.OPEN,
    targets: tuple[str, ...] = ("goal",),
) -> Network:
    """A network on which B_line plays to the end unless one part of it is changed."""
    hosts = {
        "start": host("start"),
        "desk": host("desk"),
        "first": host("first", "Gateway", *shows),
        "pivot": host("pivot", image, *pivot),
        "other": host("other"),
        "third": host("third", "Gateway", *third),
        "goal": host("goal", "OP_Server", service("goal")),
    }
    there = [hosts[name] for name in (*home, *dmz, "goal")]
    return tiny.network(
        *there,
        *(Zone("home", home), Zone("dmz", dmz, reach, ports=ports), Zone("field", ("goal",), goal)),
        known=() if entry in (None, "start") else (in_zone(entry),),
        roles=Roles(targets=targets, pivots=("pivot",), entry=entry),
    )


def course(net: Network, steps: int = 20) -> tuple[list[str], Raised]:
    """What B_line does against a sleeping Blue, and what it raises."""
    match = Match(network=net, red_agent="bline")
    did = [match.turn(target="first").did.split(" by ")[0] for _ in range(steps)]
    return [action for action in did if action], match.raised


FULL = [
    *("DRS home", "DNS first", "EXP first", "PE first", "DNS pivot", "EXP pivot", "PE pivot"),
    *("DRS dmz", "DNS third", "EXP third", "PE third", "DNS goal", "EXP goal", "PE goal"),
    *["IMP goal"] * 6,
]


def test_bline_plays_to_the_end_where_every_stage_shows_the_next() -> None:
    assert course(network()) == (FULL, Raised.NOTHING)


@pytest.mark.parametrize(
    ("changed", "steps", "raised"),
    [
        ({"entry": None}, 0, Raised.KEY_ERROR),  # nowhere to begin
        ({"shows": ()}, 4, Raised.INDEX_ERROR),  # no pivot is shown
        ({"shows": (Reveal("other"), Reveal("goal"))}, 4, Raised.INDEX_ERROR),
        (  # of the pivot the service is shown, not the address
            {"shows": (service("pivot"),), "image": "OP_Server"},
            4,
            Raised.KEY_ERROR,
        ),
        ({"reach": Reach.CLOSED}, 5, Raised.INDEX_ERROR),  # the pivot's scan was empty
        ({"reach": Reach.GATED}, 5, Raised.INDEX_ERROR),
        ({"ports": (80,)}, 5, Raised.INDEX_ERROR),
        ({"pivot": ()}, 7, Raised.KEY_ERROR),  # it does not tell its own zone
        ({"pivot": (Reveal("pivot"),)}, 7, Raised.KEY_ERROR),
        ({"dmz": ("pivot", "third")}, 8, Raised.INDEX_ERROR),  # no third host
        ({"third": ()}, 11, Raised.KEY_ERROR),  # the target is not shown
        ({"third": (Reveal("goal", address=False, ot_service=True),)}, 11, Raised.KEY_ERROR),
        ({"targets": ()}, 11, Raised.KEY_ERROR),  # there is none
    ],
)
def test_bline_raises_where_a_stage_is_missing_and_sleeps_from_then_on(
    changed: dict[str, Any], steps: int, raised: Raised
) -> None:
    assert course(network(**changed)) == (FULL[:steps], raised)


def test_an_empty_scan_of_the_target_is_no_exception() -> None:
    assert course(network(goal=Reach.CLOSED)) == (FULL[:12] + FULL[1:9], Raised.NOTHING)


def test_bline_begins_anywhere_in_the_zone_of_its_entry_but_there() -> None:
    alone = tiny.network(host("start"), roles=Roles(entry="start"))
    match = Match(network=alone, red_agent="bline")
    assert [match.turn().did for _ in range(3)] == ["DRS home", "", ""]
    assert match.raised is Raised.INDEX_ERROR
    beside = tiny.network(host("start"), host("desk"), roles=Roles(entry="desk"))
    match = Match(network=beside, red_agent="bline")
    assert [match.turn().did for _ in range(2)] == ["DRS home", "DNS start"]  # its foothold


def test_whether_bline_raises_can_depend_on_what_it_draws_and_on_blue() -> None:
    parts = (
        *(host("start"), host("entry"), host("dull"), host("first", "Gateway", "pivot")),
        *(host("pivot", "Gateway", in_zone("pivot")), host("last")),
        Zone("home", ("start", "entry", "dull", "first")),
        Zone("dmz", ("pivot", "last")),
    )
    roles = Roles(entry="entry", pivots=("pivot",))
    net = tiny.network(*parts, known=(in_zone("entry"),), roles=roles)
    for drawn, raised in (("dull", Raised.INDEX_ERROR), ("first", Raised.NOTHING)):
        match = Match(network=net, red_agent="bline")
        for _ in range(5):
            match.turn(target=drawn)
        assert match.raised is raised


def test_an_empty_scan_raises_only_where_its_result_is_used_for_the_first_time() -> None:
    match = Match(network=network(reach=Reach.GATED), red_agent="bline")
    match.put("persistent", "third")  # pivots are the gate: open it by hand
    match.batch.state["privileged"] |= 1 << match.index("pivot")
    for _ in range(6):
        match.turn(target="first")
    assert match.did.split(" by ")[0] == "EXP pivot"
    match.arrange(bline_index=4).put("privileged", "start").put("persistent")
    match.last("DNS pivot", Success.TRUE, Outcome.NO_ROUTE).turn()
    assert (match.did.split(" by ")[0], match.raised) == ("EXP pivot", Raised.NOTHING)


def test_bline_takes_the_host_itself_as_its_pivot_before_those_that_it_shows() -> None:
    parts = (
        *(host("start"), host("entry"), host("first", "Gateway", "earlier")),
        *(host("earlier"), host("last")),
    )
    roles = Roles(entry="entry", pivots=("earlier", "first"))
    net = tiny.network(*parts, known=(in_zone("entry"),), roles=roles)
    assert course(net)[1] is Raised.KEY_ERROR  # by its name; its address is not shown
    parts = (*parts[:2], host("first", "Gateway", "first", "earlier"), *parts[3:])
    net = tiny.network(*parts, known=(in_zone("entry"),), roles=roles)
    assert course(net, 5)[0][-1] == "DNS first"


def test_the_third_host_of_a_zone_is_the_third_that_a_sweep_lists() -> None:
    net = network(dmz=("third", "pivot", "other"))  # hosts in the order of the zone
    assert "DNS other" in course(net)[0]
    assert course(net)[1] is Raised.KEY_ERROR
