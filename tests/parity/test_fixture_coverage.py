"""What the stored recordings show.

They were chosen to show every rule and quirk that docs/parity.md lists. The plain course of the
game is counted here; the digests hold the files, and with them the rest of the list.
"""

import functools
import hashlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parity.fixtures import FILES, TRACES, file_id
from workflow_rl.config import RED_AGENTS
from workflow_rl.parity.trace import TRACE_EXPLOIT_NAMES, Trace, load_trace
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import DECOY_NAMES, HOST_NAMES
from workflow_rl.sim.state import Outcome, RedAction, Success

LINUX = ("Defender", "Enterprise0", "Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0")
ENTERPRISE_WINDOWS = ("Enterprise1", "Enterprise2")
PLACEABLE = {
    **dict.fromkeys(LINUX, ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd")),
    **dict.fromkeys(ENTERPRISE_WINDOWS, ("Femitter",)),
    **dict.fromkeys(("User0", "User1"), ("Apache", "Smss", "Svchost", "Tomcat")),
    "User2": ("Apache", "Femitter", "SSHD", "Tomcat"),
    "User3": ("SSHD", "Vsftpd"),
    "User4": ("Vsftpd",),
}
TRAPS = {
    "Apache": "HTTPRFI",
    "Femitter": "FTPDirectoryTraversal",
    "HarakaSMPT": "HarakaRCE",
    "Smss": "EternalBlue",
    "SSHD": "SSHBruteForce",
    "Svchost": "BlueKeep",
    "Tomcat": "HTTPSRFI",
    "Vsftpd": "HTTPRFI",
}
NEVER_HIT = {
    ("User3", "Vsftpd"),  # the real web server answers first
    ("User4", "Vsftpd"),
    ("User0", "Tomcat"),  # possible, but in no recording
    ("User1", "Apache"),
}
EXPLOITABLE = {
    **dict.fromkeys(LINUX[1:], ("SSHBruteForce",)),
    **dict.fromkeys(ENTERPRISE_WINDOWS, ("HTTPSRFI", "HTTPRFI", "BlueKeep", "SSHBruteForce")),
    **dict.fromkeys(("User0", "User1"), ("FTPDirectoryTraversal", "SSHBruteForce")),
    "User2": ("EternalBlue", "BlueKeep"),
    "User3": ("HarakaRCE", "HTTPSRFI", "HTTPRFI"),
    "User4": ("HarakaRCE", "SQLInjection", "HTTPSRFI", "HTTPRFI", "SSHBruteForce"),
}
BLINE_CHAIN = {(0, 0), *((i, i + 1) for i in range(14)), (14, 14)}
BLINE_FALLS = {(2, 2), (3, 2), (5, 2), (6, 5), (9, 5), (10, 9), (12, 9), (13, 12), (14, 13)}
BLINE_RESTART = (11, 1)
MEANDER_SITUATIONS = {
    RedAction.DISCOVER_REMOTE_SYSTEMS: "SUCCESS NO_ROUTE",
    RedAction.DISCOVER_NETWORK_SERVICES: "SUCCESS NO_ROUTE",
    RedAction.EXPLOIT: "SUCCESS HIT_DECOY NO_ROUTE SERVICE_ABSENT NO_ACCOUNT NOT_SCANNED",
    RedAction.PRIVILEGE_ESCALATE: "SUCCESS NO_SESSION ALREADY_PRIVILEGED",
    RedAction.IMPACT: "SUCCESS NO_SESSION",
}
BOTH = ("main", "competition")
DIGESTS = {
    "main/bline.npz": "ab0a138df09d7734",
    "main/green_bline.npz": "325e97dbd0fea9fe",
    "main/green_meander.npz": "974e69ce478ae839",
    "main/meander.npz": "34f1238a02b39041",
    "main/sleep.npz": "e5b89b485b967abb",
    "competition/bline.npz": "6bc9ec64196fb25a",
    "competition/meander.npz": "4e57fd0b3db52b5b",
}
HOSTS = {name: index for index, name in enumerate(HOST_NAMES)}


@functools.cache
def details(rules: str, name: str) -> set[tuple[int, ...]]:
    """What the steps of all recordings of some rules have of a kind, a tuple of numbers each."""
    found: set[tuple[int, ...]] = set()
    for kind, path in FILES:
        if kind == rules:
            trace = load_trace(path)
            valid = np.arange(trace.steps) < trace.lengths[:, None]
            applies, *columns = _columns(trace, name)
            rows = np.stack([column[applies & valid] for column in columns], axis=-1)
            found |= set(map(tuple, rows.tolist()))
    return found


def _columns(trace: Trace, name: str) -> tuple[Any, ...]:
    """(episodes, steps) where it applies, then what is told of it."""
    arrays = trace.arrays
    played, outcome, target = arrays["blue_action"], arrays["red_outcome"], arrays["red_target"]
    always, exploit = np.full(played.shape, True), arrays["red_concrete"]
    if name == "blue_action":
        return always, played, arrays["blue_success"]
    if name == "decoy_hit":
        return arrays["red_decoy_hit"] >= 0, target, exploit, arrays["red_decoy_hit"]
    if name == "exploit":
        return arrays["red_type"] == RedAction.EXPLOIT, target, exploit, outcome
    if name == "outcome":
        return always, outcome
    if name == "unroutable":
        return outcome == Outcome.NO_ROUTE, arrays["red_type"]
    if name == "green_scan":
        return arrays["green_type"] == 1, arrays["green_target"]
    if name == "bline_transition":
        state = arrays["bline_state"]
        before = np.concatenate([arrays["init_bline_state"][:, None], state[:, :-1]], axis=1)
        return state >= 0, before, state
    assert name == "situation"
    red = np.full(played.shape, RED_AGENTS.index(trace.red_agent))
    return always, red, arrays["red_type"], outcome, target


def technique(name: str) -> int:
    return TRACE_EXPLOIT_NAMES.index(name)


@pytest.mark.parametrize("rules", BOTH)
def test_all_145_actions_are_played(rules: str) -> None:
    assert {action for action, _ in details(rules, "blue_action")} == set(range(NUM_ACTIONS))


def test_every_decoy_is_accepted_and_refused_wherever_it_can_be() -> None:
    played = details("main", "blue_action")
    for host, kind in itertools.product(HOST_NAMES, DECOY_NAMES):
        name = kind.removeprefix("Decoy")
        action = parse_action(f"{kind} {host}")
        placeable = name in PLACEABLE[host]
        refusable = not (placeable and name == "Vsftpd")  # which can be placed again and again
        assert ((action, Success.TRUE) in played) == placeable, ACTION_NAMES[action]
        assert ((action, Success.FALSE) in played) == refusable, ACTION_NAMES[action]


def test_every_decoy_is_hit_on_every_host() -> None:
    decoys = [name.removeprefix("Decoy") for name in DECOY_NAMES]
    expected = {
        (HOSTS[host], technique(TRAPS[decoy]), decoys.index(decoy))
        for host, placeable in PLACEABLE.items()
        for decoy in placeable
        if (host, decoy) not in NEVER_HIT
    }
    assert details("main", "decoy_hit") == expected


def test_every_host_is_restored() -> None:
    restores = {(parse_action(f"Restore {host}"), Success.TRUE) for host in HOST_NAMES}
    for rules in BOTH:
        assert restores <= details(rules, "blue_action")


def test_every_exploit_succeeds_on_every_host_it_can() -> None:
    succeeded = {(host, exploit) for host, exploit, end in details("main", "exploit") if end == 1}
    assert succeeded == {
        (HOSTS[host], technique(name)) for host, names in EXPLOITABLE.items() for name in names
    }
    assert {exploit for _, exploit in succeeded} == set(range(1, 9))


def test_bline_takes_every_way_it_can_from_every_user_host() -> None:
    assert details("main", "bline_transition") == BLINE_CHAIN | BLINE_FALLS | {BLINE_RESTART}
    assert details("competition", "bline_transition") == BLINE_CHAIN | BLINE_FALLS
    scan, bline = RedAction.DISCOVER_NETWORK_SERVICES, RED_AGENTS.index("bline")
    first = {(bline, scan, Outcome.SUCCESS, host) for host in range(9, 13)}
    for rules in BOTH:
        assert first <= details(rules, "situation")


def test_meander_gets_into_every_situation_and_to_every_host() -> None:
    meander = RED_AGENTS.index("meander")
    met = {rest[1:] for rest in details("main", "situation") if rest[0] == meander}
    assert {(action, end) for action, end, _ in met} == {
        (action, Outcome[end])
        for action, ends in MEANDER_SITUATIONS.items()
        for end in ends.split()
    }
    for action in (RedAction.DISCOVER_NETWORK_SERVICES, RedAction.EXPLOIT):
        assert {target for kind, _, target in met if kind == action} == set(HOSTS.values())
    escalated = {target for kind, _, target in met if kind == RedAction.PRIVILEGE_ESCALATE}
    assert escalated == set(HOSTS.values()) - {HOSTS["Defender"]}


def test_every_outcome_occurs_and_no_action_gets_to_operational_without_a_way() -> None:
    assert details("main", "outcome") == {(code,) for code in (0, 1, 2, 3, 4, 6, 7, 9, 11)}
    assert details("competition", "outcome") == {(code,) for code in (1, 2, 3, 4, 5, 6, 9, 11)}
    sweep, scan, exploit = 1, 2, 3
    assert details("main", "unroutable") == {(sweep,), (scan,), (exploit,)}
    assert details("competition", "unroutable") >= {(sweep,), (exploit,)}


def test_green_scans_all_of_its_hosts() -> None:
    expected = {(index,) for host, index in HOSTS.items() if host.startswith(("User", "Enter"))}
    assert details("main", "green_scan") == expected


def test_the_files_are_those_that_were_chosen() -> None:
    assert {
        path.relative_to(TRACES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for _, path in FILES
    } == DIGESTS


@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_file_says_what_it_is(rules: str, path: Path) -> None:
    trace = load_trace(path)
    green, _, red = path.stem.rpartition("_")
    assert trace.red_agent == red
    assert str(trace.arrays["meta_policy"]) == "selection"
    assert trace.arrays["meta_T"] == trace.steps == trace.lengths.max()
    assert trace.arrays["meta_green"] == bool(green) == trace.arrays["green_type"].any()
    assert np.unique(trace.arrays["seed"]).size > trace.episodes / 2
