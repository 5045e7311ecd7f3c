"""The agent that follows standing orders: each rule, and the score of the shipped ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.table import everything, seen
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.standing_orders import (
    MOST_RULES,
    STANDING_ORDERS,
    HostRule,
    Response,
    StandingOrders,
    Wait,
    sentences_of,
)
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.scenario.scenario2 import ACTION_NAMES, HOST_NAMES
from workflow_rl.workflow.compliance import COMPLIANT, judge_observed
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

LEAVE, ANALYSE, REMOVE, RESTORE = Response
USERS_LAST = TYPES.read("op_server > enterprise > op_host > defender > user")
USERS_FIRST = TYPES.read("user > defender > op_host > enterprise > op_server")
RANKS = TYPES.host_ranks(range(NUM_ORDERS))
LEFT = HostRule((LEAVE,) * 3, LEAVE, LEAVE)
RULES = StandingOrders(
    decoys=(
        ("Enterprise0", "DecoyTomcat"),
        ("User1", "DecoyApache"),
        ("Op_Server0", "DecoyTomcat"),
    ),
    expected={"User1": "Op_Server0"},
    hosts={
        **dict.fromkeys(HOST_NAMES, LEFT),
        "Enterprise1": HostRule((REMOVE, REMOVE, RESTORE), ANALYSE, RESTORE),
        "User2": HostRule((REMOVE, RESTORE, LEAVE), RESTORE, RESTORE, once=True),
        "Enterprise2": HostRule((RESTORE,) * 3, RESTORE, RESTORE, wait=Wait.EXPECTED),
        "Op_Host0": HostRule((RESTORE,) * 3, RESTORE, RESTORE, wait=Wait.ALL),
    },
    restored_early=None,
    signs=(),
)
PLACED = [
    ACTION_NAMES.index(f"{decoy} {host}") for host, decoy in RULES.decoys if host != "Op_Server0"
]


def played(*tables: dict[str, Any], rules: StandingOrders = RULES, **how: Any) -> list[str]:
    """Returns what is done when these tables are shown one after the other."""
    agent = GreedyAgent(how.pop("order", USERS_LAST), rules)
    agent.begin(1, 0)
    mask = everything()
    mask[0, how.pop("standing", [])] = False
    return [
        ACTION_NAMES[int(agent.act(seen(**hosts), mask, step)[0])]
        for step, hosts in enumerate(tables)
    ]


def test_the_response_depends_on_the_exploits_since_the_last_restore() -> None:
    exploit = {"Enterprise1": "exploit"}
    remove, restore = "Remove Enterprise1", "Restore Enterprise1"
    assert played(*[exploit] * 5) == [remove, remove, restore, remove, remove]
    marked = {"User2": "privileged"}  # restored once, then left
    assert played(marked, marked) == ["Restore User2", "DecoyTomcat Enterprise0"]


def test_an_unknown_mark_is_analysed_once_after_each_exploit_and_then_left() -> None:
    unknown, exploit = {"Enterprise1": "unknown"}, {"Enterprise1": "exploit"}
    assert played(unknown, unknown, exploit, unknown, {"Enterprise1": "privileged"}) == [
        *("Analyse Enterprise1", "DecoyTomcat Enterprise0", "Remove Enterprise1"),
        *("Analyse Enterprise1", "Restore Enterprise1"),
    ]


def test_a_marked_host_that_comes_before_in_the_order_is_restored_first() -> None:
    both = {"User1": "user", "Enterprise1": "exploit"}  # User1 would be left
    assert played(both) == ["Remove Enterprise1"]
    assert played(both, order=USERS_FIRST) == ["Restore User1"]
    assert played({"User1": "user"}, order=USERS_FIRST) == ["DecoyTomcat Enterprise0"]


def test_reds_own_machine_is_left_alone() -> None:
    everywhere = replace(RULES, hosts=dict.fromkeys(HOST_NAMES, RULES.hosts["Op_Host0"]))
    assert played({"User0": "privileged"}, rules=everywhere) == ["DecoyTomcat Enterprise0"]


def test_decoys_go_up_by_the_list_and_first_where_red_is_expected() -> None:
    nothing: dict[str, str] = {}
    assert played(nothing) == ["DecoyTomcat Enterprise0"]
    assert played(nothing, standing=PLACED[:1]) == ["DecoyApache User1"]
    assert played({"User1": "scan"}, nothing) == ["DecoyTomcat Op_Server0"] * 2
    assert played({"User1": "scan"}, {"User2": "scan"})[1] == "DecoyTomcat Enterprise0"
    assert played(nothing, rules=replace(RULES, decoys=())) == ["Sleep"]


def test_a_repair_waits_for_the_decoys_its_rule_names() -> None:
    expected, every = {"Enterprise2": "user"}, {"Op_Host0": "user"}
    assert played(expected) == ["Restore Enterprise2"]
    assert played({"User1": "scan", **expected}) == ["DecoyTomcat Op_Server0"]
    assert played(every, standing=PLACED) == ["DecoyTomcat Op_Server0"]
    assert played(every, rules=replace(RULES, decoys=())) == ["Restore Op_Host0"]


def test_the_early_restore_is_done_once_when_its_sign_was_scanned_and_nothing_is_marked() -> None:
    rules = replace(RULES, restored_early="Op_Server0", signs=("Enterprise0",), decoys=())
    nothing: dict[str, str] = {}
    scan = {"Enterprise0": "scan"}
    assert played(nothing, scan, nothing, rules=rules) == ["Sleep", "Restore Op_Server0", "Sleep"]
    marked = {**scan, "User1": "user"}
    assert played(marked, nothing, rules=rules) == ["Sleep", "Restore Op_Server0"]
    assert played(nothing, rules=replace(rules, signs=())) == ["Restore Op_Server0"]


@settings(max_examples=60, deadline=None)
@given(order=st.integers(0, NUM_ORDERS - 1), bits=st.integers(0, 2**52 - 1))
def test_every_repair_complies(order: int, bits: int) -> None:
    row = np.array([[bits >> i & 1 for i in range(52)]], np.int8)
    agent = GreedyAgent(ORDERS[order])
    agent.begin(1, 0)
    action = agent.act(row, everything(), 0)
    judged = judge_observed(np.array([[bits]]), action, RANKS[[order]])
    if judged.counted[0]:
        assert judged.verdict[0] == COMPLIANT


@pytest.mark.compiled
@pytest.mark.parametrize("rules", ["main", "competition"])
@pytest.mark.parametrize("red", ["bline", "meander"])
def test_the_shipped_rules_score_above_minus_30_at_full_compliance(red: Any, rules: Any) -> None:
    agent = GreedyAgent()
    result = play_batch(agent, GameConfig(red_agent=red, rules=rules), 5, 2_000, agent.order).result
    assert result.reward.low > -30
    assert result.compliance.mean == 1


def test_the_rules_in_words_are_few_and_name_every_host() -> None:
    sentences = sentences_of(STANDING_ORDERS)
    assert len(sentences) <= MOST_RULES
    assert all(name in " ".join(sentences) for name in HOST_NAMES if name != "User0")
    assert sentences_of(RULES)[0].startswith(
        "Enterprise1: marked User: Remove at the first two exploits since its last Restore, then "
        "Restore; Unknown: Analyse, once after each exploit; Privileged: Restore."
    )
    assert StandingOrders.from_json(RULES.as_json()) == RULES


def test_rows_of_environments_that_did_not_begin_are_refused() -> None:
    agent = GreedyAgent()
    agent.begin(2, 0)
    with pytest.raises(InvalidInputError, match="of the 2 environments that began, not of 1"):
        agent.act(seen(), everything(), 0)
