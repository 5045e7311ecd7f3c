from fractions import Fraction

import pytest

from tests.sim.board import EXPLOITS, HOSTS, Board
from workflow_rl.scenario.tables import DECOY_NAMES, PORTS, Subnet, port_set
from workflow_rl.sim.draws import WORDS, choose_exploit
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.state import NOBODY, Access, Outcome, Success

EVEN_WORDS = [(2 * i + 1) * WORDS // (2 * 1680) for i in range(1680)]  # 1680 = 4 x lcm(1..7)


def scanned(host: str, *decoys: str, **game: str) -> Board:
    """A board on which Red has just scanned the host with its decoys in place."""
    board = Board(**game).put("persistent", "Ent2" if host != "Ent2" else "Ent1")
    for decoy in decoys:
        board.turn(f"Decoy{decoy} {host}")
    return board.turn(red=f"DNS {host}")


# --- sweep


@pytest.mark.parametrize(
    ("subnet", "members"),
    [
        ("User", {"U0", "U1", "U2", "U3", "U4"}),
        ("Enterprise", {"U0", "Def", "Ent0", "Ent1", "Ent2"}),
    ],
)
def test_a_sweep_shows_red_all_addresses_of_the_subnet_and_blue_nothing(
    subnet: str, members: set[str]
) -> None:
    board = Board().turn(red=f"DRS {subnet}")
    assert (board.red.success, board.hosts("addresses_known")) == (Success.TRUE, members)
    assert (board.hosts("names_known"), board.shown()) == ({"U0"}, {})


def test_a_sweep_of_operational_needs_a_foothold() -> None:
    board = Board().turn(red="DRS Operational")
    assert (board.red.success, board.red.outcome) == (Success.FALSE, Outcome.NO_ROUTE)
    assert board.hosts("addresses_known") == {"U0"}
    board.put("persistent", "Ent1").turn(red="DRS Operational")
    assert board.red.success is Success.TRUE
    assert board.hosts("addresses_known") == {"U0", "OpS", "OpH0", "OpH1", "OpH2"}


# --- scan


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
        "blue_action",
        "red_action",
        "red_target",
        "red_success",
        "red_outcome",
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


# --- exploit: the choice


@pytest.mark.parametrize(
    ("exploit", "ports"),
    [
        ("FTP", {21}),
        ("Haraka", {25}),
        ("SQL", {3390, 80}),
        ("SQL", {3390, 443}),
        ("HTTPS", {443}),
        ("HTTP", {80}),
        ("EternalBlue", {139}),
        ("BlueKeep", {3389}),
        ("SSH", {22}),
    ],
)
def test_an_exploit_is_an_option_by_its_remembered_ports(exploit: str, ports: set[int]) -> None:
    def is_option(remembered: set[int]) -> bool:
        return bool(exploit_options(port_set(remembered)) >> EXPLOITS.index(exploit) & 1)

    assert is_option(ports)
    assert is_option(set(PORTS))
    assert [port for port in ports if is_option(set(PORTS) - {port})] == [
        port for port in ports if exploit == "SQL" and port != 3390
    ]


@pytest.mark.parametrize("port", [53, 68, 135, 445, 3390])
def test_no_exploit_fits_these_ports_alone(port: int) -> None:
    assert exploit_options(port_set([port])) == 0


def _even(favourite: str, *others: str) -> dict[str, Fraction]:
    """The favourite with 3/4, the others with an equal share of the rest."""
    return {favourite: Fraction(3, 4)} | dict.fromkeys(others, Fraction(1, 4 * len(others)))


_SSH_ONLY = {"SSH": Fraction(1)}
_WINDOWS_SERVER = _even("HTTPS", "HTTP", "EternalBlue", "BlueKeep", "SSH")
_WITH_FEMITTER = _even("FTP", "HTTPS", "HTTP", "EternalBlue", "BlueKeep", "SSH")


@pytest.mark.parametrize(
    ("host", "decoys", "choice", "success"),
    [
        ("Def", "", _SSH_ONLY, 0),
        ("Ent0", "", _SSH_ONLY, 1),
        ("OpH0", "", _SSH_ONLY, 1),
        ("OpH1", "", _SSH_ONLY, 1),
        ("OpH2", "", _SSH_ONLY, 1),
        ("OpS", "", _SSH_ONLY, 1),
        ("Ent1", "", _WINDOWS_SERVER, Fraction(15, 16)),
        ("Ent2", "", _WINDOWS_SERVER, Fraction(15, 16)),
        ("U0", "", _even("FTP", "SSH"), 1),
        ("U1", "", _even("FTP", "SSH"), 1),
        ("U2", "", _even("EternalBlue", "BlueKeep"), 1),
        ("U3", "", _even("Haraka", "HTTPS", "HTTP", "BlueKeep"), Fraction(11, 12)),
        ("U4", "", _even("Haraka", "SQL", "HTTPS", "HTTP", "SSH"), 1),
        ("Ent0", "HarakaSMPT", _even("Haraka", "SSH"), Fraction(1, 4)),
        ("Ent0", "HarakaSMPT Tomcat", _even("Haraka", "HTTPS", "SSH"), Fraction(1, 8)),
        (
            "Ent0",
            "HarakaSMPT Tomcat Apache",
            _even("Haraka", "HTTPS", "HTTP", "SSH"),
            Fraction(1, 12),
        ),
        (
            "Ent0",
            "HarakaSMPT Tomcat Vsftpd",
            _even("Haraka", "HTTPS", "HTTP", "SSH"),
            Fraction(1, 12),
        ),
        ("Ent1", "Femitter", _WITH_FEMITTER, Fraction(1, 5)),
        ("Ent2", "Femitter", _WITH_FEMITTER, Fraction(1, 5)),
        ("U2", "Femitter", _even("FTP", "EternalBlue", "BlueKeep"), Fraction(1, 4)),
        (
            "U2",
            "Femitter Tomcat",
            _even("FTP", "HTTPS", "EternalBlue", "BlueKeep"),
            Fraction(1, 6),
        ),
        (
            "U2",
            "Femitter Tomcat Apache SSHD",
            _even("FTP", "HTTPS", "HTTP", "EternalBlue", "BlueKeep", "SSH"),
            Fraction(1, 10),
        ),
        (
            "U1",
            "Apache Tomcat Smss Svchost",
            _even("FTP", "SSH", "HTTP", "HTTPS", "EternalBlue", "BlueKeep"),
            Fraction(4, 5),
        ),
        ("U3", "SSHD", _even("Haraka", "HTTPS", "HTTP", "BlueKeep", "SSH"), Fraction(7, 8)),
        (
            "OpS",
            "HarakaSMPT Tomcat Apache",
            _even("Haraka", "HTTPS", "HTTP", "SSH"),
            Fraction(1, 12),
        ),
    ],
)
def test_which_exploit_is_chosen_how_often_and_succeeds_how_often(
    host: str, decoys: str, choice: dict[str, Fraction], success: Fraction
) -> None:
    board = scanned(host, *decoys.split())
    options = exploit_options(int(board.state["ports"][HOSTS.index(host)]))
    chosen = [EXPLOITS[choose_exploit(word, options)] for word in EVEN_WORDS]
    assert {name: Fraction(chosen.count(name), len(chosen)) for name in set(chosen)} == choice
    succeeded = Fraction(0)
    for exploit, probability in choice.items():
        board = scanned(host, *decoys.split()).turn(red=f"EXP {host} by {exploit}")
        assert board.did == f"EXP {host} by {exploit}"
        assert board.red.options == len(choice)
        succeeded += probability * (board.red.success is Success.TRUE)
    assert succeeded == success


# --- exploit: the outcome

_SSH = {"SSH": {"persistent"}}
_SERVER = {
    "HTTPS": {"removable"},
    "HTTP": {"removable"},
    "BlueKeep": {"privileged"},
    "SSH": {"persistent"},
}
_WEB = {"Haraka": {"privileged"}, "HTTPS": {"removable"}, "HTTP": {"removable"}}
GAINED: dict[str, dict[str, set[str]]] = {  # by a detected exploit of an original service
    "Def": {},
    "Ent0": _SSH,
    "Ent1": _SERVER,
    "Ent2": _SERVER,
    "OpH0": _SSH,
    "OpH1": _SSH,
    "OpH2": _SSH,
    "OpS": _SSH,
    "U0": {"FTP": {"privileged"}, "SSH": {"persistent"}},
    "U1": {"FTP": {"privileged"}, "SSH": {"persistent"}},
    "U2": {"EternalBlue": {"privileged"}, "BlueKeep": {"removable"}},
    "U3": _WEB,
    "U4": {**_WEB, "SQL": {"privileged"}, "SSH": {"persistent"}},
}


@pytest.mark.parametrize("exploit", EXPLOITS)
@pytest.mark.parametrize("host", HOSTS)
def test_what_every_exploit_does_on_every_host(host: str, exploit: str) -> None:
    foothold = "Ent2" if host != "Ent2" else "Ent1"
    board = Board().put("persistent", foothold).remember(host, *PORTS)
    before = board.sessions(host)
    board.turn(red=f"EXP {host} by {exploit}")
    assert board.did == f"EXP {host} by {exploit}"
    if exploit in GAINED[host]:
        assert board.red.outcome is Outcome.SUCCESS
        assert board.sessions(host) == before | GAINED[host][exploit]
        assert board.hosts("malware") == ({host} if exploit != "SSH" else set())
        assert board.shown() == {host: "1101"}
        assert board.has("names_known", host)
        assert board.has("addresses_known", host)
    else:
        no_account = host == "Def" and exploit == "SSH"
        assert board.red.outcome is (Outcome.NO_ACCOUNT if no_account else Outcome.SERVICE_ABSENT)
        assert (board.sessions(host), board.hosts("malware")) == (before, set())
        assert board.shown() == ({host: "1101"} if no_account else {})
        assert board.has("names_known", host) == (host == "U0")
    assert board.red.success == (exploit in GAINED[host])


@pytest.mark.parametrize(
    ("host", "exploit", "kind"),
    [
        ("Ent1", "HTTPS", "persistent"),
        ("U1", "FTP", "privileged"),
        ("U2", "BlueKeep", "persistent"),
    ],
)
def test_an_undetected_shell_still_leaves_its_file_and_session(
    host: str, exploit: str, kind: str
) -> None:
    board = scanned(host).turn(red=f"EXP {host} by {exploit}", detected=False)
    assert (board.sessions(host), board.hosts("malware")) == ({kind}, {host})
    assert board.bits(host) == "1000"


@pytest.mark.parametrize(("host", "exploit"), [("Ent1", "EternalBlue"), ("U3", "BlueKeep")])
def test_exploits_that_can_be_chosen_but_never_work_leave_no_trace(host: str, exploit: str) -> None:
    board = scanned(host).turn(red=f"EXP {host} by {exploit}")
    assert (board.red.outcome, board.shown()) == (Outcome.SERVICE_ABSENT, {})


def test_an_exploit_without_port_memory_fails_unseen() -> None:
    board = Board().turn(red="EXP Ent0")
    assert (board.red.outcome, board.red.success) == (Outcome.NOT_SCANNED, Success.FALSE)
    assert (board.red.exploit, board.red.options, board.shown()) == (None, -1, {})


def test_an_exploit_is_chosen_before_the_route_is_tried() -> None:
    board = scanned("OpS", "HarakaSMPT").put("persistent")
    board.turn(red="EXP OpS by SSH")
    assert (board.red.outcome, board.red.success) == (Outcome.NO_ROUTE, Success.FALSE)
    assert (board.red.exploit, board.red.options, board.shown()) == ("SSHBruteForce", 2, {})


def test_a_wiped_decoy_absorbs_exploits_without_a_trace_until_the_next_scan() -> None:
    board = scanned("Ent0", "HarakaSMPT").turn("Restore Ent0")
    board.turn(red="EXP Ent0")
    assert (board.red.exploit, board.red.outcome) == ("HarakaRCE", Outcome.SERVICE_ABSENT)
    assert board.shown() == {}
    board.turn(red="DNS Ent0").turn(red="EXP Ent0")
    assert (board.red.exploit, board.red.outcome) == ("SSHBruteForce", Outcome.SUCCESS)


def test_a_decoy_placed_after_the_scan_has_no_effect_until_the_next_scan() -> None:
    board = scanned("Ent0").turn("DecoyHarakaSMPT Ent0").turn(red="EXP Ent0")
    assert (board.red.exploit, board.red.options) == ("SSHBruteForce", 1)
    board.turn(red="DNS Ent0").turn(red="EXP Ent0")
    assert (board.red.exploit, board.red.outcome) == ("HarakaRCE", Outcome.HIT_DECOY)


def test_a_decoy_put_back_on_a_remembered_port_is_hit_at_once() -> None:
    board = scanned("Ent0", "HarakaSMPT").turn("Restore Ent0")
    board.turn("DecoyHarakaSMPT Ent0", "EXP Ent0")
    assert board.red.outcome is Outcome.HIT_DECOY


def test_another_exploit_of_a_held_host_adds_a_session() -> None:
    board = scanned("Ent1").turn(red="EXP Ent1 by HTTPS").turn(red="EXP Ent1 by SSH")
    assert board.sessions("Ent1") == {"removable", "persistent"}
    assert board.turn("Remove Ent1").access("Ent1") is Access.USER


# --- exploit: Haraka under the competition rules


@pytest.mark.parametrize("host", ["U3", "U4"])
@pytest.mark.parametrize(("rules", "breaks"), [("main", False), ("competition", True)])
def test_haraka_fails_after_a_restore_under_competition_rules(
    host: str, rules: str, breaks: bool
) -> None:
    board = scanned(host, rules=rules).turn(red=f"EXP {host} by Haraka")
    assert board.red.success is Success.TRUE
    board.turn(f"Restore {host}").turn(red=f"EXP {host} by Haraka")
    assert board.red.outcome is (Outcome.BROKEN_SERVICE if breaks else Outcome.SUCCESS)
    assert board.access(host) is (Access.NONE if breaks else Access.PRIVILEGED)
    assert board.hosts("malware") == (set() if breaks else {host})
    assert board.bits(host) == ("1000" if breaks else "1101")


@pytest.mark.parametrize(("rules", "success"), [("main", True), ("competition", False)])
def test_haraka_fails_in_the_very_step_of_the_restore_under_competition_rules(
    rules: str, success: bool
) -> None:
    board = scanned("U4", rules=rules).turn("Restore U4", "EXP U4 by Haraka")
    assert (board.red.success is Success.TRUE) == success


def test_under_competition_rules_only_haraka_on_the_restored_host_breaks() -> None:
    board = scanned("U4", rules="competition").turn("Restore U4", "DNS U3")
    assert board.turn(red="EXP U3 by Haraka").red.success is Success.TRUE
    for exploit in ("SQL", "HTTPS", "HTTP", "SSH"):
        assert board.turn(red=f"EXP U4 by {exploit}").red.success is Success.TRUE


def test_under_competition_rules_a_haraka_decoy_still_traps_after_a_restore() -> None:
    board = Board(rules="competition").turn("Restore Ent0").turn("DecoyHarakaSMPT Ent0", "DNS Ent0")
    board.turn(red="EXP Ent0 by Haraka")
    assert (board.red.outcome, board.bits("Ent0")) == (Outcome.HIT_DECOY, "1000")


# --- escalation


@pytest.mark.parametrize("kind", ["removable", "persistent"])
def test_escalation_turns_a_user_session_into_a_privileged_one_and_leaves_a_file(
    kind: str,
) -> None:
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


def test_escalation_on_a_privileged_host_succeeds_and_leaves_no_file() -> None:
    board = Board().put("privileged", "U0", "U4").turn(red="PE U4")
    assert (board.red.outcome, board.red.success) == (Outcome.ALREADY_PRIVILEGED, Success.TRUE)
    assert board.hosts("malware") == set()


def test_escalation_without_a_session_fails_and_reveals_nothing() -> None:
    board = Board().turn(red="PE Ent2")
    assert (board.red.outcome, board.red.success) == (Outcome.NO_SESSION, Success.FALSE)
    assert (board.hosts("addresses_known"), board.access("Ent2")) == ({"U0"}, Access.NONE)
    assert int(board.state["subnets_known"]) == 1 << Subnet.USER


@pytest.mark.parametrize("kind", ["persistent", "privileged"])
@pytest.mark.parametrize(
    ("host", "subnet", "linked"),
    [
        ("Ent0", Subnet.ENTERPRISE, "Ent0"),
        ("Ent1", Subnet.ENTERPRISE, "Ent1"),
        ("Ent2", Subnet.ENTERPRISE, "OpS"),
        ("OpH0", Subnet.OPERATIONAL, "OpH0"),
        ("OpH1", Subnet.OPERATIONAL, "OpH1"),
        ("OpH2", Subnet.OPERATIONAL, "OpH2"),
        ("OpS", Subnet.OPERATIONAL, "OpS"),
        ("U0", Subnet.USER, "U0"),
        ("U1", Subnet.USER, "Ent1"),
        ("U2", Subnet.USER, "Ent1"),
        ("U3", Subnet.USER, "Ent0"),
        ("U4", Subnet.USER, "Ent0"),
    ],
)
def test_what_an_escalation_reveals(host: str, subnet: Subnet, linked: str, kind: str) -> None:
    board = Board().put("addresses_known", "U0", host)  # the exploit before it told the address
    board.put(kind, "U0", host).turn(red=f"PE {host}")
    assert int(board.state["subnets_known"]) == 1 << Subnet.USER | 1 << subnet
    assert board.hosts("addresses_known") == {"U0", host, linked}
    assert board.hosts("names_known") == {"U0"}
    assert bool(board.state["ot_known"]) == (host == "OpS")


# --- impact


def test_impact_persistence_and_immunity() -> None:
    board = Board().put("persistent", "Ent0", "OpS").believe("OpS", 0b10).remember("OpS", 22)
    true, false, unknown = Success.TRUE, Success.FALSE, Success.UNKNOWN
    expected = [
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
    got = []
    for blue, red, *_ in expected:
        board.turn(blue, red)
        got.append(
            (blue, red, board.red.success, board.reward, board.bits("OpS"), board.ot_running)
        )
    assert got == expected


def test_a_restore_before_red_arrives_makes_the_ot_service_immune() -> None:
    board = Board().turn("Restore OpS").put("privileged", "U0", "OpS").arrange(ot_known=True)
    board.turn(red="IMP OpS")
    assert (board.red.success, board.ot_running, board.reward) == (Success.TRUE, True, -1.0)


def test_impact_needs_no_privilege_once_the_service_is_known() -> None:
    board = Board().put("persistent", "OpS").arrange(ot_known=True).turn(red="IMP OpS")
    assert (board.red.success, board.ot_running, board.reward) == (Success.TRUE, False, -10.0)


@pytest.mark.parametrize(
    ("session", "known", "outcome"),
    [
        (False, True, Outcome.NO_SESSION),
        (False, False, Outcome.NO_SESSION),
        (True, False, Outcome.OT_UNKNOWN),
    ],
)
def test_impact_fails_without_a_session_or_the_services_name(
    session: bool, known: bool, outcome: Outcome
) -> None:
    board = Board().put("persistent", *(["OpS"] if session else [])).arrange(ot_known=known)
    board.turn(red="IMP OpS")
    assert (board.red.outcome, board.red.success) == (outcome, Success.FALSE)
    assert board.ot_running


def test_the_known_ot_service_is_never_forgotten() -> None:
    board = Board().put("persistent", "Ent0", "OpS").turn(red="PE OpS").turn("Restore OpS")
    assert bool(board.state["ot_known"])


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
