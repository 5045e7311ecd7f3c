"""Zones that let some ports pass, and what each image listens on."""

import pytest

from tests.sim import tiny
from tests.sim.board import EXPLOITS, Board
from tests.sim.tiny import host
from workflow_rl.scenario.images import DECOY_NAMES, IMAGES, PORTS, port_set
from workflow_rl.scenario.network import Network, Reach, Roles, Zone
from workflow_rl.sim.state import Outcome, Success


def behind(image: str, *ports: int) -> Network:
    """A host behind a zone that lets these ports pass."""
    return tiny.network(
        *(host("start"), host("far", image)),
        Zone("home", ("start",)),
        Zone("away", ("far",), ports=ports),
        roles=Roles(green=("far",)),
    )


def seen_by_red(board: Board) -> int:
    return int(board.state["ports"][board.index("far")])


@pytest.mark.parametrize(
    ("image", "ports", "exploits"),
    [
        ("linux_user_host2", (80, 3390), "SQL HTTP"),  # the web server of 443 is not seen
        ("linux_user_host2", (443, 25), "Haraka HTTPS"),
        ("linux_user_host2", (3390,), ""),  # which needs a web server beside it
        ("windows_user_host2", (135, 139), "EternalBlue"),
        ("Internal", (3389, 22, 21), "BlueKeep SSH"),
    ],
)
def test_a_scan_sees_the_ports_that_pass_and_red_exploits_no_other(
    image: str, ports: tuple[int, ...], exploits: str
) -> None:
    board = Board(network=behind(image, *ports)).turn(red="DNS far")
    own = {service.port for service in IMAGES[image].services}
    assert seen_by_red(board) == port_set(own & set(ports))
    board.turn(red="EXP far")
    options = exploits.split()
    assert board.red.options == len(options)
    assert board.red.outcome is (Outcome.SUCCESS if options else Outcome.NO_OPTION)
    for exploit in options:
        assert board.turn(red=f"EXP far by {exploit}").did == f"EXP far by {exploit}"


def test_a_port_list_does_not_hinder_a_sweep() -> None:
    board = Board(network=behind("Gateway", 53)).turn(red="DRS away")
    assert (board.red.success, board.has("addresses_known", "far")) == (Success.TRUE, True)


def test_a_scan_that_sees_no_port_succeeds_changes_nothing_and_is_not_seen() -> None:
    board = Board(network=behind("Gateway", 53)).remember("far", 22)
    board.turn(red="DNS far")
    assert (board.red.success, board.red.outcome) == (Success.TRUE, Outcome.NO_ROUTE)
    assert (seen_by_red(board), board.shown()) == (port_set([22]), {})
    assert not Board(network=behind("Gateway")).turn(red="DNS far").hosts("ports_known")


def test_a_decoy_is_seen_where_its_port_passes() -> None:
    for decoy, port in ("DecoyApache", 80), ("DecoyTomcat", 443):
        board = Board(network=behind("Gateway", 22, 443)).turn(f"{decoy} far", "DNS far")
        assert seen_by_red(board) == port_set({22, 443} & {22, port})


def test_green_sees_every_port_wherever_it_scans() -> None:
    board = Board(network=behind("Gateway", 53), green_agent="active").turn(green="far")
    assert board.shown() == {"far": "1000"}


@pytest.mark.parametrize(
    ("image", "ports", "bits"),
    [  # a scan in the step in which a decoy is placed that it does not see
        ("Kali_Box", (68,), "1101"),  # two processes listen there: two connections to one port
        ("Velociraptor_Server", (53,), "1101"),
        ("Velociraptor_Server", (68,), "0000"),  # one connection, which the placement hides
        ("Gateway", (22,), "0000"),
        ("Kali_Box", (22, 68), "0000"),  # two ports
        ("Kali_Box", (22, 68, 55553), "1000"),  # three
    ],
)
def test_a_scan_makes_a_connection_for_each_process_that_listens(
    image: str, ports: tuple[int, ...], bits: str
) -> None:
    board = Board(network=behind(image, *ports)).turn("DecoyTomcat far", "DNS far")
    assert (board.blue_success, board.bits("far")) == (Success.TRUE, bits)
    assert Board(network=behind(image, *ports)).turn(red="DNS far").bits("far") == "1000"


# --- images: what Red gets on a fresh host, and the decoys that Blue can place there

SSH = {"SSH": "persistent"}
WEB = {"HTTPS": "removable", "HTTP": "removable"}
GAINED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("Gateway", "linux_decoy_host", "OP_Server"), SSH),
    "linux_user_host1": WEB | {"Haraka": "privileged"},
    "linux_user_host2": WEB | SSH | {"Haraka": "privileged", "SQL": "privileged"},
    "Velociraptor_Server": {},
    "Kali_Box": {},
    "Internal": WEB | SSH | {"BlueKeep": "privileged"},
    "windows_user_host1": SSH | {"FTP": "privileged"},
    "windows_user_host2": {"EternalBlue": "privileged", "BlueKeep": "removable"},
}
IN_VAIN = {  # exploits that can be chosen and never work
    "linux_user_host1": "BlueKeep",
    "Velociraptor_Server": "SSH",
    "Kali_Box": "SSH",
    "Internal": "EternalBlue",
}
LINUX_SERVER = "Apache HarakaSMPT Tomcat Vsftpd"
DECOYS = {
    **dict.fromkeys(("Gateway", "linux_decoy_host", "OP_Server"), LINUX_SERVER),
    **dict.fromkeys(("Velociraptor_Server", "Kali_Box"), LINUX_SERVER),
    "linux_user_host1": "SSHD Vsftpd",
    "linux_user_host2": "Vsftpd",
    "Internal": "Femitter",
    "windows_user_host1": "Apache Smss Svchost Tomcat",
    "windows_user_host2": "Apache Femitter SSHD Tomcat",
}


@pytest.mark.parametrize("image", IMAGES)
def test_what_red_can_do_on_each_image(image: str) -> None:
    network = tiny.network(host("start"), host("far", image))
    options = set(GAINED[image]) | set(IN_VAIN.get(image, "").split())
    for exploit in options:
        board = Board(network=network).turn(red="DNS far").turn(red=f"EXP far by {exploit}")
        assert (board.did, board.red.options) == (f"EXP far by {exploit}", len(options))
        gained = {GAINED[image][exploit]} if exploit in GAINED[image] else set()
        assert board.sessions("far") == gained
        assert board.has("malware", "far") == (bool(gained) and exploit != "SSH")
    assert set(GAINED[image]) <= set(EXPLOITS)


@pytest.mark.parametrize("image", IMAGES)
def test_which_decoys_each_image_takes_once_and_again(image: str) -> None:
    network = tiny.network(host("start"), host("far", image))
    taken, again = set(), set()
    for decoy in DECOY_NAMES:
        board = Board(network=network).turn(f"{decoy} far")
        taken |= {decoy} if board.blue_success is Success.TRUE else set()
        again |= {decoy} if board.turn(f"{decoy} far").blue_success is Success.TRUE else set()
    assert taken == {f"Decoy{name}" for name in DECOYS[image].split()}
    assert again == taken & {"DecoyVsftpd"}


def test_nothing_works_on_a_host_without_an_account_and_the_attempt_is_seen() -> None:
    network = tiny.network(host("start"), host("far", "Kali_Box"))
    board = Board(network=network).remember("far", *PORTS)
    for exploit in EXPLOITS:
        board.turn(red=f"EXP far by {exploit}")
        assert (board.red.success, board.sessions("far")) == (Success.FALSE, set())
        assert board.bits("far")[:2] == ("11" if exploit == "SSH" else "00")


def test_a_gated_zone_is_attacked_by_what_red_remembers_and_a_closed_port_is_not() -> None:
    network = tiny.network(
        *(host("start"), host("far")),
        Zone("home", ("start",)),
        Zone("away", ("far",), Reach.GATED),
    )
    board = Board(network=network).remember("far", 22).turn(red="EXP far")
    assert (board.red.outcome, board.red.exploit) == (Outcome.NO_ROUTE, "SSHBruteForce")
