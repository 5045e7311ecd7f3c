from typing import Any

import pytest

from tests.sim.board import HOSTS, Board
from workflow_rl.scenario.tables import DECOY_NAMES, PORTS
from workflow_rl.sim.blue import decoys_changed
from workflow_rl.sim.state import Access, Mark, Success

# What is accepted on a fresh host: once, and again and again.
ONCE = {
    "Def": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "Ent0": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "Ent1": {"DecoyFemitter"},
    "Ent2": {"DecoyFemitter"},
    "OpH0": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "OpH1": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "OpH2": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "OpS": {"DecoyApache", "DecoyHarakaSMPT", "DecoyTomcat"},
    "U0": {"DecoyApache", "DecoySmss", "DecoySvchost", "DecoyTomcat"},
    "U1": {"DecoyApache", "DecoySmss", "DecoySvchost", "DecoyTomcat"},
    "U2": {"DecoyApache", "DecoyFemitter", "DecoySSHD", "DecoyTomcat"},
    "U3": {"DecoySSHD"},
    "U4": set(),
}
REPEATEDLY = {
    host: {"DecoyVsftpd"} if host in {"Def", "Ent0", "OpS", "U3", "U4"} or "OpH" in host else set()
    for host in HOSTS
}
# What a placed decoy changes besides Blue's own record of the action.
BLUE_RECORD = {"blue_action", "blue_success", "decoy_placed", "malware_found", "action_cost"}


def truth(board: Board) -> dict[str, Any]:
    """The state apart from what Blue's own action notes of itself, and Blue's marks."""
    hidden = BLUE_RECORD | {"step", "table"}
    return {name: value for name, value in board.record().items() if name not in hidden}


def held(*kinds: str, host: str) -> Board:
    """A board on which Red holds the host by the given kinds of session."""
    board = Board()
    for kind in kinds:
        board.put(kind, *(board.hosts(kind) | {host}))
    return board


# --- Sleep and Monitor


def test_monitor_differs_from_sleep_only_in_its_reported_success() -> None:
    sleeper, watcher = (Board().turn(red="DNS Ent1").turn(red="EXP Ent1 by HTTPS") for _ in "ab")
    sleeper.turn("Sleep", "PE Ent1")
    watcher.turn("Monitor", "PE Ent1")
    assert watcher.changed_since(sleeper.record()) == {"blue_action", "blue_success"}
    assert (sleeper.blue_success, watcher.blue_success) == (Success.UNKNOWN, Success.TRUE)
    assert (sleeper.reward, watcher.reward) == (-1.0, -1.0)


# --- Analyse


@pytest.mark.parametrize("malware", [True, False])
def test_analyse_changes_nothing_but_the_mark_of_a_host_with_malware(malware: bool) -> None:
    board = Board().put("malware", *(["U4"] if malware else []))
    before = truth(board)
    board.turn("Analyse U4")
    assert truth(board) == before
    assert board.shown() == ({"U4": "0011"} if malware else {})
    assert (board.blue_success, board.reward) == (Success.TRUE, 0.0)


def test_analyse_reports_the_files_from_before_red_acts() -> None:
    board = Board().turn(red="DNS Ent1").turn("Analyse Ent1", "EXP Ent1 by HTTPS")
    assert board.bits("Ent1") == "1101"
    assert board.turn("Analyse Ent1").bits("Ent1") == "0011"


def test_analyse_of_another_host_finds_nothing() -> None:
    board = Board().put("malware", "U4").turn("Analyse U3")
    assert board.shown() == {}


def test_analyse_finds_the_file_of_an_escalation() -> None:
    board = Board().turn(red="DNS Ent0").turn(red="EXP Ent0 by SSH")
    assert board.turn("Analyse Ent0").bits("Ent0") == "0001"
    assert board.turn(red="PE Ent0").turn("Analyse Ent0").bits("Ent0") == "0011"


# --- Remove


@pytest.mark.parametrize(
    ("host", "exploit", "left"),
    [
        ("Ent0", "SSH", {"persistent"}),
        ("Ent1", "HTTPS", set()),
        ("Ent1", "HTTP", set()),
        ("Ent1", "BlueKeep", {"privileged"}),
        ("Ent1", "SSH", {"persistent"}),
        ("Ent2", "HTTPS", set()),
        ("Ent2", "HTTP", set()),
        ("Ent2", "BlueKeep", {"privileged"}),
        ("Ent2", "SSH", {"persistent"}),
        ("U1", "FTP", {"privileged"}),
        ("U1", "SSH", {"persistent"}),
        ("U2", "EternalBlue", {"privileged"}),
        ("U2", "BlueKeep", set()),
        ("U3", "Haraka", {"privileged"}),
        ("U3", "HTTPS", set()),
        ("U3", "HTTP", set()),
        ("U4", "Haraka", {"privileged"}),
        ("U4", "SQL", {"privileged"}),
        ("U4", "HTTPS", set()),
        ("U4", "HTTP", set()),
        ("U4", "SSH", {"persistent"}),
    ],
)
def test_remove_kills_only_detected_user_level_shells(
    host: str, exploit: str, left: set[str]
) -> None:
    board = Board().turn(red=f"DNS {host}").turn(red=f"EXP {host} by {exploit}")
    board.turn(f"Remove {host}")
    assert board.sessions(host) == left
    assert (board.blue_success, board.bits(host)) == (Success.TRUE, "0010")


def test_remove_comes_any_number_of_steps_later() -> None:
    board = Board().turn(red="DNS U4").turn(red="EXP U4 by HTTP")
    for _ in range(20):
        board.turn()
    assert board.access("U4") is Access.USER
    assert board.turn("Remove U4").access("U4") is Access.NONE


def test_remove_leaves_files_decoys_the_service_and_reds_memory() -> None:
    board = held("removable", "malware", host="OpS").put("restored", "U1")
    board.turn("DecoyApache OpS").remember("OpS", 22, 80).arrange(ot_running=False, ot_known=True)
    before = truth(board)
    board.turn("Remove OpS")
    after = truth(board)
    assert {name for name in before if before[name] != after[name]} == {
        "removable",
        "availability",  # of the step: the service was already down
    }
    assert (board.ot_running, board.hosts("malware")) == (False, {"OpS"})


def test_remove_works_on_that_host_only() -> None:
    board = Board().put("removable", "Ent1", "Ent2").turn("Remove Ent1")
    assert board.hosts("removable") == {"Ent2"}


def test_remove_cannot_touch_reds_first_session() -> None:
    board = Board().turn("Remove U0")
    assert (board.access("U0"), board.blue_success) == (Access.PRIVILEGED, Success.TRUE)


def test_remove_on_a_clean_host_reports_success_and_marks_only_a_marked_host() -> None:
    board = Board().turn("Remove U3")
    assert (board.blue_success, board.shown(), board.reward) == (Success.TRUE, {}, 0.0)
    board.marked("U3", Mark.PRIVILEGED).turn("Remove U3")
    assert board.shown() == {"U3": "0010"}


def test_user_shell_on_enterprise1_analysed_and_removed() -> None:
    board = Board()
    expected = [
        ("Sleep", "DNS Ent1", 0.0, "1000", set()),
        ("Sleep", "EXP Ent1 by HTTPS", 0.0, "1101", {"removable"}),
        ("Analyse Ent1", "", 0.0, "0011", {"removable"}),
        ("Remove Ent1", "", 0.0, "0010", set()),
        ("Analyse Ent1", "", 0.0, "0011", set()),  # the file is left behind
        ("Sleep", "EXP Ent1 by SSH", 0.0, "1101", {"persistent"}),
        ("Remove Ent1", "", 0.0, "0010", {"persistent"}),
        ("Sleep", "PE Ent1", -1.0, "0010", {"persistent", "privileged"}),
        ("Remove Ent1", "", -1.0, "0010", {"persistent", "privileged"}),
        ("Restore Ent1", "EXP Ent1 by BlueKeep", -2.0, "1101", {"privileged"}),
        ("Sleep", "EXP Ent1 by EternalBlue", -1.0, "0001", {"privileged"}),
    ]
    got = []
    for blue, red, *_ in expected:
        board.turn(blue, red)
        got.append((blue, red, board.reward, board.bits("Ent1"), board.sessions("Ent1")))
    assert got == expected


def test_an_undetected_shell_looks_like_a_scan_and_survives_remove() -> None:
    board = Board().turn(red="DNS Ent1")
    expected = [
        ("Sleep", "EXP Ent1 by HTTPS", False, "1000", {"persistent"}),
        ("Analyse Ent1", "", True, "0011", {"persistent"}),
        ("Remove Ent1", "", True, "0010", {"persistent"}),
        ("DecoyFemitter Ent1", "EXP Ent1 by HTTPS", True, "1101", {"persistent", "removable"}),
        ("Remove Ent1", "", True, "0010", {"persistent"}),
    ]
    got = []
    for blue, red, detected, *_ in expected:
        board.turn(blue, red, detected=detected)
        got.append((blue, red, detected, board.bits("Ent1"), board.sessions("Ent1")))
    assert got == expected


def test_an_ssh_foothold_on_user1_leaves_no_file_and_falls_to_restore_alone() -> None:
    board = Board()
    expected = [
        ("Sleep", "DNS U1", 0.0, "1000", Access.NONE),
        ("Sleep", "EXP U1 by SSH", 0.0, "1101", Access.USER),
        ("Remove U1", "", 0.0, "0010", Access.USER),
        ("Analyse U1", "", 0.0, "0010", Access.USER),
        ("Restore U1", "", -1.0, "0000", Access.NONE),
    ]
    got = []
    for blue, red, *_ in expected:
        board.turn(blue, red)
        got.append((blue, red, board.reward, board.bits("U1"), board.access("U1")))
    assert got == expected


# --- Restore


@pytest.mark.parametrize("host", HOSTS)
def test_restore_clears_sessions_files_and_mark_on_that_host_only(host: str) -> None:
    board = Board()
    kinds = ("privileged", "removable", "persistent", "malware")
    for kind in kinds:
        board.put(kind, *HOSTS)
    for name in HOSTS:
        board.marked(name, Mark.PRIVILEGED)
    board.turn(f"Restore {host}")
    others = set(HOSTS) - {host}
    assert [board.hosts(kind) for kind in kinds] == [others | {"U0"}, others, others, others]
    assert board.shown() == dict.fromkeys(others, "0011")
    assert board.hosts("restored") == {host}


def test_restore_clears_decoys_on_that_host_only() -> None:
    board = Board().turn("DecoyApache Ent0").turn("DecoyTomcat Ent0").turn("DecoyFemitter Ent2")
    before = board.state["decoys"].tolist()
    board.turn("Restore Ent0")
    assert board.state["decoys"].tolist() == [0, 0, *before[2:]]
    assert before[3] != 0


def test_restore_costs_one_on_a_clean_host_too() -> None:
    board = Board().turn("Restore Def")
    assert (board.reward, board.blue_success) == (-1.0, Success.TRUE)
    assert board.turn("Sleep").reward == 0.0


def test_restore_of_user0_keeps_reds_first_session_and_clears_the_rest() -> None:
    board = Board().turn(red="DNS U0").turn(red="EXP U0 by FTP").turn(red="EXP U0 by SSH")
    board.turn("DecoyApache U0").turn("Restore U0")
    assert board.sessions("U0") == {"privileged"}
    assert (board.hosts("malware"), board.bits("U0"), board.reward) == (set(), "0000", -1.0)
    assert board.state["decoys"].tolist() == [0] * 13


def test_restore_leaves_what_red_knows() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0", "DNS Ent0").turn(red="EXP Ent0 by SSH")
    knowledge = ("subnets_known", "addresses_known", "names_known", "ports_known", "ports")
    before = board.record()
    board.turn("Restore Ent0")
    assert {name: board.record()[name] for name in knowledge} == {
        name: before[name] for name in knowledge
    }


def test_restore_brings_the_ot_service_back() -> None:
    board = Board().arrange(ot_running=False)
    assert board.turn().reward == -10.0
    assert board.turn("Restore OpS").reward == -1.0
    assert board.turn().reward == 0.0


def test_restore_of_another_host_leaves_the_ot_service_down() -> None:
    assert Board().arrange(ot_running=False).turn("Restore OpH0").reward == -11.0


# --- decoys


@pytest.mark.parametrize("decoy", DECOY_NAMES)
@pytest.mark.parametrize("host", HOSTS)
def test_which_decoys_a_fresh_host_accepts_and_accepts_again(host: str, decoy: str) -> None:
    accepted = decoy in ONCE[host] | REPEATEDLY[host]
    board = Board()
    offered = board.batch.out.action_mask[0].tolist()
    got = [board.turn(f"{decoy} {host}").blue_success for _ in range(3)]
    again = Success.TRUE if decoy in REPEATEDLY[host] else Success.FALSE
    assert got == [Success.TRUE if accepted else Success.FALSE, again, again]
    assert offered[int(board.state["blue_action"])] is accepted
    assert (board.reward, board.shown()) == (0.0, {})


@pytest.mark.parametrize(
    ("host", "decoy"), [("Ent1", "DecoyApache"), ("Ent0", "DecoyFemitter"), ("U4", "DecoySSHD")]
)
def test_a_refused_decoy_changes_nothing(host: str, decoy: str) -> None:
    board = Board()
    before = truth(board)
    board.turn(f"{decoy} {host}")
    assert truth(board) == before
    assert int(board.state["decoy_placed"]) == -1


@pytest.mark.parametrize(
    ("placed", "then", "accepted"),
    [
        ("DecoyVsftpd", "DecoyApache", False),  # port 80 is taken
        ("DecoyApache", "DecoyVsftpd", True),  # it looks at port 21
        ("DecoyApache", "DecoyTomcat", True),
    ],
)
def test_decoys_on_one_host_share_its_ports(placed: str, then: str, accepted: bool) -> None:
    board = Board().turn(f"{placed} Ent0").turn(f"{then} Ent0")
    assert (board.blue_success is Success.TRUE) == accepted


def test_a_decoy_can_be_placed_again_after_a_restore() -> None:
    board = Board().turn("DecoyFemitter Ent1").turn("Restore Ent1").turn("DecoyFemitter Ent1")
    assert board.blue_success is Success.TRUE


@pytest.mark.parametrize(
    ("host", "decoy", "exploit"),
    [
        ("Ent0", "DecoyApache", "HTTP"),
        ("Ent0", "DecoyVsftpd", "HTTP"),
        ("Ent0", "DecoyTomcat", "HTTPS"),
        ("Ent0", "DecoyHarakaSMPT", "Haraka"),
        ("Def", "DecoyHarakaSMPT", "Haraka"),
        ("OpS", "DecoyVsftpd", "HTTP"),
        ("Ent1", "DecoyFemitter", "FTP"),
        ("U0", "DecoySmss", "EternalBlue"),
        ("U1", "DecoySmss", "EternalBlue"),
        ("U1", "DecoySvchost", "BlueKeep"),
        ("U2", "DecoySSHD", "SSH"),
        ("U3", "DecoySSHD", "SSH"),
    ],
)
def test_a_decoy_stops_its_exploit_every_time(host: str, decoy: str, exploit: str) -> None:
    board = Board().put("persistent", "Ent2").turn(f"{decoy} {host}").remember(host, *PORTS)
    before = board.access(host)
    for _ in range(3):
        board.turn(red=f"EXP {host} by {exploit}")
        assert board.red.success is Success.FALSE
        assert DECOY_NAMES[board.state["red_decoy_hit"]] == decoy
    assert (board.access(host), board.hosts("malware")) == (before, set())


def test_an_apache_is_hit_before_a_vsftpd_beside_it() -> None:
    board = Board().turn("DecoyApache Ent0").turn("DecoyVsftpd Ent0", "DNS Ent0")
    board.turn(red="EXP Ent0 by HTTP")
    assert DECOY_NAMES[board.state["red_decoy_hit"]] == "DecoyApache"


@pytest.mark.parametrize("host", ["U3", "U4"])
def test_vsftpd_is_useless_where_a_real_web_server_holds_port_80(host: str) -> None:
    board = Board().turn(f"DecoyVsftpd {host}").turn(red=f"DNS {host}")
    board.turn(red=f"EXP {host} by HTTP")
    assert (board.red.success, board.sessions(host)) == (Success.TRUE, {"removable"})


def test_decoys_do_not_disturb_sessions_and_escalation() -> None:
    board = Board().turn(red="DNS Ent0").turn(red="EXP Ent0 by SSH")
    board.turn("DecoyHarakaSMPT Ent0", "PE Ent0")
    assert (board.red.success, board.access("Ent0")) == (Success.TRUE, Access.PRIVILEGED)


def test_the_decoys_of_a_host_change_when_one_is_placed_and_when_it_is_restored() -> None:
    board = Board()
    expected = {
        "DecoyApache Ent0": True,
        "DecoyTomcat Ent0": True,
        "DecoyFemitter Ent0": False,  # refused: not a Windows host
        "Analyse Ent0": False,
        "Remove Ent0": False,
        "Restore Ent0": True,
        "Monitor": False,
        "Sleep": False,
    }
    assert {blue: decoys_changed(board.turn(blue).state) for blue in expected} == expected
