"""What the stored recordings show."""

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.parity.features import FEATURES, Feature, features_of
from tests.parity.fixtures import FILES, TRACES, file_id
from workflow_rl.config import RED_AGENTS
from workflow_rl.parity.trace import TRACE_EXPLOIT_NAMES, load_trace
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
NOT_SHOWN = {
    "main": {"rescan_remembers", "haraka_broken"},
    "competition": {
        *("rescan_forgets", "haraka_after_restore"),
        *("empty_scan_restarts_chain", "meander_blind_host"),  # were not recorded
        *(name for name in FEATURES if name.startswith("green")),
    },
}
HOSTS = {name: index for index, name in enumerate(HOST_NAMES)}


@functools.cache
def shown(rules: str) -> frozenset[Feature]:
    return frozenset().union(*(features_of(load_trace(p)) for kind, p in FILES if kind == rules))


def details(rules: str, name: str) -> set[tuple[int, ...]]:
    return {feature[1:] for feature in shown(rules) if feature[0] == name}


def technique(name: str) -> int:
    return TRACE_EXPLOIT_NAMES.index(name)


@pytest.mark.parametrize("rules", BOTH)
def test_every_feature_is_shown_and_all_145_actions_are_played(rules: str) -> None:
    assert {feature[0] for feature in shown(rules)} == FEATURES.keys() - NOT_SHOWN[rules]
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


def test_every_host_is_restored_and_red_driven_out_wherever_it_can_be() -> None:
    restores = {(parse_action(f"Restore {host}"), Success.TRUE) for host in HOST_NAMES}
    out_of = {(index,) for host, index in HOSTS.items() if host not in ("Defender", "User0")}
    for rules in BOTH:
        assert restores <= details(rules, "blue_action")
        assert details(rules, "restore_of_held_host") == out_of


def test_every_exploit_succeeds_on_every_host_it_can_and_is_tried_where_it_cannot() -> None:
    succeeded = {(host, exploit) for host, exploit, end in details("main", "exploit") if end == 1}
    assert succeeded == {
        (HOSTS[host], technique(name)) for host, names in EXPLOITABLE.items() for name in names
    }
    assert {exploit for _, exploit in succeeded} == set(range(1, 9))
    windows, smb = (HOSTS[name] for name in ENTERPRISE_WINDOWS), technique("EternalBlue")
    hopeless = {*((host, smb) for host in windows), (HOSTS["User3"], technique("BlueKeep"))}
    for rules in BOTH:
        assert details(rules, "impossible_exploit") == hopeless


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


def test_remove_works_where_it_can_and_misses_the_rest() -> None:
    works = {(HOSTS[host],) for host in ("Enterprise1", "Enterprise2", "User2", "User3", "User4")}
    undetected_shell, ssh = 1, 2
    for rules in BOTH:
        assert details(rules, "remove_kills") == works
        assert details(rules, "remove_misses") == {(undetected_shell,), (ssh,)}


def test_green_scans_all_of_its_hosts_and_the_rule_sets_part_where_they_should() -> None:
    expected = {(index,) for host, index in HOSTS.items() if host.startswith(("User", "Enter"))}
    assert details("main", "green_scan") == expected
    user3, user4 = HOSTS["User3"], HOSTS["User4"]
    assert details("main", "haraka_after_restore") == {(user3,), (user4,)}
    assert details("competition", "haraka_broken") == {(user3,), (user4,)}
    assert (HOSTS["Op_Server0"],) in details("competition", "rescan_remembers")


def test_the_files_are_few_and_small() -> None:
    assert {path.relative_to(TRACES).as_posix() for _, path in FILES} == {
        *(f"main/{name}.npz" for name in ("bline", "meander", "sleep")),
        *(f"main/green_{name}.npz" for name in ("bline", "meander")),
        *(f"competition/{name}.npz" for name in ("bline", "meander")),
    }
    assert sum(path.stat().st_size for _, path in FILES) < 400_000
    assert {int(n) for _, path in FILES for n in load_trace(path).lengths} >= {30, 100}


@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_file_says_what_it_is(rules: str, path: Path) -> None:
    trace = load_trace(path)
    green, _, red = path.stem.rpartition("_")
    assert trace.red_agent == red
    assert str(trace.arrays["meta_policy"]) == "selection"
    assert trace.arrays["meta_T"] == trace.steps == trace.lengths.max()
    assert trace.arrays["meta_green"] == bool(green) == trace.arrays["green_type"].any()
    assert np.unique(trace.arrays["seed"]).size > trace.episodes / 2
