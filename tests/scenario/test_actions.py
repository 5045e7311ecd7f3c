import re
from pathlib import Path

import numpy as np
import pytest

from tests.refused import refused
from tests.sim import tiny
from workflow_rl.scenario.actions import NO_HOST, ActionKind, actions_of
from workflow_rl.scenario.images import DECOY_NAMES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue
from workflow_rl.scenario.scenario2 import ACTIONS, HOST_NAMES, NUM_ACTIONS
from workflow_rl.scenario.tables import NOBODY, tables_of

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
    assert dict(enumerate(ACTIONS.names)) == expected
    assert NUM_ACTIONS == ACTIONS.size == 145
    assert (STARTS["Sleep"], STARTS["Monitor"]) == (0, 1)
    kinds = (ActionKind.ANALYSE, ActionKind.REMOVE, ActionKind.RESTORE, ActionKind.MISINFORM)
    assert [ACTIONS.first(kind) for kind in kinds] == [2, 15, 132, None]


def test_every_action_has_its_kind_and_host() -> None:
    kinds: dict[str, int] = {
        "Analyse": ActionKind.ANALYSE,
        "Remove": ActionKind.REMOVE,
        "Restore": ActionKind.RESTORE,
    } | {name: ActionKind.FIRST_DECOY + d for d, name in enumerate(DECOY_NAMES)}
    expected: list[tuple[int, int]] = [(ActionKind.SLEEP, NO_HOST), (ActionKind.MONITOR, NO_HOST)]
    for block in sorted(BLOCKS, key=lambda name: BLOCKS[name]):
        expected += [(kinds[block], h) for h in range(13)]
    assert list(zip(ACTIONS.kinds.tolist(), ACTIONS.hosts.tolist(), strict=True)) == expected


def test_decoy_actions_by_host_and_decoy() -> None:
    starts = (28, 41, 54, 67, 80, 93, 106, 119)
    net = tables_of(SCENARIO2)[0]
    assert net["decoy_action"].tolist()[:13] == [[first + h for first in starts] for h in range(13)]
    assert (net["misinform_action"] == NOBODY).all()


@pytest.mark.parametrize("index", range(145))
def test_an_action_is_found_by_number_and_by_name_in_any_case(index: int) -> None:
    name = ACTIONS.names[index]
    spellings = (str(index), name, name.lower(), f"  {name.upper().replace(' ', '   ')} ")
    assert [ACTIONS.parse(text) for text in spellings] == [index] * 4


@pytest.mark.parametrize(
    "text",
    [
        *("", "145", "146", "-1", "1.5", "9" * 10_000),
        *("Restore", "Restore Nowhere", "Sleep User1", "Fly User1"),
    ],
    ids=lambda text: text[:9],
)
def test_an_unknown_action_is_refused_with_what_is_allowed(text: str) -> None:
    refused("give 0 to 144, Sleep, Monitor, or one of Analyse", ACTIONS.parse, text)


def test_kinds_are_numbered_in_the_order_of_the_rules() -> None:
    assert [kind.name for kind in sorted(ActionKind)] == [
        *("SLEEP", "MONITOR", "ANALYSE", "REMOVE", "RESTORE", "FIRST_DECOY", "MISINFORM")
    ]
    assert sorted(ActionKind) == [*range(6), 5 + len(DECOY_NAMES)]
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
    assert {ACTIONS.names[action] for action in ACTIONS.useful} == expected
    assert len(ACTIONS.useful) == 62


def test_actions_stand_in_the_order_of_the_networks_kinds_and_hosts() -> None:
    kinds = ("Restore", "Sleep", "Misinform", "DecoyTomcat", "Monitor")
    network = tiny.network(tiny.host("b"), tiny.host("a"), actions=kinds)
    actions = actions_of(network)
    assert actions.names == (
        *("Restore b", "Restore a", "Sleep", "Misinform b", "Misinform a"),
        *("DecoyTomcat b", "DecoyTomcat a", "Monitor"),
    )
    assert actions.hosts.tolist() == [0, 1, NO_HOST, 0, 1, 0, 1, NO_HOST]
    assert actions.first(ActionKind.MISINFORM) == 3
    assert actions.first(ActionKind.ANALYSE) is None
    net = tables_of(network)[0]
    tomcat = DECOY_NAMES.index("DecoyTomcat")
    assert net["decoy_action"][:2, tomcat].tolist() == [5, 6]
    assert (np.delete(net["decoy_action"], tomcat, axis=1) == NOBODY).all()
    assert net["misinform_action"][:2].tolist() == [3, 4]
    sentence = "give 0 to 7, Sleep, Monitor, or one of Restore, Misinform, DecoyTomcat"
    refused(sentence, actions.parse, "Analyse a")


@pytest.mark.parametrize("blue", [Blue.HIDDEN, Blue.NO_AGENT])
def test_no_action_is_useful_on_a_host_where_it_has_no_effect(blue: Blue) -> None:
    network = tiny.network(tiny.host("a"), tiny.host("b", blue=blue), tiny.host("c"))
    useful = {actions_of(network).names[action] for action in actions_of(network).useful}
    assert {name.split()[-1] for name in useful} == {"Sleep", "c"}
