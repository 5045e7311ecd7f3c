from collections import Counter

import numpy as np
import pytest

from tests.sim.board import HOSTS, Match, host_index
from workflow_rl.config import GameConfig
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.state import NOBODY, Outcome, RedAction, Success

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


def bline(**game: str) -> Match:
    return Match(red_agent="bline", **game)


def advanced(steps: int) -> Match:
    """B_line through User1 after the given number of undisturbed steps."""
    match = bline()
    for _ in range(steps):
        match.turn(target="U1")
    return match


def test_bline_against_a_sleeping_blue() -> None:
    match = bline()
    ent1, ent2, u1 = {"Ent1": "0001"}, {"Ent2": "0001"}, {"U1": "0001"}
    rest = ent1 | ent2 | u1
    expected = [
        ("DRS User", 0.0, {}),
        ("DNS U1", 0.0, {"U1": "1000"}),
        ("EXP U1 by FTP", -0.1, {"U1": "1101"}),
        ("PE U1", -0.1, u1),
        ("DNS Ent1", -0.1, {"Ent1": "1000"} | u1),
        ("EXP Ent1 by HTTPS", -0.1, {"Ent1": "1101"} | u1),
        ("PE Ent1", -1.1, ent1 | u1),
        ("DRS Enterprise", -1.1, ent1 | u1),
        ("DNS Ent2", -1.1, ent1 | {"Ent2": "1000"} | u1),
        ("EXP Ent2 by HTTPS", -1.1, ent1 | {"Ent2": "1101"} | u1),
        ("PE Ent2", -2.1, rest),
        ("DNS OpS", -2.1, rest | {"OpS": "1000"}),
        ("EXP OpS by SSH", -2.1, rest | {"OpS": "1101"}),
        ("PE OpS", -3.1, rest | {"OpS": "0001"}),
        ("IMP OpS", -13.1, rest | {"OpS": "0001"}),
        ("IMP OpS", -13.1, rest | {"OpS": "0001"}),
        ("IMP OpS", -13.1, rest | {"OpS": "0001"}),
        ("IMP OpS", -13.1, rest | {"OpS": "0001"}),
    ]
    got = []
    for _ in expected:
        match.turn(target="U1")
        got.append((match.did, match.reward, match.shown()))
    assert got == expected
    assert sum(reward for _, reward, _ in got) == pytest.approx(-66.6)


def test_an_empty_scan_of_op_server_sends_bline_back_to_the_user_host() -> None:
    match = advanced(9)
    expected = [
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
    got = []
    for blue, other, *_ in expected:
        match.turn(blue, other=other, target="U4")  # its user host is not drawn again
        index = int(match.state["bline_index"])
        got.append((blue, other, match.did, index, match.red.success, match.reward))
    assert got == expected


def test_the_empty_scan_rule_applies_until_a_scan_with_a_result_was_followed_up() -> None:
    match = bline().arrange(bline_index=11, bline_target=host_index("U1"))
    for _ in range(2):
        match.last("DNS OpS", Success.TRUE, Outcome.NO_ROUTE).turn(target="U4")
        assert (match.did, bool(match.state["bline_passed_scan"])) == ("DNS U1", False)
        match.arrange(bline_index=11)
    match.last("DNS OpS", Success.TRUE, Outcome.SUCCESS).turn()
    assert (match.did, bool(match.state["bline_passed_scan"])) == ("EXP OpS", True)
    match.arrange(bline_index=11).last("DNS OpS", Success.TRUE, Outcome.NO_ROUTE).turn()
    assert match.did == "EXP OpS"


@pytest.mark.parametrize("index", range(15))
@pytest.mark.parametrize("success", list(Success))
def test_where_bline_goes_on_after_each_result(index: int, success: Success) -> None:
    match = bline().arrange(
        bline_index=index,
        bline_target=host_index("U1"),
        bline_passed_scan=True,
        red_success=success,
    )
    match.turn()
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
def test_the_user_host_leads_to_its_enterprise_host(first: str, second: str) -> None:
    match = bline()
    got = [match.turn(target=first).did.split(" by ")[0] for _ in range(7)]
    assert got[1:] == [
        f"DNS {first}",
        f"EXP {first}",
        f"PE {first}",
        f"DNS {second}",
        f"EXP {second}",
        f"PE {second}",
    ]


def test_the_user_host_is_drawn_uniformly_at_the_second_step_and_kept() -> None:
    n = 40
    words = np.zeros((n, 4), np.int64)
    words[:, 0] = (2 * np.arange(n) + 1) * WORDS // (2 * n)
    batch = Batch(n, GameConfig(red_agent="bline"))
    batch.reset(seed=0)
    sleep = np.zeros(n, np.int64)
    batch.step(sleep, words)
    assert set(batch.state["bline_target"].tolist()) == {NOBODY}
    batch.step(sleep, words)
    targets = batch.state["bline_target"].copy()
    assert Counter(HOSTS[h] for h in targets) == dict.fromkeys(("U1", "U2", "U3", "U4"), n // 4)
    for _ in range(5):
        batch.step(sleep, words[::-1].copy())
    assert batch.state["bline_target"].tolist() == targets.tolist()


def test_a_fallback_to_the_user_host_makes_bline_rescan_the_enterprise_host() -> None:
    match = advanced(5).turn("DecoyFemitter Ent1", other="EternalBlue")
    assert (match.did, match.red.options) == ("EXP Ent1 by EternalBlue", 5)
    got = [match.turn().did for _ in range(4)]
    assert got == ["EXP U1 by FTP", "PE U1", "DNS Ent1", "EXP Ent1 by FTP"]
    assert match.red.outcome is Outcome.HIT_DECOY


def test_impact_that_fails_sends_bline_back_to_escalate_and_to_exploit() -> None:
    match = advanced(15)
    match.turn("Restore OpS")
    assert (match.did, match.red.success) == ("IMP OpS", Success.FALSE)
    got = [match.turn().did for _ in range(4)]
    assert got == ["PE OpS", "EXP OpS by SSH", "PE OpS", "IMP OpS"]


def test_bline_never_touches_defender_the_op_hosts_or_user0() -> None:
    n = 12
    batch = Batch(n, GameConfig(red_agent="bline"))
    batch.reset(seed=5)
    generator = np.random.default_rng(5)
    touched: set[str] = set()
    for _ in range(100):
        batch.step(generator.integers(0, 145, n))
        targets = batch.state["red_target"]
        on_hosts = batch.state["red_action"] != RedAction.DISCOVER_REMOTE_SYSTEMS
        touched |= {HOSTS[h] for h in targets[on_hosts]}
    assert touched == {"U1", "U2", "U3", "U4", "Ent0", "Ent1", "Ent2", "OpS"}
