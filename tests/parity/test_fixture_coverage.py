"""What the recordings beside the tests show, stated without those they were selected from."""

import functools
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.parity.features import FEATURES, Feature, features_of
from tests.parity.fixtures import FILES, TRACES, file_id
from tests.parity.select_fixtures import candidates, select, write
from workflow_rl.config import RED_AGENTS
from workflow_rl.parity.replay import compare
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
    RedAction.DISCOVER_REMOTE_SYSTEMS: (Outcome.SUCCESS, Outcome.NO_ROUTE),
    RedAction.DISCOVER_NETWORK_SERVICES: (Outcome.SUCCESS, Outcome.NO_ROUTE),
    RedAction.EXPLOIT: (
        Outcome.SUCCESS,
        Outcome.HIT_DECOY,
        Outcome.NO_ROUTE,
        Outcome.SERVICE_ABSENT,
        Outcome.NO_ACCOUNT,
        Outcome.NOT_SCANNED,
    ),
    RedAction.PRIVILEGE_ESCALATE: (
        Outcome.SUCCESS,
        Outcome.NO_SESSION,
        Outcome.ALREADY_PRIVILEGED,
    ),
    RedAction.IMPACT: (Outcome.SUCCESS, Outcome.NO_SESSION),
}
GREEN = {name for name in FEATURES if name.startswith("green")}
ONLY_MAIN = {"rescan_forgets", "haraka_after_restore"}
ONLY_COMPETITION = {"rescan_remembers", "haraka_broken"}
NOT_RECORDED_FOR_COMPETITION = {"empty_scan_restarts_chain", "meander_blind_host"}
HOSTS = {name: index for index, name in enumerate(HOST_NAMES)}


@functools.cache
def shown(rules: str) -> frozenset[Feature]:
    traces = (load_trace(path) for kind, path in FILES if kind == rules)
    episodes = itertools.chain.from_iterable(features_of(trace) for trace in traces)
    return frozenset(itertools.chain.from_iterable(episodes))


def details(rules: str, name: str) -> set[tuple[int, ...]]:
    return {feature[1:] for feature in shown(rules) if feature[0] == name}


def technique(name: str) -> int:
    return TRACE_EXPLOIT_NAMES.index(name)


def test_every_feature_of_the_main_rules_is_shown() -> None:
    assert {feature[0] for feature in shown("main")} == FEATURES.keys() - ONLY_COMPETITION


def test_every_feature_of_the_competition_rules_is_shown() -> None:
    missing = GREEN | ONLY_MAIN | NOT_RECORDED_FOR_COMPETITION
    assert {feature[0] for feature in shown("competition")} == FEATURES.keys() - missing


@pytest.mark.parametrize("rules", ["main", "competition"])
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


def test_every_host_is_restored_and_red_driven_out_wherever_it_can_be() -> None:
    restores = {(parse_action(f"Restore {host}"), Success.TRUE) for host in HOST_NAMES}
    out_of = {(index,) for host, index in HOSTS.items() if host not in ("Defender", "User0")}
    for rules in ("main", "competition"):
        assert restores <= details(rules, "blue_action")
        assert details(rules, "restore_of_held_host") == out_of


def test_every_exploit_succeeds_on_every_host_it_can() -> None:
    succeeded = {(host, exploit) for host, exploit, end in details("main", "exploit") if end == 1}
    assert succeeded == {
        (HOSTS[host], technique(name)) for host, names in EXPLOITABLE.items() for name in names
    }
    assert {exploit for _, exploit in succeeded} == set(range(1, 9))


def test_exploits_that_cannot_work_are_tried() -> None:
    expected = {("Enterprise1", "EternalBlue"), ("Enterprise2", "EternalBlue")}
    expected |= {("User3", "BlueKeep")}
    for rules in ("main", "competition"):
        assert details(rules, "impossible_exploit") == {
            (HOSTS[host], technique(name)) for host, name in expected
        }


def test_bline_takes_every_way_it_can() -> None:
    assert details("main", "bline_transition") == BLINE_CHAIN | BLINE_FALLS | {BLINE_RESTART}
    assert details("competition", "bline_transition") == BLINE_CHAIN | BLINE_FALLS


def test_bline_starts_from_every_user_host() -> None:
    scan, bline = RedAction.DISCOVER_NETWORK_SERVICES, RED_AGENTS.index("bline")
    first = {(bline, scan, Outcome.SUCCESS, host) for host in range(9, 13)}
    for rules in ("main", "competition"):
        assert first <= details(rules, "situation")


def test_meander_gets_into_every_situation_and_to_every_host() -> None:
    meander = RED_AGENTS.index("meander")
    met = {rest[1:] for rest in details("main", "situation") if rest[0] == meander}
    assert {(action, end) for action, end, _ in met} == {
        (action, end) for action, ends in MEANDER_SITUATIONS.items() for end in ends
    }
    for action in (RedAction.DISCOVER_NETWORK_SERVICES, RedAction.EXPLOIT):
        assert {target for kind, _, target in met if kind == action} == set(HOSTS.values())
    escalated = {target for kind, _, target in met if kind == RedAction.PRIVILEGE_ESCALATE}
    assert escalated == set(HOSTS.values()) - {HOSTS["Defender"]}


def test_every_outcome_occurs() -> None:
    assert details("main", "outcome") == {(code,) for code in (0, 1, 2, 3, 4, 6, 7, 9, 11)}
    assert details("competition", "outcome") == {(code,) for code in (1, 2, 3, 4, 5, 6, 9, 11)}


def test_nothing_gets_through_to_operational_without_a_way() -> None:
    sweep, scan, exploit = 1, 2, 3
    assert details("main", "unroutable") == {(sweep,), (scan,), (exploit,)}
    assert details("competition", "unroutable") >= {(sweep,), (exploit,)}


def test_remove_works_where_it_can_and_misses_the_rest() -> None:
    works = {(HOSTS[host],) for host in ("Enterprise1", "Enterprise2", "User2", "User3", "User4")}
    undetected_shell, ssh = 1, 2
    for rules in ("main", "competition"):
        assert details(rules, "remove_kills") == works
        assert details(rules, "remove_misses") == {(undetected_shell,), (ssh,)}


def test_green_scans_all_of_its_hosts() -> None:
    expected = {(index,) for host, index in HOSTS.items() if host.startswith(("User", "Enter"))}
    assert details("main", "green_scan") == expected


def test_the_rule_sets_part_where_they_should() -> None:
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


@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_file_says_what_it_is(rules: str, path: Path) -> None:
    trace = load_trace(path)
    green, _, red = path.stem.rpartition("_")
    assert trace.red_agent == red
    assert str(trace.arrays["meta_policy"]) == "selection"
    assert trace.arrays["meta_T"] == trace.steps == trace.lengths.max()
    assert trace.arrays["meta_green"] == bool(green) == trace.arrays["green_type"].any()
    assert np.unique(trace.arrays["seed"]).size > trace.episodes / 2


def test_there_are_shorter_episodes_too() -> None:
    lengths = {int(n) for _, path in FILES for n in load_trace(path).lengths}
    assert lengths >= {30, 100}


def test_a_selection_loses_no_feature_and_replays(tmp_path: Path) -> None:
    pool = candidates(TRACES / "main")
    groups = select(pool)
    for name, members in groups.items():
        write(tmp_path / f"{name}.npz", members)
    found: set[Feature] = set()
    for path in tmp_path.glob("*.npz"):
        trace = load_trace(path)
        assert compare(trace, "main").mismatches == 0
        found = found.union(*features_of(trace))
    assert found == shown("main")
    assert sum(map(len, groups.values())) <= len(pool)
