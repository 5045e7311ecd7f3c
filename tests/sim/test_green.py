import pytest

from tests.sim import tiny
from tests.sim.board import Board
from tests.sim.tiny import host
from workflow_rl.scenario.network import Blue, Reach, Roles, Zone
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.green import green_acts

SCANNED = ("Ent0", "Ent1", "Ent2", "U0", "U1", "U2", "U3", "U4")


def active() -> Board:
    return Board(green_agent="active")


def test_green_sleeps_by_default() -> None:
    assert Board().turn(green="U3").shown() == {}


def test_active_green_sleeps_in_half_of_the_words_and_scans_each_of_eight_hosts_in_a_16th() -> None:
    def scanned(draw: int) -> set[str]:
        board = active()
        green_acts(board.state, board.net, True, draw)
        return board.hosts("event_hosts")

    half, share = WORDS // 2, WORDS // 16
    assert scanned(0) == scanned(half - 1) == set()
    for number, name in enumerate(SCANNED):
        begin = half + number * share
        assert scanned(begin) == scanned(begin + share - 1) == {name}
    assert active().turn(green="Def").shown() == {"Def": "1000"}  # a recorded one is followed


@pytest.mark.parametrize("host", SCANNED)
def test_a_green_scan_is_shown_like_a_red_one_and_teaches_red_nothing(host: str) -> None:
    green, red = active().turn(green=host), active().turn(red=f"DNS {host}")
    assert green.shown() == red.shown() == {host: "1000"}
    assert (green.hosts("ports_known"), red.hosts("ports_known")) == (set(), {host})
    assert not green.state["ports"].any()


@pytest.mark.parametrize(
    ("before", "host", "bits"),
    [
        ("Sleep", "Ent0", "0000"),  # 22 and 80: hidden by the placement
        ("DecoyTomcat Ent0", "Ent0", "1000"),  # three ports
        ("Sleep", "U1", "1000"),
    ],
)
def test_decoys_hide_a_green_scan_as_a_red_one(before: str, host: str, bits: str) -> None:
    assert active().turn(before).turn(f"DecoyApache {host}", green=host).bits(host) == bits


@pytest.mark.parametrize(
    ("host", "exploit", "bits", "kind"),
    [
        ("Ent1", "HTTPS", "1000", "removable"),  # seven ports: shown as a scan
        ("U1", "FTP", "1000", "privileged"),  # 22, 21 and the shell's own port
        ("U1", "SSH", "1000", "persistent"),  # two ports, no call home
        ("U4", "SSH", "1000", "persistent"),
        ("Ent0", "SSH", "1101", "persistent"),  # one port
    ],
)
def test_a_green_scan_hides_a_red_exploit_of_a_host_with_several_ports(
    host: str, exploit: str, bits: str, kind: str
) -> None:
    board = active().turn(red=f"DNS {host}").turn(red=f"EXP {host} by {exploit}", green=host)
    assert (board.bits(host), board.sessions(host)) == (bits, {kind})
    assert board.turn(f"Remove {host}").sessions(host) == {kind} - {"removable"}


@pytest.mark.parametrize(
    ("blue", "red", "green", "shown"),
    [
        ("Sleep", "DNS Ent0", "Ent0", {"Ent0": "1000"}),  # two scans are one
        ("Sleep", "EXP Ent1 by HTTPS", "U2", {"Ent1": "1101", "U2": "1000"}),
        ("DecoyHarakaSMPT Ent0", "EXP Ent0 by Haraka", "Ent0", {"Ent0": "1000"}),
    ],
)
def test_what_is_shown_of_green_and_red_in_one_step(
    blue: str, red: str, green: str, shown: dict[str, str]
) -> None:
    board = active().turn(blue).turn(red=f"DNS {red.split()[1]}").turn(red=red, green=green)
    assert board.shown() == shown


def scanned_by(draw: int, *green: str | None) -> set[str]:
    """The hosts that Green's draw scans on a network with this list."""
    parts = (host("start"), host("left"), host("right"), host("third"))
    board = Board(network=tiny.network(*parts, roles=Roles(green=green)), green_agent="active")
    green_acts(board.state, board.net, True, draw)
    return board.hosts("event_hosts")


def test_green_scans_its_list_in_the_other_half_and_absent_names_are_nobody() -> None:
    names = ("right", None, "left", None, None)
    half, share = WORDS // 2, WORDS / 10
    assert scanned_by(half - 1, *names) == set()
    for number, name in enumerate(names):
        begin, end = half + number * share, half + (number + 1) * share
        expected = {name} - {None}
        assert scanned_by(int(begin) + 1, *names) == scanned_by(int(end) - 1, *names) == expected
    assert scanned_by(WORDS - 1) == set()  # a list of nobody


def test_green_scans_hosts_that_nobody_reaches_and_blue_sees_those_it_watches() -> None:
    network = tiny.network(
        *(host("start"), host("far"), host("dark", blue=Blue.UNWATCHED)),
        *(Zone("home", ("start",)), Zone("away", ("far", "dark"), Reach.CLOSED, ports=())),
        roles=Roles(green=("far", "dark")),
    )
    board = Board(network=network, green_agent="active")
    assert board.turn(green="far").shown() == {"far": "1000"}
    assert board.turn(green="dark").shown() == {}
