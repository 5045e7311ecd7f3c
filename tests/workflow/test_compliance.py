from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.refused import refusal
from tests.workflow.reference import Judged, judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTION_NAMES, HOST_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import host_set
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.state import Mark
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    REPEAT,
    VIOLATION,
    Judgement,
    judge_observed,
    judge_true,
    without_violations,
)
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES, Order
from workflow_rl.workflow.units import fixable, units_of

FIXABLE = fixable(SCENARIO2)
RANKS = TYPES.host_ranks(range(NUM_ORDERS))

MARKS = {mark.name.capitalize(): mark for mark in Mark}
ORDER = "op_server > enterprise > op_host > user > defender"
VERDICTS = {NOT_A_FIX: "no fix", REPEAT: "repeat", VIOLATION: "violation", COMPLIANT: "compliant"}


def table_of(marks: Mapping[str, str], activity: Mapping[str, int] | None = None) -> list[int]:
    """Blue's packed table: per host two bits of activity, then two of its mark."""
    table = 0
    for h, host in enumerate(HOST_NAMES):
        table |= (activity or {}).get(host, 0) << 4 * h
        table |= int(MARKS[marks.get(host, "No")]) << (4 * h + 2)
    return [table]


def meaning(judgement: Judgement, k: int) -> Judged:
    """Our verdict in the reference's words."""
    verdict = judgement.verdict[k]
    assert judgement.counted[k] == (verdict in (VIOLATION, COMPLIANT))
    assert judgement.compliant[k] == (verdict == COMPLIANT)
    return Judged(
        bool(judgement.any_open[k]),
        verdict != NOT_A_FIX,
        bool(judgement.counted[k]),
        bool(judgement.compliant[k]),
    )


def seen(marks: Mapping[str, str], action: str, order: str = ORDER) -> str:
    """The verdict on one action when Blue's table holds these marks."""
    judgement = judge_observed(
        np.array([table_of(marks)]), np.array([parse_action(action)]), RANKS[[TYPES.index(order)]]
    )
    return VERDICTS[judgement.verdict[0]]


def truly(held: set[str], removable: set[str], action: str, order: str = ORDER) -> str:
    """The verdict on one action when Red holds these hosts."""
    judgement = judge_true(
        np.array([host_set(SCENARIO2, held)], np.int64),
        np.array([host_set(SCENARIO2, removable)], np.int64),
        np.array([parse_action(action)]),
        RANKS[[TYPES.index(order)]],
    )
    return VERDICTS[judgement.verdict[0]]


# Few open hosts, and targets among all of them: then every verdict is common.
mark_maps = st.dictionaries(
    st.sampled_from(HOST_NAMES), st.sampled_from(["Unknown", "User", "Privileged"]), max_size=4
)
host_sets = st.sets(st.sampled_from(HOST_NAMES), max_size=4)
fixes = st.builds(
    "{} {}".format, st.sampled_from(["Remove", "Restore"]), st.sampled_from(HOST_NAMES)
)
actions = fixes | st.sampled_from(ACTION_NAMES)
orders = st.sampled_from(ORDERS)
activities = st.dictionaries(st.sampled_from(HOST_NAMES), st.sampled_from([0b01, 0b11]))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), min_size=12, max_size=12),
    st.lists(st.tuples(mark_maps, activities, actions), min_size=1, max_size=10),
    st.randoms(use_true_random=False),
)
def test_orders_of_any_units_are_judged_by_blues_table_as_the_reference_does(
    homes: list[str], steps: list[Any], random: Any
) -> None:
    groups = {name: [h for h, n in zip(FIXABLE, homes, strict=True) if n == name] for name in homes}
    assume(len(groups) > 1)
    units = units_of(groups)
    given_orders = [Order(random.sample(units.names, len(units)), units) for _ in steps]
    ranks = np.array([order.host_ranks for order in given_orders])
    home = {host: name for name, hosts in groups.items() for host in hosts}
    tables = np.array([table_of(marks, activity) for marks, activity, _ in steps], np.int64)
    played = np.array([parse_action(action) for *_, action in steps], np.int64)
    judgement = judge_observed(tables, played, ranks)
    masks = without_violations(np.ones((len(steps), NUM_ACTIONS), np.bool_), tables, ranks)
    for k, (marks, _, action) in enumerate(steps):
        every_host = {host: marks.get(host, "No") for host in HOST_NAMES}
        assert meaning(judgement, k) == judge_by_marks(every_host, action, given_orders[k], home)
        assert masks[k, played[k]] == (judgement.verdict[k] != VIOLATION)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(host_sets, host_sets, host_sets, actions, orders), max_size=20))
def test_the_true_view_judges_as_the_reference_does(steps: list[Any]) -> None:
    held = [host_set(SCENARIO2, root | user | {"User0"}) for root, user, _, _, _ in steps]
    removable = [host_set(SCENARIO2, user & shells) for _, user, shells, _, _ in steps]
    judgement = judge_true(
        np.array(held, np.int64),
        np.array(removable, np.int64),
        np.array([parse_action(action) for *_, action, _ in steps], np.int64),
        RANKS[[TYPES.index(order) for *_, order in steps]].reshape(-1, 13),
    )
    for k, (root, user, shells, action, order) in enumerate(steps):
        access = dict.fromkeys(HOST_NAMES, 0)
        access |= dict.fromkeys(user, 1) | dict.fromkeys(root, 2) | {"User0": 2}
        assert meaning(judgement, k) == judge_by_truth(access, user & shells, action, order)


USER_FIRST = "op_host > user > enterprise > op_server > defender"
THREE = "Enterprise1=Privileged User3=User User4=Unknown"
SEEN = {  # Blue's marks and its order: the verdict on each action
    ("", ORDER): {
        **dict.fromkeys(("Remove User1", "Restore User1", "Restore User0"), "repeat"),
        "Remove Defender": "repeat",
    },
    ("User1=User", ORDER): {
        "Remove User1": "compliant",
        **dict.fromkeys(("Remove User2", "Remove Enterprise0", "Restore User2"), "violation"),
        **dict.fromkeys(("Sleep", "Monitor", "Analyse User1", "DecoyApache User1"), "no fix"),
    },
    ("User1=Privileged", ORDER): {"Remove User1": "compliant"},
    ("User1=Unknown", ORDER): {"Remove User1": "repeat", "Restore User1": "compliant"},
    ("User1=Unknown Enterprise0=User", ORDER): {"Remove User1": "repeat"},
    ("User0=User Enterprise0=User", USER_FIRST): {"Restore Enterprise0": "compliant"},
    ("User0=Unknown User1=User", ORDER): {"Remove User0": "repeat"},
    ("User0=User User1=User", ORDER): {"Remove User0": "violation"},
    (THREE, ORDER): {"Restore Enterprise1": "compliant", "Restore User3": "violation"},
    (THREE, USER_FIRST): {
        **dict.fromkeys(("Restore User3", "Restore User4", "Remove User3"), "compliant"),
        "Restore Enterprise1": "violation",
    },
    **{
        (f"{host}={mark}{more}", ORDER): verdicts
        for mark in ("Unknown", "User", "Privileged")
        for host, more, verdicts in (
            ("Op_Host1", "", {"Restore Op_Host1": "compliant"}),
            ("User0", "", {"Restore User0": "repeat", "Restore User1": "repeat"}),
            ("User0", " User1=User", {"Restore User0": "violation", "Restore User1": "compliant"}),
        )
    },
}


@pytest.mark.parametrize(("marks", "order"), SEEN)
def test_marked_hosts_of_the_first_unit_that_has_any_are_due(marks: str, order: str) -> None:
    verdicts = SEEN[marks, order]
    named = dict(mark.split("=") for mark in marks.split())
    assert {action: seen(named, action, order) for action in verdicts} == verdicts


HELD = {  # hosts that Red holds, those where Remove ends a session: the verdict on each action
    ("User0", ""): {"Restore User0": "repeat"},
    ("User0 User1", ""): {
        "Remove User1": "repeat",
        "Restore User1": "compliant",
        "Restore User0": "violation",
    },
    ("User0 User1", "User1"): {"Remove User1": "compliant", "Remove User2": "repeat"},
    ("User0 User1 User2", "User2"): {"Remove User1": "repeat", "Remove User2": "compliant"},
    ("User0 User1 Enterprise0", "User1"): {
        "Restore Enterprise0": "compliant",
        **dict.fromkeys(("Restore User1", "Remove User1", "Restore Enterprise1"), "violation"),
    },
}


@pytest.mark.parametrize(("held", "removable"), HELD)
def test_only_held_hosts_of_the_first_unit_that_has_any_are_due_in_truth(
    held: str, removable: str
) -> None:
    verdicts, sets = HELD[held, removable], (set(held.split()), set(removable.split()))
    assert {action: truly(*sets, action) for action in verdicts} == verdicts


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS])
def test_what_is_no_action_is_not_judged(action: int) -> None:
    nobody, actions, table = np.zeros(1, np.int64), np.array([action]), np.zeros((1, 1), np.int64)
    assert f"not {action}" in refusal(judge_observed, table, actions, RANKS[:1])
    assert f"not {action}" in refusal(judge_true, nobody, nobody, actions, RANKS[:1])


def test_the_shield_forbids_violations_and_nothing_else() -> None:
    marks = {"User1": "Unknown", "Enterprise0": "User", "Op_Server0": "Privileged"}
    (mask,) = without_violations(
        np.ones((1, NUM_ACTIONS), np.bool_),
        np.array([table_of(marks)]),
        RANKS[[TYPES.index(ORDER)]],
    )
    verdicts = [seen(marks, name) for name in ACTION_NAMES]
    assert {"repeat", "compliant", "violation"} < set(verdicts)
    assert mask.tolist() == [verdict != "violation" for verdict in verdicts]


@pytest.mark.compiled
def test_against_bline_only_the_places_of_enterprise_op_server_and_user_matter() -> None:
    rng, envs = np.random.default_rng(0), 16
    fix = [k for k, name in enumerate(ACTION_NAMES) if name.startswith(("Remove", "Restore"))]
    batch = Batch(envs, GameConfig(red_agent="bline", episode_length=60))
    batch.reset(seed=1)
    steps = []  # what was so before the actions, and the actions
    for _ in range(120):
        chosen = np.where(rng.random(envs) < 0.4, rng.choice(fix, envs), rng.integers(0, 145, envs))
        steps.append((batch.state.copy(), chosen))
        batch.step(chosen)
    by_rest: dict[tuple[str, ...], set[bytes]] = {}
    for index, order in enumerate(ORDERS):
        rest = tuple(unit for unit in order if unit not in ("defender", "op_host"))
        ranks = np.repeat(RANKS[[index]], envs, axis=0)
        verdicts = []
        for state, chosen in steps:
            verdicts.append(judge_observed(state["table"], chosen, ranks).verdict)
            held, removable = held_hosts(state), state["removable"]
            verdicts.append(judge_true(held, removable, chosen, ranks).verdict)
        by_rest.setdefault(rest, set()).add(np.array(verdicts).tobytes())
    assert len(by_rest) == 6
    assert all(len(verdicts) == 1 for verdicts in by_rest.values())
    assert len(set.union(*by_rest.values())) == 6
