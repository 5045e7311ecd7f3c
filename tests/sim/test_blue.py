from typing import Any

import pytest

from tests.sim.board import GAINED, HOSTS, Board
from workflow_rl.scenario.images import DECOY_NAMES, PORTS
from workflow_rl.sim.blue import decoys_changed
from workflow_rl.sim.state import Access, Mark, Success

LINUX_SERVERS = ("Def", "Ent0", "OpH0", "OpH1", "OpH2", "OpS")
ONCE = {  # what a fresh host accepts once; a Vsftpd it accepts again and again, or never
    **dict.fromkeys(LINUX_SERVERS, "DecoyApache DecoyHarakaSMPT DecoyTomcat"),
    **dict.fromkeys(("Ent1", "Ent2"), "DecoyFemitter"),
    **dict.fromkeys(("U0", "U1"), "DecoyApache DecoySmss DecoySvchost DecoyTomcat"),
    "U2": "DecoyApache DecoyFemitter DecoySSHD DecoyTomcat",
    "U3": "DecoySSHD",
    "U4": "",
}


def truth(board: Board) -> dict[str, Any]:
    """The state apart from what Blue's own action notes of itself, and Blue's marks."""
    own = {"blue_action", "blue_success", "decoy_placed", "malware_found", "action_cost"}
    return {
        name: value for name, value in board.record().items() if name not in own | {"step", "table"}
    }


def test_monitor_differs_from_sleep_only_in_its_reported_success() -> None:
    sleeper, watcher = (Board().put("removable", "Ent1") for _ in "ab")
    sleeper.turn("Sleep", "PE Ent1")
    watcher.turn("Monitor", "PE Ent1")
    assert watcher.changed_since(sleeper.record()) == {"blue_action", "blue_success"}
    assert (sleeper.blue_success, watcher.blue_success) == (Success.UNKNOWN, Success.TRUE)
    assert (sleeper.reward, watcher.reward) == (-1.0, -1.0)


@pytest.mark.parametrize("infected", ["U4", "U3"])
def test_analyse_changes_nothing_but_the_mark_of_a_host_with_malware(infected: str) -> None:
    board = Board().put("malware", infected)
    before = truth(board)
    board.turn("Analyse U4")
    assert truth(board) == before
    assert board.shown() == ({"U4": "0011"} if infected == "U4" else {})
    assert (board.blue_success, board.reward) == (Success.TRUE, 0.0)


def test_analyse_reports_the_files_from_before_red_acts() -> None:
    board = Board().turn(red="DNS Ent1").turn("Analyse Ent1", "EXP Ent1 by HTTPS")
    assert board.bits("Ent1") == "1101"
    assert board.turn("Analyse Ent1").bits("Ent1") == "0011"


def test_analyse_finds_the_file_of_an_escalation() -> None:
    board = Board().put("persistent", "Ent0").turn("Analyse Ent0")
    assert board.bits("Ent0") == "0000"
    assert board.turn(red="PE Ent0").turn("Analyse Ent0").bits("Ent0") == "0011"


@pytest.mark.parametrize("host", HOSTS)
def test_remove_kills_only_detected_user_level_shells(host: str) -> None:
    for exploit, kind in GAINED[host].items():
        board = Board().put("persistent", "Ent1" if host != "Ent1" else "Ent2")
        before = board.sessions(host)
        board.turn(red=f"DNS {host}").turn(red=f"EXP {host} by {exploit}")
        assert board.sessions(host) == before | {kind}
        board.turn(f"Remove {host}")
        assert board.sessions(host) == before | {kind} - {"removable"}
        assert (board.blue_success, board.bits(host)) == (Success.TRUE, "0010")


def test_remove_leaves_files_decoys_the_service_and_reds_memory() -> None:
    board = Board().put("removable", "OpS", "Ent1").put("malware", "OpS").put("restored", "U1")
    board.turn("DecoyApache OpS").remember("OpS", 22, 80).put("ot_down", "OpS").arrange(
        ot_known=True
    )
    before = truth(board)
    board.turn("Remove OpS")
    after = truth(board)
    assert {name for name in before if before[name] != after[name]} == {
        "removable",
        "availability",  # of the step: the service was already down
    }
    assert board.hosts("removable") == {"Ent1"}


def test_remove_cannot_touch_reds_first_session() -> None:
    board = Board().turn("Remove U0")
    assert (board.access("U0"), board.blue_success) == (Access.PRIVILEGED, Success.TRUE)


def test_remove_on_a_clean_host_reports_success_and_marks_only_a_marked_host() -> None:
    board = Board().turn("Remove U3")
    assert (board.blue_success, board.shown(), board.reward) == (Success.TRUE, {}, 0.0)
    board.marked("U3", Mark.PRIVILEGED).turn("Remove U3")
    assert board.shown() == {"U3": "0010"}


def test_an_undetected_shell_looks_like_a_scan_and_survives_remove() -> None:
    board = Board().turn(red="DNS Ent1").turn(red="EXP Ent1 by HTTPS", detected=False)
    assert (board.bits("Ent1"), board.sessions("Ent1")) == ("1000", {"persistent"})
    story = [
        ("Analyse Ent1", "", "0011", {"persistent"}),
        ("Remove Ent1", "", "0010", {"persistent"}),
        ("DecoyFemitter Ent1", "EXP Ent1 by HTTPS", "1101", {"persistent", "removable"}),
        ("Remove Ent1", "", "0010", {"persistent"}),
    ]
    assert board.story(story, lambda b: (b.bits("Ent1"), b.sessions("Ent1"))) == story


@pytest.mark.parametrize("host", HOSTS)
def test_restore_clears_that_host_only_but_for_reds_first_session(host: str) -> None:
    board = Board().arrange(decoys=1)
    kinds = ("privileged", "removable", "persistent", "malware")
    for kind in kinds:
        board.put(kind, *HOSTS)
    for name in HOSTS:
        board.marked(name, Mark.PRIVILEGED)
    board.turn(f"Restore {host}")
    others = set(HOSTS) - {host}
    assert [board.hosts(kind) for kind in kinds] == [others | {"U0"}, others, others, others]
    assert board.shown() == dict.fromkeys(others, "0011")
    assert board.state["decoys"].tolist() == [int(name != host) for name in HOSTS] + [1] * 3
    assert (board.hosts("restored"), board.blue_success) == ({host}, Success.TRUE)


def test_restore_leaves_what_red_knows() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0", "DNS Ent0").turn(red="EXP Ent0 by SSH")
    before = board.record()
    board.turn("Restore Ent0")
    for name in ("subnets_known", "addresses_known", "names_known", "ports_known", "ports"):
        assert board.record()[name] == before[name]


def test_restore_of_op_server_brings_the_ot_service_back() -> None:
    board = Board().put("ot_down", "OpS")
    blue = ("Sleep", "Restore OpH0", "Restore OpS", "Sleep")
    assert [board.turn(action).reward for action in blue] == [-10.0, -11.0, -1.0, 0.0]


@pytest.mark.parametrize("decoy", DECOY_NAMES)
@pytest.mark.parametrize("host", HOSTS)
def test_which_decoys_a_host_accepts_when_fresh_again_and_restored(host: str, decoy: str) -> None:
    repeatedly = decoy == "DecoyVsftpd" and host in {*LINUX_SERVERS, "U3", "U4"}
    accepted = decoy in ONCE[host].split() or repeatedly
    board = Board()
    offered, before = board.batch.out.action_mask[0].tolist(), truth(board)
    got = []
    for blue in (decoy, decoy, decoy, "Restore", decoy):
        got.append(bool(board.turn(f"{blue} {host}").blue_success))
        if not accepted and len(got) < 4:
            assert (truth(board), int(board.state["decoy_placed"])) == (before, -1)
    assert got == [accepted, repeatedly, repeatedly, True, accepted]
    assert offered[int(board.state["blue_action"])] is accepted
    assert (board.reward, board.shown()) == (0.0, {})


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


@pytest.mark.parametrize(
    ("decoy", "exploit", "hosts"),
    [
        ("DecoyApache", "HTTP", "Ent0"),
        ("DecoyVsftpd", "HTTP", "Ent0 OpS"),
        ("DecoyTomcat", "HTTPS", "Ent0"),
        ("DecoyHarakaSMPT", "Haraka", "Ent0 Def"),
        ("DecoyFemitter", "FTP", "Ent1"),
        ("DecoySmss", "EternalBlue", "U0 U1"),
        ("DecoySvchost", "BlueKeep", "U1"),
        ("DecoySSHD", "SSH", "U2 U3"),
    ],
)
def test_a_decoy_stops_its_exploit_every_time(decoy: str, exploit: str, hosts: str) -> None:
    for host in hosts.split():
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
    board = Board().put("persistent", "Ent0").turn("DecoyHarakaSMPT Ent0", "PE Ent0")
    assert (board.red.success, board.access("Ent0")) == (Success.TRUE, Access.PRIVILEGED)


def test_the_decoys_of_a_host_change_when_one_is_placed_and_when_it_is_restored() -> None:
    board = Board()
    expected = {
        "DecoyApache Ent0": True,
        "DecoyTomcat Ent0": True,
        "DecoyFemitter Ent0": False,  # refused: not a Windows host
        **dict.fromkeys(("Analyse Ent0", "Remove Ent0", "Monitor", "Sleep"), False),
        "Restore Ent0": True,
    }
    assert {
        blue: decoys_changed(board.turn(blue).state, board.net) for blue in expected
    } == expected
