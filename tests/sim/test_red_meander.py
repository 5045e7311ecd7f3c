from typing import Any

import pytest

from tests.sim import tiny
from tests.sim.board import HOSTS, Match
from tests.sim.tiny import host
from workflow_rl.scenario.network import Network, Roles, Zone
from workflow_rl.sim.state import Access, Outcome, Raised, Success

USER_HOSTS = ("U0", "U1", "U2", "U3", "U4")
ALL_SUBNETS = 0b111
USER, OPERATIONAL = 0b001, 0b100


def meander(**game: Any) -> Match:
    return Match(red_agent="meander", **game)


def settled(*exploited: str, escalated: tuple[str, ...] = ()) -> Match:
    """Meander that knows and has scanned every host and has got into the given ones."""
    match = meander().arrange(subnets_known=ALL_SUBNETS, meander_swept=ALL_SUBNETS)
    match.put("addresses_known", *HOSTS).put("meander_scanned", *HOSTS)
    match.put("names_known", "U0", *exploited).put("meander_mapped", *exploited)
    match.put("meander_exploited", *exploited).put("meander_escalated", "U0", *escalated)
    return match


@pytest.mark.parametrize("order", [USER_HOSTS, USER_HOSTS[::-1], ("U3", "U1", "U0", "U4", "U2")])
def test_meander_always_opens_with_sweep_scans_and_an_escalation_of_user0(
    order: tuple[str, ...],
) -> None:
    match = meander()
    got = [match.turn(target=target).did for target in ("", *order, "")]
    assert got == ["DRS User", *(f"DNS {host}" for host in order), "PE U0"]
    assert match.red.outcome is Outcome.ALREADY_PRIVILEGED
    assert match.turn(target="U0").did == "EXP U0 by FTP"


def test_meander_impacts_while_op_server_is_on_its_list() -> None:
    match = settled("OpS", escalated=("OpS",)).put("persistent", "OpS").arrange(ot_known=True)
    match.arrange(subnets_known=ALL_SUBNETS, meander_swept=0).put("meander_scanned")
    got = [(match.turn().did, match.red.success) for _ in range(3)]
    assert got == [("IMP OpS", Success.TRUE)] * 3


def test_a_failed_impact_takes_op_server_off_the_lists() -> None:
    match = settled("OpS", escalated=("OpS",)).last("IMP OpS", Success.FALSE)
    match.turn(target="U1")
    assert match.did == "EXP U1"
    assert match.hosts("meander_escalated") == {"U0"}
    assert match.hosts("meander_exploited") == {"U1"}
    assert (match.hosts("addresses_known"), match.hosts("names_known")) == (
        set(HOSTS),
        {"U0", "OpS"},
    )


def test_meander_sweeps_enterprise_then_operational_then_user_before_anything_else() -> None:
    match = meander().arrange(subnets_known=ALL_SUBNETS).put("addresses_known", *HOSTS)
    got = [match.turn(target="U2").did for _ in range(4)]
    assert got == ["DRS Enterprise", "DRS Operational", "DRS User", "DNS U2"]


def test_meander_never_repeats_a_sweep_even_if_it_failed() -> None:
    match = meander().arrange(subnets_known=OPERATIONAL | USER, meander_swept=USER)
    match.turn()
    assert (match.did, match.red.success) == ("DRS Operational", Success.FALSE)
    assert match.turn(target="U0").did == "DNS U0"
    assert match.zones("meander_swept") == {"Operational", "User"}


def test_meander_scans_each_known_host_once() -> None:
    match = settled().put("meander_scanned", *(set(HOSTS) - {"Def", "U0"}))
    assert [match.turn(target="Def").did for _ in range(3)][:2] == ["DNS Def", "DNS U0"]
    assert match.did.startswith("EXP")
    assert match.hosts("meander_scanned") == set(HOSTS)


def test_a_scan_without_a_route_counts_as_done_and_dooms_the_exploit() -> None:
    match = settled().put("meander_scanned", *(set(HOSTS) - {"OpS"}))
    match.turn()
    assert (match.did, match.red.success) == ("DNS OpS", Success.TRUE)
    match.put("persistent", "Ent0").turn(target="OpS")
    assert (match.did, match.red.outcome) == ("EXP OpS", Outcome.NOT_SCANNED)


def test_meander_never_sees_a_decoy_placed_after_its_scan() -> None:
    match = meander()
    for target in ("", *USER_HOSTS, ""):
        match.turn(target=target)
    match.turn("DecoyFemitter U2", target="U2")
    assert (match.did, match.red.options) == ("EXP U2 by EternalBlue", 2)


def test_meander_escalates_a_host_right_after_exploiting_it() -> None:
    match = settled().remember("Ent0", 22).turn(target="Ent0")
    assert match.did == "EXP Ent0 by SSH"
    assert match.turn().did == "PE Ent0"
    assert match.hosts("meander_mapped") == {"Ent0"}
    assert match.hosts("meander_escalated") == {"U0", "Ent0"}


@pytest.mark.parametrize("lost", ["Ent0", "Ent1", "U1", "U4"])
def test_meander_does_not_escalate_a_host_it_was_thrown_out_of_but_others(lost: str) -> None:
    assert settled(lost).put("meander_exploited").turn(target="U2").did == "EXP U2"
    others = [name for name in ("Ent0", "Ent1", "U1", "U4") if name != lost]
    match = settled(lost, *others).put("meander_exploited", *others)
    for name in others:
        assert match.put("meander_escalated", "U0").turn(target=name).did == f"PE {name}"


def test_a_failed_escalation_makes_meander_exploit_the_host_again() -> None:
    match = settled("U1", "U2", escalated=("U1", "U2")).last("PE U1", Success.FALSE)
    match.turn(target="U1")
    assert match.did == "EXP U1"
    assert match.hosts("meander_escalated") == {"U0", "U2"}
    assert match.hosts("meander_exploited") == {"U1", "U2"}


def test_a_failed_escalation_of_a_host_never_mapped_leaves_the_exploited_list() -> None:
    match = settled("U2", escalated=("U1", "U2")).put("meander_exploited", "U1", "U2")
    match.last("PE U1", Success.FALSE).turn(target="U3")
    assert match.did == "EXP U3"
    assert match.hosts("meander_escalated") == {"U0", "U2"}
    assert match.hosts("meander_exploited") == {"U1", "U2", "U3"}


def test_meander_exploits_every_known_host_it_has_not_got_including_its_own() -> None:
    match = settled(*(set(HOSTS) - {"U0", "Def"}), escalated=tuple(set(HOSTS) - {"U0", "Def"}))
    match.put("meander_escalated", *(set(HOSTS) - {"OpS"})).put("names_known", "U0")
    match.remember("U0", 22, 21)
    assert match.turn(target="U0").did == "EXP U0 by FTP"
    assert (match.bits("U0"), match.hosts("malware")) == ("1101", {"U0"})
    assert match.turn(target="Def").did == "EXP Def"


def test_a_successful_exploit_enters_the_map() -> None:
    match = settled("U1", escalated=("U1",)).put("meander_exploited", "U1", "U2")
    match.last("EXP U2", Success.TRUE).turn(target="U3")
    assert match.hosts("meander_mapped") == {"U1", "U2"}
    assert match.hosts("meander_exploited") == {"U1", "U2", "U3"}


@pytest.mark.parametrize(
    ("escalated", "left"),
    [
        (("OpS", "OpH1", "Ent0", "U1"), {"Ent0", "U1"}),  # Operational goes first
        (("Ent0", "Ent2", "U1"), {"U1"}),
        (("U1", "U2"), {"U1", "U2"}),
    ],
)
def test_a_failed_exploit_makes_meander_forget_operational_or_else_enterprise(
    escalated: tuple[str, ...], left: set[str]
) -> None:
    match = settled(*escalated, escalated=escalated)
    match.put("meander_exploited", *escalated, "U4").last("EXP U4", Success.FALSE)
    match.turn(target="U3")
    assert match.did == "EXP U3"
    assert match.hosts("meander_escalated") == left | {"U0"}
    assert match.hosts("meander_exploited") == left | {"U3"}
    assert match.hosts("meander_mapped") == set(escalated)


def test_a_failed_exploit_forgets_only_what_was_escalated() -> None:
    match = settled("Ent0", "Ent1", escalated=("Ent0",)).put("names_known", "U0", "Ent0")
    match.put("meander_exploited", "Ent0", "Ent1", "Def").last("EXP Def", Success.FALSE)
    match.turn(target="U3")
    assert match.hosts("meander_exploited") == {"Ent1", "U3"}


def test_real_sessions_outlive_what_meander_forgets() -> None:
    match = settled("Ent0", escalated=("Ent0",)).put("privileged", "U0", "Ent0")
    match.last("EXP Def", Success.FALSE).turn(target="Ent0")
    assert (match.did, match.sessions("Ent0")) == ("EXP Ent0", {"privileged"})


def test_the_op_hosts_are_only_attacked_after_an_impact_failed() -> None:
    match = settled("OpS", escalated=("OpS",)).put("persistent", "OpS").arrange(ot_known=True)
    match.arrange(meander_swept=0b011).put("addresses_known", "U0", "OpS")
    assert match.turn().did == "IMP OpS"
    match.turn("Restore OpS")
    assert (match.did, match.red.success) == ("IMP OpS", Success.FALSE)
    assert match.turn().did == "DRS Operational"


# --- on any network


def roamed(network: Network, steps: int, *targets: str) -> Match:
    """A Meander after so many steps; it takes these targets and else the lowest."""
    match = Match(network=network, red_agent="meander")
    for step in range(steps):
        match.turn(target=targets[step] if step < len(targets) else "")
    return match


def test_meander_that_has_nothing_left_raises_and_sleeps_from_then_on() -> None:
    network = tiny.network(host("start"), host("other"))  # no target
    match = Match(network=network, red_agent="meander")
    expected = ["DRS home", "DNS start", "DNS other", "PE start", "EXP start by SSH"]
    expected += ["EXP other by SSH", "PE other", "", "", ""]
    raised = [Raised.NOTHING] * 7 + [Raised.NOT_IMPLEMENTED_ERROR] * 3
    got = [(match.turn("Restore other").did, match.raised) for _ in range(5)]
    got += [(match.turn("Sleep").did, match.raised) for _ in range(5)]
    assert got == list(zip(expected, raised, strict=True))
    assert match.access("other") is Access.PRIVILEGED  # it keeps what it has
    match.turn("Restore other")
    assert (match.did, match.raised) == ("", Raised.NOT_IMPLEMENTED_ERROR)
    match.batch.reset(seed=1)
    assert (match.turn().did, match.raised) == ("DRS home", Raised.NOTHING)


def test_a_host_that_never_yields_keeps_meander_busy() -> None:
    network = tiny.network(host("start"), host("wall", "Kali_Box"))
    match = roamed(network, 30)
    assert (match.did, match.raised) == ("EXP wall by SSH", Raised.NOTHING)


def test_meander_raises_if_its_foothold_is_of_a_retried_group_before_it_was_exploited() -> None:
    def game(**groups: Any) -> Match:
        parts = (host("start"), host("wall", "Kali_Box"))
        return roamed(tiny.network(*parts, roles=Roles(**groups)), 4)  # up to PE start

    for group in ("retried_first", "retried_second"):
        match = game(**{group: ("start",)})
        assert match.turn(target="wall").did == "EXP wall by SSH"
        assert (match.turn().did, match.raised) == ("", Raised.KEY_ERROR)
        match = game(**{group: ("start",)}).turn(target="start").turn().turn()
        assert (match.raised, match.did) == (Raised.NOTHING, "EXP start by SSH")  # it goes on
    match = game(retried_first=("wall",)).turn(target="wall").turn(target="start")
    assert (match.raised, match.did) == (Raised.NOTHING, "EXP start by SSH")


def test_meander_forgets_the_first_group_that_it_has_escalated() -> None:
    parts = (host("start"), host("a"), host("b"), host("c"), host("wall", "Kali_Box"))
    network = tiny.network(*parts, roles=Roles(retried_first=("a",), retried_second=("b", "c")))
    for escalated, left in ((("a", "b"), {"b"}), (("b", "c"), set()), (("c",), set())):
        match = Match(network=network, red_agent="meander").put("meander_escalated", *escalated)
        match.put("meander_mapped", *network.host_names)
        match.put("meander_exploited", *network.host_names)
        match.last("EXP wall", Success.FALSE).turn()
        assert match.hosts("meander_escalated") == left
        assert not match.hosts("meander_exploited") & ({*escalated} - left)


def test_meander_sweeps_zones_in_the_order_of_their_first_hosts() -> None:
    network = tiny.network(
        *(host(name) for name in ("start", "d", "b", "c", "a")),
        *(Zone("first", ("a", "b")), Zone("second", ("c",)), Zone("third", ("d", "start"))),
    )
    match = Match(network=network, red_agent="meander").arrange(subnets_known=0b111)
    assert [match.turn().did for _ in range(3)] == ["DRS third", "DRS first", "DRS second"]


def test_a_zone_that_red_is_not_told_of_is_never_swept() -> None:
    network = tiny.network(
        *(host("start"), host("door", "Gateway", "inner"), host("inner"), host("beside")),
        *(Zone("home", ("start", "door")), Zone("vault", ("inner", "beside"))),
    )
    match = Match(network=network, red_agent="meander")
    did = {match.turn().did for _ in range(25)}
    assert {"DNS inner", "EXP inner by SSH", "PE inner"} <= did
    assert "DRS vault" not in did
    assert not match.has("addresses_known", "beside")
