import re
from pathlib import Path

import pytest

from tests.refused import refused
from workflow_rl.scenario.actions import (
    ACTION_HOST,
    ACTION_KIND,
    ACTION_NAMES,
    DECOY_ACTIONS,
    FIRST_ANALYSE,
    FIRST_REMOVE,
    FIRST_RESTORE,
    MONITOR,
    NO_HOST,
    NUM_ACTIONS,
    SLEEP,
    USEFUL_ACTIONS,
    ActionKind,
    parse_action,
)
from workflow_rl.scenario.tables import DECOY_NAMES, HOST_NAMES

_PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
_TABLE = _PAGE[_PAGE.index("| first | action |") :].split("\n\n")[0]
STARTS = {name: int(first) for first, name in re.findall(r"\| (\d+) \| (\w+) ", _TABLE)}
BLOCKS = {name: STARTS[name] for name in STARTS if name not in ("Sleep", "Monitor")}  # of 13 hosts


def test_the_145_actions_stand_in_blocks_of_13_hosts() -> None:
    expected = {0: "Sleep", 1: "Monitor"} | {
        start + h: f"{block} {host}"
        for block, start in BLOCKS.items()
        for h, host in enumerate(HOST_NAMES)
    }
    assert dict(enumerate(ACTION_NAMES)) == expected
    assert (NUM_ACTIONS, SLEEP, MONITOR) == (145, 0, 1) == (145, STARTS["Sleep"], STARTS["Monitor"])
    assert (FIRST_ANALYSE, FIRST_REMOVE, FIRST_RESTORE) == (2, 15, 132)


def test_every_action_has_its_kind_and_host() -> None:
    kinds: dict[str, int] = {
        "Analyse": ActionKind.ANALYSE,
        "Remove": ActionKind.REMOVE,
        "Restore": ActionKind.RESTORE,
    } | {name: ActionKind.FIRST_DECOY + d for d, name in enumerate(DECOY_NAMES)}
    expected: list[tuple[int, int]] = [(ActionKind.SLEEP, NO_HOST), (ActionKind.MONITOR, NO_HOST)]
    for block in sorted(BLOCKS, key=lambda name: BLOCKS[name]):
        expected += [(kinds[block], h) for h in range(13)]
    assert list(zip(ACTION_KIND.tolist(), ACTION_HOST.tolist(), strict=True)) == expected


def test_decoy_actions_by_host_and_decoy() -> None:
    starts = (28, 41, 54, 67, 80, 93, 106, 119)
    assert DECOY_ACTIONS.tolist() == [[start + h for start in starts] for h in range(13)]


@pytest.mark.parametrize("index", range(145))
def test_an_action_is_found_by_number_and_by_name_in_any_case(index: int) -> None:
    name = ACTION_NAMES[index]
    spellings = (str(index), name, name.lower(), f"  {name.upper().replace(' ', '   ')} ")
    assert [parse_action(text) for text in spellings] == [index] * 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "145", "146", "-1", "1.5", "9" * 10_000),
        *("Restore", "Restore Nowhere", "Sleep User1", "Fly User1"),
    ],
    ids=lambda text: text[:9],
)
def test_an_unknown_action_is_refused_with_what_is_allowed(text: str) -> None:
    refused("give 0 to 144, Sleep, Monitor, or one of Analyse", parse_action, text)


def test_kinds_are_numbered_in_the_order_of_the_rules() -> None:
    assert [kind.name for kind in sorted(ActionKind)] == [
        *("SLEEP", "MONITOR", "ANALYSE", "REMOVE", "RESTORE", "FIRST_DECOY")
    ]
    assert sorted(ActionKind) == list(range(6))
    assert NO_HOST == -1  # none of the hosts


def test_the_useful_actions_are_fixes_and_the_decoys_that_a_host_takes() -> None:
    linux = ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd")
    decoys = {
        **dict.fromkeys(("Defender", "Enterprise0", "Op_Server0"), linux),
        **dict.fromkeys(("Enterprise1", "Enterprise2"), ("Femitter",)),
        "User1": ("Apache", "Smss", "Svchost", "Tomcat"),
        "User2": ("Apache", "Femitter", "SSHD", "Tomcat"),
        "User3": ("SSHD", "Vsftpd"),
        "User4": ("Vsftpd",),
    }
    expected = {"Sleep"}
    expected |= {f"Decoy{name} {host}" for host, names in decoys.items() for name in names}
    for host in set(HOST_NAMES) - {"User0"}:
        expected |= {f"{kind} {host}" for kind in ("Analyse", "Remove", "Restore")}
    assert {ACTION_NAMES[action] for action in USEFUL_ACTIONS} == expected
    assert len(USEFUL_ACTIONS) == 62
