import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.board import HOSTS, Board, Match, host_index
from workflow_rl.scenario.images import PORTS, port_set
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.observation import SIMULATED, simulated
from workflow_rl.sim.observe import SCAN_SLOTS
from workflow_rl.sim.state import Activity, Mark, RedAgent, Success

# --- how events are shown

SHELL = 4444


def expected_activity(events: list[tuple[int, int]], placed: bool, cardiff: bool) -> Activity:
    """The rule as a list of tests over (local port, remote port) of every connection."""
    if not events:
        return Activity.NONE
    number = len(events) + placed
    local_ports = len({local for local, _ in events})
    if number >= 3 and local_ports >= 3:
        return Activity.SCAN
    if any(remote == SHELL for _, remote in events):
        return Activity.EXPLOIT
    if number >= 3 and local_ports == 1:
        return Activity.EXPLOIT
    if placed and not cardiff:
        return Activity.NONE
    return Activity.SCAN


def connect(board: Board, host: str, number: int, *ports: int) -> None:
    """Arranges a number of connections to ports of a host."""
    board.batch.state["event_count"][0, host_index(host)] = number
    board.batch.state["event_ports"][0, host_index(host)] = port_set(ports)


def test_a_shell_counts_on_the_host_it_was_opened_on() -> None:
    for connections, shown in ((1, "10"), (3, "11")):  # to one port: a scan, an exploit
        board = Board()
        for name in ("Ent0", "Ent1"):
            connect(board, name, connections, 22)
        board.put("event_hosts", "Ent0", "Ent1").put("shell_events", "Ent1").turn("Sleep")
        assert [board.bits(name)[:2] for name in ("Ent0", "Ent1")] == [shown, "11"]


@pytest.mark.parametrize("observation", ["challenge", "cardiff"])
@settings(deadline=None, max_examples=200)
@given(
    ports=st.lists(st.sampled_from(PORTS), max_size=12),
    distinct=st.integers(1, 4),
    shell=st.booleans(),
    placed=st.booleans(),
    before=st.sampled_from(Mark),
)
def test_connections_are_shown_by_their_number_and_local_ports(
    observation: str, ports: list[int], distinct: int, shell: bool, placed: bool, before: Mark
) -> None:
    ports = [port for port in ports if port in sorted(set(ports))[:distinct]]
    events = [(port, 50_000) for port in ports] + [(51_234, SHELL)] * shell
    board = Board(observation=observation).marked("Ent0", before)
    connect(board, "Ent0", len(events), *ports)
    board.put("event_hosts", *(["Ent0"] if events else []))
    board.put("shell_events", *(["Ent0"] if shell else []))
    board.turn("DecoyVsftpd Ent0" if placed else "Sleep")
    activity = expected_activity(events, placed, observation == "cardiff")
    mark = Mark.USER if activity is Activity.EXPLOIT else before
    bits = f"{activity & 1}{activity >> 1}{mark & 1}{mark >> 1}"
    assert board.shown() == ({"Ent0": bits} if bits != "0000" else {})
    assert not any(board.state[name].any() for name in ("event_count", "event_ports"))
    assert (board.hosts("event_hosts"), board.hosts("shell_events")) == (set(), set())


# Red's action on a host: the board before it, Blue's decoy, and the bits shown on the host without
# the decoy, with it placed in the same step, and the same as the cardiff observation shows it.
SITUATIONS = {
    "nothing": ("Ent0", "", "DecoyVsftpd", *["0000"] * 3),
    "sweep": ("Ent0", "DRS Enterprise", "DecoyVsftpd", *["0000"] * 3),
    "escalation": ("Ent0", "PE Ent0", "DecoyVsftpd", *["0000"] * 3),
    "scan of few ports": ("Ent0", "DNS Ent0", "DecoyVsftpd", "1000", "0000", "1000"),
    "scan of three ports": ("U1", "DNS U1", "DecoyApache", "1000", "1000", "1000"),
    "scan without a route": ("OpS", "DNS OpS", "DecoyVsftpd", "0000", "0000", "0000"),
    "exploit unprepared": ("U1", "EXP U1", "DecoyApache", "0000", "0000", "0000"),
    "exploit without a route": ("OpS", "EXP OpS by SSH", "DecoyVsftpd", "0000", "0000", "0000"),
    "exploit of nothing": ("Ent1", "EXP Ent1 by EternalBlue", "DecoyFemitter", *["0000"] * 3),
    "shell": ("Ent1", "EXP Ent1 by HTTPS", "DecoyFemitter", "1101", "1101", "1101"),
    "undetected shell": ("Ent1", "EXP Ent1 by HTTP", "DecoyFemitter", "1000", "0000", "1000"),
    "brute force": ("Ent0", "EXP Ent0 by SSH", "DecoyVsftpd", "1101", "1101", "1101"),
    "brute force in vain": ("Def", "EXP Def by SSH", "DecoyVsftpd", "1101", "1101", "1101"),
    "SSH decoy": ("U2", "EXP U2 by SSH", "DecoyFemitter", "1101", "1101", "1101"),
    "decoy": ("Ent0", "EXP Ent0 by HTTPS", "DecoyVsftpd", "1000", "1101", "1101"),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_is_shown_with_and_without_a_decoy_placed_in_the_same_step(situation: str) -> None:
    host, red, decoy, *expected = SITUATIONS[situation]
    got = []
    for blue, observation in (
        ("Sleep", "challenge"),
        (f"{decoy} {host}", "challenge"),
        (f"{decoy} {host}", "cardiff"),
    ):
        board = Board(observation=observation)
        if situation == "escalation":
            board.put("persistent", "Ent0")
        elif situation == "SSH decoy":
            board.turn("DecoySSHD U2").remember("U2", 22, 139)
        elif situation == "decoy":
            board.turn("DecoyTomcat Ent0").remember("Ent0", 22, 443)
        elif situation != "exploit unprepared":
            board.remember(host, 22, 80, 139, 443)
        board.turn(blue, red, detected=situation != "undetected shell")
        if blue != "Sleep":
            assert board.blue_success is Success.TRUE
        got.append(board.bits(host))
        assert set(board.shown()) <= {host}
    assert got == expected


def test_a_decoy_placed_where_nothing_happens_is_not_shown() -> None:
    for observation in SIMULATED:
        board = Board(observation=observation).turn("DecoyHarakaSMPT Ent0", "DNS U1")
        assert board.shown() == {"U1": "1000"}
        board = Board(observation=observation).turn("DecoyVsftpd U4", "DNS Ent0")
        assert board.shown() == {"Ent0": "1000"}


def test_a_refused_decoy_hides_nothing() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0").turn("DecoyHarakaSMPT Ent0", "DNS Ent0")
    assert (board.blue_success, board.bits("Ent0")) == (Success.FALSE, "1000")


def test_activity_lasts_one_step_and_the_mark_stays() -> None:
    board = Board().turn(red="DNS U1").turn()
    assert board.shown() == {}
    board.turn(red="EXP U1 by SSH")
    assert [board.turn().bits("U1") for _ in range(5)] == ["0001"] * 5


# --- Blue's marks

NO, UNKNOWN, USER, PRIVILEGED = Mark.NO, Mark.UNKNOWN, Mark.USER, Mark.PRIVILEGED
TRANSITIONS = {  # from: after Restore, Remove, a shown exploit, Analyse with and without malware
    NO: (NO, NO, USER, PRIVILEGED, NO),
    UNKNOWN: (NO, UNKNOWN, USER, PRIVILEGED, UNKNOWN),
    USER: (NO, UNKNOWN, USER, PRIVILEGED, USER),
    PRIVILEGED: (NO, UNKNOWN, USER, PRIVILEGED, PRIVILEGED),
}


@pytest.mark.parametrize("before", Mark)
def test_how_blues_mark_changes(before: Mark) -> None:
    def mark_after(blue: str, red: str = "", *, malware: bool = False) -> Mark:
        board = Board().marked("Ent0", before).remember("Ent0", 22)
        board.put("malware", *(["Ent0"] if malware else []))
        board.turn(blue, red)
        return Mark(int(board.bits("Ent0")[3:1:-1], base=2))

    assert (
        mark_after("Restore Ent0", malware=True),
        mark_after("Remove Ent0", malware=True),
        mark_after("Sleep", "EXP Ent0", malware=True),
        mark_after("Analyse Ent0", malware=True),
        mark_after("Analyse Ent0"),
    ) == TRANSITIONS[before]


@pytest.mark.parametrize(
    ("blue", "malware", "bits"),
    [
        ("Restore Ent0", True, "1101"),
        ("Remove Ent0", True, "1101"),
        ("Analyse Ent0", True, "1111"),
        ("Analyse Ent0", False, "1101"),
    ],
)
def test_in_one_step_a_shown_exploit_beats_blues_action_and_found_malware_beats_both(
    blue: str, malware: bool, bits: str
) -> None:
    board = Board().marked("Ent0", Mark.PRIVILEGED).remember("Ent0", 22)
    board.put("malware", *(["Ent0"] if malware else [])).turn(blue, "EXP Ent0")
    assert board.bits("Ent0") == bits


# --- the vectors


def test_the_vector_holds_four_bits_per_host_in_host_order() -> None:
    marks = [(h >> 2 & 1, h >> 3 & 1) for h in range(1, 14)]
    table = sum((c1 + 2 * c2) << 4 * h + 2 for h, (c1, c2) in enumerate(marks))
    match = Match(red_agent="sleep").arrange(table=[[table]]).turn()
    expected = [bit for mark in marks for bit in (0, 0, *mark)]
    assert match.batch.observation[0].tolist() == expected
    assert match.batch.observation.dtype == np.int8


@pytest.mark.parametrize(("observation", "size"), [("challenge", 52), ("cardiff", 62)])
def test_the_first_vector_is_all_zeros(observation: str, size: int) -> None:
    match = Match(red_agent="meander", observation=observation)
    assert match.batch.observation.tolist() == [[0] * size]
    for target in ("", "U1", "U2"):
        match.turn(target=target)
    match.batch.reset(seed=1)
    assert match.batch.observation.tolist() == [[0] * size]


def test_true_access_is_written_per_host() -> None:
    match = Match(red_agent="sleep").put("removable", "Ent1").put("persistent", "U3", "OpS")
    match.put("privileged", "U0", "OpS").turn()
    expected = {"Ent1": 1, "U3": 1, "U0": 2, "OpS": 2}
    assert match.batch.out.red_access[0].tolist() == [expected.get(host, 0) for host in HOSTS]


# --- the scan state of the cardiff observation


def scan_state(match: Match) -> dict[str, int]:
    values = match.batch.observation[0, 52:].tolist()
    return {HOSTS[h]: value for h, value in zip(SCAN_SLOTS.tolist(), values, strict=True) if value}


def test_the_scan_state_has_a_slot_for_every_host_but_the_op_hosts() -> None:
    assert [HOSTS[h] for h in SCAN_SLOTS] == [
        *("Def", "Ent0", "Ent1", "Ent2", "OpS"),
        *("U0", "U1", "U2", "U3", "U4"),
    ]


def test_the_scan_state_tells_the_latest_scan_from_earlier_ones() -> None:
    match = Match(red_agent="meander", observation="cardiff")
    earlier: dict[str, int] = {}
    assert scan_state(match.turn()) == earlier
    for target in ("U1", "U3", "U0", "U4", "U2"):
        assert scan_state(match.turn(target=target)) == earlier | {target: 2}
        earlier[target] = 1
    assert scan_state(match.turn()) == earlier | {"U2": 2}  # nothing scanned: unchanged


def test_of_two_scans_in_a_step_the_scan_state_takes_the_first_slot_only() -> None:
    match = Match(red_agent="meander", observation="cardiff", green_agent="active").turn()
    match.turn(target="U1", green="Ent2")
    assert match.shown() == {"Ent2": "1000", "U1": "1000"}
    assert scan_state(match) == {"Ent2": 2}
    match.turn(target="U2", green="U2")
    assert scan_state(match) == {"Ent2": 1, "U2": 2}


def test_the_scan_state_ignores_exploits_and_the_op_hosts() -> None:
    match = Match(red_agent="meander", observation="cardiff")
    match.arrange(meander_swept=0b111, subnets_known=0b111).put("persistent", "Ent0")
    match.put("addresses_known", "OpH1", "U1").turn(target="OpH1")
    assert (match.shown(), scan_state(match)) == ({"OpH1": "1000"}, {})
    match.put("meander_scanned", "OpH1", "U1").put("meander_escalated", "U0").remember("U1", 22)
    match.turn(target="U1")
    assert (match.bits("U1"), scan_state(match)) == ("1101", {})


# --- the mask


def test_the_mask_follows_decoys_and_restores() -> None:
    match = Match(red_agent="sleep")
    mask = match.batch.out.action_mask

    def offered(host: str) -> list[bool]:
        flags: list[bool] = mask[0, host_index(host) + 28 : 132 : 13].tolist()
        return flags

    fresh = [True, False, True, False, False, False, True, True]
    assert offered("Ent0") == fresh  # Apache, Haraka, Tomcat, Vsftpd
    match.turn("DecoyVsftpd Ent0")
    assert offered("Ent0") == [False, *fresh[1:]]
    match.turn("DecoyTomcat Ent0")
    assert offered("Ent0") == [False, False, True, False, False, False, False, True]
    assert offered("OpS") == fresh
    match.turn("Restore Ent0")
    assert offered("Ent0") == fresh
    assert mask[0, :28].all()
    assert mask[0, 132:].all()


SHOWN = (RedAgent.BLINE, RedAgent.MEANDER, RedAgent.SLEEP)


@pytest.mark.parametrize("agent", RedAgent)
@pytest.mark.parametrize("ot_running", [True, False])
def test_the_truth_is_where_red_is_whether_it_stopped_the_service_and_who_it_is(
    agent: RedAgent, ot_running: bool
) -> None:
    held, privileged = {"U0", "Ent0", "U3", "OpH1"}, {"U0", "Ent0"}
    match = Match(red_agent="sleep", observation="truth").put("privileged", *privileged)
    match.put("removable", "U3").put("persistent", "OpH1", "Ent0")
    match.put("ot_down", *([] if ot_running else ["OpS"]))
    match.arrange(red_agent=agent, red_wait=1).turn()
    expected = [bit for host in HOSTS for bit in (host in held, host in privileged)]
    expected += [not ot_running, *(agent is other for other in SHOWN)]  # others are not told apart
    truth = simulated("truth", SCENARIO2).columns("truth")
    assert match.batch.observation[0, truth].tolist() == [int(bit) for bit in expected]
