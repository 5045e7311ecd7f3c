from collections import Counter

import numpy as np
import pytest

from tests.sim.board import HOSTS, Board
from workflow_rl.config import GameConfig, GreenAgentName
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.green import green_acts
from workflow_rl.sim.state import Access

SCANNED = ("Ent0", "Ent1", "Ent2", "U0", "U1", "U2", "U3", "U4")


def active() -> Board:
    return Board(green_agent="active")


def scans_of(green_agent: GreenAgentName, n: int) -> Counter[str]:
    """The hosts shown as scanned after one step, over evenly spaced draws, Red asleep."""
    draws = np.zeros((n, 4), np.int64)
    draws[:, 3] = (2 * np.arange(n) + 1) * WORDS // (2 * n)
    batch = Batch(n, GameConfig(red_agent="sleep", green_agent=green_agent))
    batch.reset(seed=0)
    batch.step(np.zeros(n, np.int64), draws)
    rows = batch.observation.reshape(n, 13, 4)
    assert set(map(tuple, rows.reshape(-1, 4).tolist())) <= {(0, 0, 0, 0), (1, 0, 0, 0)}
    assert rows[:, :, 0].sum(axis=1).max() <= 1
    return Counter(HOSTS[h] for h in np.nonzero(rows[:, :, 0])[1])


def test_green_sleeps_by_default() -> None:
    assert scans_of(GameConfig().green_agent, 160) == {}
    assert Board().turn(green="U3").shown() == {}


def test_active_green_scans_each_of_eight_hosts_in_one_step_of_sixteen() -> None:
    assert scans_of("active", 160) == dict.fromkeys(SCANNED, 10)


def test_the_lower_half_of_the_words_is_sleep_and_the_upper_half_are_the_hosts_in_order() -> None:
    def scanned(draw: int) -> set[str]:
        board = active()
        green_acts(board.state, True, draw)
        return board.hosts("event_hosts")

    half, share = WORDS // 2, WORDS // 16
    assert scanned(0) == scanned(half - 1) == set()
    for number, host in enumerate(SCANNED):
        begin = half + number * share
        assert scanned(begin) == scanned(begin + share - 1) == {host}


def test_a_recorded_scan_that_green_cannot_do_shows_on_the_first_host_it_can() -> None:
    assert active().turn(green="Def").shown() == {"Ent0": "1000"}


@pytest.mark.parametrize("host", SCANNED)
def test_a_green_scan_is_shown_like_a_red_one_and_teaches_red_nothing(host: str) -> None:
    green, red = active().turn(green=host), active().turn(red=f"DNS {host}")
    assert green.shown() == red.shown() == {host: "1000"}
    assert (green.hosts("ports_known"), red.hosts("ports_known")) == (set(), {host})
    assert green.state["ports"].tolist() == [0] * 13


@pytest.mark.parametrize(
    ("before", "blue", "host", "bits"),
    [
        ("", "DecoyApache Ent0", "Ent0", "0000"),  # 22 and 80: hidden by the placement
        ("DecoyTomcat Ent0", "DecoyApache Ent0", "Ent0", "1000"),  # three ports
        ("", "DecoyApache U1", "U1", "1000"),
    ],
)
def test_a_green_scan_sees_decoys_and_is_hidden_like_a_red_one(
    before: str, blue: str, host: str, bits: str
) -> None:
    board = active()
    if before:
        board.turn(before)
    assert board.turn(blue, green=host).bits(host) == bits


@pytest.mark.parametrize(
    ("host", "exploit", "access"),
    [
        ("Ent1", "HTTPS", Access.USER),  # seven ports: shown as a scan
        ("U1", "FTP", Access.PRIVILEGED),  # 22, 21 and the shell's own port
        ("U1", "SSH", Access.USER),  # two ports, no call home
        ("U4", "SSH", Access.USER),
    ],
)
def test_a_green_scan_hides_a_red_exploit(host: str, exploit: str, access: Access) -> None:
    board = active().turn(red=f"DNS {host}").turn(red=f"EXP {host} by {exploit}", green=host)
    assert (board.bits(host), board.access(host)) == ("1000", access)


def test_an_exploit_hidden_by_green_can_still_be_removed() -> None:
    board = active().turn(red="DNS Ent1").turn(red="EXP Ent1 by HTTPS", green="Ent1")
    assert board.sessions("Ent1") == {"removable"}
    board.turn("Remove Ent1")
    assert (board.sessions("Ent1"), board.bits("Ent1")) == (set(), "0000")


def test_brute_force_on_a_host_with_one_port_is_seen_through_a_green_scan() -> None:
    board = active().turn(red="DNS Ent0").turn(red="EXP Ent0 by SSH", green="Ent0")
    assert board.bits("Ent0") == "1101"


def test_green_and_red_scans_of_one_host_are_shown_as_one() -> None:
    assert active().turn(red="DNS Ent0", green="Ent0").shown() == {"Ent0": "1000"}


def test_a_green_scan_elsewhere_leaves_the_exploit_visible() -> None:
    board = active().turn(red="DNS Ent1").turn(red="EXP Ent1 by HTTPS", green="U2")
    assert board.shown() == {"Ent1": "1101", "U2": "1000"}


def test_a_green_scan_beside_a_decoy_hit_is_shown_as_a_scan() -> None:
    board = active().turn("DecoyHarakaSMPT Ent0").turn(red="DNS Ent0")
    assert board.turn(red="EXP Ent0 by Haraka", green="Ent0").bits("Ent0") == "1000"
