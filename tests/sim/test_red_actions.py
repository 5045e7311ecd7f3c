import pytest

from tests.sim.board import EXPLOITS, HOSTS, Board, scanned
from workflow_rl.scenario.images import DECOY_NAMES, port_set
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.state import Access, Mark, Outcome, Success


@pytest.mark.parametrize(
    ("subnet", "members"),
    [
        ("User", {"U0", "U1", "U2", "U3", "U4"}),
        ("Enterprise", {"U0", "Def", "Ent0", "Ent1", "Ent2"}),
        ("Operational", {"U0", "OpS", "OpH0", "OpH1", "OpH2"}),
    ],
)
def test_a_sweep_shows_red_all_addresses_of_a_subnet_it_has_a_route_to_and_blue_nothing(
    subnet: str, members: set[str]
) -> None:
    for foothold, has_route in ("U1", subnet != "Operational"), ("Ent1", True):
        board = Board().put("persistent", foothold).turn(red=f"DRS {subnet}")
        assert (board.red.success is Success.TRUE) == has_route
        assert (board.red.outcome is Outcome.NO_ROUTE) == (not has_route)
        assert board.hosts("addresses_known") == (members if has_route else {"U0"})
        assert (board.hosts("names_known"), board.shown()) == ({"U0"}, {})


@pytest.mark.parametrize(
    ("host", "decoy", "ports"),
    [
        ("Def", "", {22, 53, 68}),
        ("Ent0", "Tomcat", {22, 443}),
        ("U2", "SSHD", {445, 139, 135, 3389, 22}),
        ("U3", "Vsftpd", {80, 3389, 443, 25}),
    ],
)
def test_a_scan_sees_services_and_decoys(host: str, decoy: str, ports: set[int]) -> None:
    board = scanned(host, *([decoy] if decoy else []))
    assert int(board.state["ports"][HOSTS.index(host)]) == port_set(ports)
    assert board.hosts("ports_known") == {host}
    assert (board.red.success, board.bits(host)) == (Success.TRUE, "1000")


def test_a_scan_without_a_route_reports_success_and_changes_nothing() -> None:
    board = Board().remember("OpS", 22, 80)
    before = board.record()
    board.turn(red="DNS OpS")
    assert (board.red.success, board.red.outcome) == (Success.TRUE, Outcome.NO_ROUTE)
    assert board.shown() == {}
    assert board.changed_since(before) == {
        *("blue_action", "red_action", "red_target", "red_success", "red_outcome")
    }


@pytest.mark.parametrize(("rules", "remembered"), [("main", {22}), ("competition", {22, 25, 443})])
def test_a_rescan_replaces_the_port_memory_but_unites_it_under_competition_rules(
    rules: str, remembered: set[int]
) -> None:
    board = scanned("Ent0", "HarakaSMPT", "Tomcat", rules=rules)
    board.turn("Restore Ent0", "DNS Ent0")
    assert int(board.state["ports"][HOSTS.index("Ent0")]) == port_set(remembered)


def test_under_competition_rules_a_wiped_decoy_absorbs_exploits_even_after_a_rescan() -> None:
    board = scanned("Ent0", "HarakaSMPT", rules="competition")
    board.turn("Restore Ent0", "DNS Ent0").turn(red="EXP Ent0")
    assert board.red.exploit == "HarakaRCE"
    assert board.red.outcome is Outcome.SERVICE_ABSENT
    assert board.shown() == {}


@pytest.mark.parametrize("kind", ["removable", "persistent"])
def test_escalation_turns_a_user_session_into_a_privileged_one_and_leaves_a_file(kind: str) -> None:
    board = Board().put(kind, "U4").turn(red="PE U4")
    assert (board.red.outcome, board.red.success) == (Outcome.SUCCESS, Success.TRUE)
    assert (board.access("U4"), board.hosts("malware")) == (Access.PRIVILEGED, {"U4"})
    assert (board.reward, board.shown()) == (-0.1, {})


def test_an_escalated_shell_is_out_of_removes_reach_until_another_one_is_opened() -> None:
    board = Board().put("removable", "U4", "Ent1").turn(red="PE U4")
    assert board.hosts("removable") == {"Ent1"}
    assert board.sessions("U4") == {"privileged"}
    board.turn(red="DNS U4").turn(red="EXP U4 by HTTP")
    assert board.sessions("U4") == {"privileged", "removable"}
    assert board.turn("Remove U4").sessions("U4") == {"privileged"}


@pytest.mark.parametrize(
    ("shells", "logins", "took_shell", "stays"),
    [(1, 0, False, False), (2, 0, True, True), (1, 2, True, False), (1, 2, False, True)],
)
def test_an_escalation_takes_one_of_several_sessions_and_remove_still_reaches_the_other_shells(
    shells: int, logins: int, took_shell: bool, stays: bool
) -> None:
    board = Board().turn(red="DNS U4")
    for exploit in ["HTTP"] * shells + ["SSH"] * logins:
        board.turn(red=f"EXP U4 by {exploit}")
    board.turn(red="PE U4", detected=took_shell)
    assert board.has("removable", "U4") is stays


@pytest.mark.parametrize(
    ("exploit", "blue"), [("HTTP", "Remove"), ("HTTP", "Restore"), ("SSH", "Restore")]
)
def test_a_lost_session_is_not_escalated(exploit: str, blue: str) -> None:
    board = Board().turn(red="DNS U4").turn(red=f"EXP U4 by {exploit}")
    board.turn(red=f"EXP U4 by {exploit}").turn(f"{blue} U4").turn(red="EXP U4 by HTTP")
    assert board.turn(red="PE U4", detected=False).sessions("U4") == {"privileged"}


def test_escalation_on_a_privileged_host_succeeds_and_leaves_no_file() -> None:
    board = Board().put("privileged", "U0", "U4").turn(red="PE U4")
    assert (board.red.outcome, board.red.success) == (Outcome.ALREADY_PRIVILEGED, Success.TRUE)
    assert board.hosts("malware") == set()


def test_escalation_without_a_session_fails_and_reveals_nothing() -> None:
    board = Board().turn(red="PE Ent2")
    assert (board.red.outcome, board.red.success) == (Outcome.NO_SESSION, Success.FALSE)
    assert (board.hosts("addresses_known"), board.access("Ent2")) == ({"U0"}, Access.NONE)
    assert board.zones("subnets_known") == {"User"}


@pytest.mark.parametrize("kind", ["persistent", "privileged"])
@pytest.mark.parametrize("host", HOSTS[1:])  # all but Defender
def test_what_an_escalation_reveals(host: str, kind: str) -> None:
    subnet = {"E": "Enterprise", "O": "Operational", "U": "User"}[host[0]]
    links = {"Ent2": "OpS", "U1": "Ent1", "U2": "Ent1", "U3": "Ent0", "U4": "Ent0"}
    linked = links.get(host, host)
    board = Board().put("addresses_known", "U0", host)  # the exploit before it told the address
    board.put(kind, "U0", host).turn(red=f"PE {host}")
    assert board.zones("subnets_known") == {"User", subnet}
    assert board.hosts("addresses_known") == {"U0", host, linked}
    assert board.hosts("names_known") == {"U0"}
    assert bool(board.state["ot_known"]) == (host == "OpS")


def test_impact_persistence_and_immunity() -> None:
    board = Board().put("persistent", "Ent0", "OpS").marked("OpS", Mark.USER).remember("OpS", 22)
    false, true, unknown = Success
    story = [
        ("Sleep", "IMP OpS", false, 0.0, "0001", True),  # the service is not known yet
        ("Sleep", "PE OpS", true, -1.0, "0001", True),
        ("Sleep", "IMP OpS", true, -11.0, "0001", False),
        ("Sleep", "", unknown, -11.0, "0001", False),
        ("Sleep", "IMP OpS", true, -11.0, "0001", False),
        ("Remove OpS", "", unknown, -11.0, "0010", False),
        ("Restore OpS", "", unknown, -1.0, "0000", True),
        ("Sleep", "IMP OpS", false, 0.0, "0000", True),
        ("Sleep", "EXP OpS by SSH", true, 0.0, "1101", True),
        ("Sleep", "IMP OpS", true, 0.0, "0001", True),  # by a user-level session, in vain
        ("Sleep", "PE OpS", true, -1.0, "0001", True),
        ("Sleep", "IMP OpS", true, -1.0, "0001", True),
    ]
    told = board.story(story, lambda b: (b.red.success, b.reward, b.bits("OpS"), b.ot_running))
    assert told == story
    assert bool(board.state["ot_known"])  # never forgotten


def test_a_restore_before_red_arrives_makes_the_ot_service_immune() -> None:
    board = Board().turn("Restore OpS").put("privileged", "U0", "OpS").arrange(ot_known=True)
    board.turn(red="IMP OpS")
    assert (board.red.success, board.ot_running, board.reward) == (Success.TRUE, True, -1.0)


def test_impact_needs_no_privilege_once_the_service_is_known() -> None:
    board = Board().put("persistent", "OpS").arrange(ot_known=True).turn(red="IMP OpS")
    assert (board.red.success, board.ot_running, board.reward) == (Success.TRUE, False, -10.0)


@pytest.mark.parametrize(
    ("held", "known", "outcome"),
    [
        ("U1", True, Outcome.NO_SESSION),
        ("U1", False, Outcome.NO_SESSION),
        ("OpS", False, Outcome.OT_UNKNOWN),
    ],
)
def test_impact_fails_without_a_session_or_the_services_name(
    held: str, known: bool, outcome: Outcome
) -> None:
    board = Board().put("persistent", held).arrange(ot_known=known).turn(red="IMP OpS")
    assert (board.red.outcome, board.red.success) == (outcome, Success.FALSE)
    assert board.ot_running


def test_how_an_exploit_ended_is_told_of_that_step_only() -> None:
    board = scanned("Ent0", "HarakaSMPT").turn(red="EXP Ent0")
    fields = ("red_exploit", "red_options", "red_decoy_hit")
    told = (EXPLOITS.index("Haraka"), 2, DECOY_NAMES.index("DecoyHarakaSMPT"))
    assert tuple(int(board.state[name]) for name in fields) == told
    board.turn(red="PE U0")
    assert tuple(int(board.state[name]) for name in fields) == (NOBODY, -1, NOBODY)


@pytest.mark.parametrize("red", ["DRS Enterprise", "PE U0", "IMP OpS", ""])
def test_sweeps_escalation_and_impact_are_invisible(red: str) -> None:
    board = Board().put("persistent", "OpS").arrange(ot_known=True).turn(red=red)
    assert board.shown() == {}
