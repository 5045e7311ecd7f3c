import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_rl.scenario.actions import NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import HOST_NAMES, host_set
from workflow_rl.sim.state import Mark
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    REPEAT,
    VIOLATION,
    judge_observed,
    judge_true,
)
from workflow_rl.workflow.explain import VERDICTS, explain_observed, explain_true
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

ORDER = TYPES.read("op_server > enterprise > op_host > user > defender")


def table(**marks: Mark) -> int:
    """Blue's table with marks on the named hosts."""
    return sum(mark << 4 * HOST_NAMES.index(host) + 2 for host, mark in marks.items())


def observed(action: str, **marks: Mark) -> tuple[int, str, str | None]:
    told = explain_observed(table(**marks), parse_action(action), ORDER)
    return told.verdict, told.why, told.due


def test_an_action_that_fixes_nothing_is_none() -> None:
    verdict, why, due = observed("Analyse User1", User1=Mark.USER)
    assert (verdict, due) == (NOT_A_FIX, "user")
    assert "Remove and Restore" in why


def test_a_compliant_fix_names_its_type() -> None:
    verdict, why, due = observed("Restore User1", User1=Mark.PRIVILEGED)
    assert (verdict, due) == (COMPLIANT, "user")
    assert why == (
        "User1 is marked in Blue's table, and user is the first type in the order with such a host"
    )


def test_a_fix_out_of_turn_names_who_came_first() -> None:
    marks = {"User1": Mark.USER, "Enterprise0": Mark.UNKNOWN, "Op_Host2": Mark.USER}
    verdict, why, due = observed("Remove User1", **marks)
    assert (verdict, due) == (VIOLATION, "enterprise")
    assert why == (
        "user was not due yet: Enterprise0 (enterprise) is marked in Blue's table and comes first"
    )


def test_a_fix_of_a_clean_host_says_so() -> None:
    verdict, why, _ = observed("Restore User2", User1=Mark.USER)
    assert verdict == VIOLATION
    assert why == "User2 is not marked in Blue's table, and User1 would have come first"


def test_what_does_not_count_says_why() -> None:
    assert observed("Remove User1")[:2] == (REPEAT, "no host is marked in Blue's table")
    verdict, why, _ = observed("Remove User1", User1=Mark.UNKNOWN)
    assert verdict == REPEAT
    assert "already marked Unknown" in why


def test_red_s_foothold_never_comes_first() -> None:
    assert observed("Remove User1", User0=Mark.USER)[0] == REPEAT


def test_by_the_truth_it_is_where_red_is() -> None:
    held = host_set(["User0", "User1", "Op_Server0"])
    told = explain_true(held, host_set(["User1"]), parse_action("Remove User1"), ORDER)
    assert told.verdict == VIOLATION
    assert told.why == (
        "user was not due yet: Op_Server0 (op_server) is held by Red and comes first"
    )
    told = explain_true(held, 0, parse_action("Remove User1"), ORDER)
    assert (told.word, told.due) == ("does not count", "op_server")


@given(
    st.integers(0, 2**52 - 1),
    st.integers(0, 2**13 - 1),
    st.integers(0, 2**13 - 1),
    st.integers(0, NUM_ACTIONS - 1),
    st.integers(0, NUM_ORDERS - 1),
)
def test_every_verdict_is_the_judge_s(
    marks: int, held: int, removable: int, action: int, order: int
) -> None:
    actions, ranks = np.array([action]), TYPES.host_ranks([order])
    seen = explain_observed(marks, action, TYPES[order])
    assert seen.verdict == judge_observed(np.array([marks]), actions, ranks).verdict[0]
    true = explain_true(held, removable & held, action, TYPES[order])
    sets = np.array([held], np.int16), np.array([removable & held], np.int16)
    assert true.verdict == judge_true(*sets, actions, ranks).verdict[0]
    assert seen.word in VERDICTS.values()
    assert seen.why
    assert true.why


@pytest.mark.parametrize("verdict", [NOT_A_FIX, REPEAT, VIOLATION, COMPLIANT])
def test_every_verdict_has_a_word(verdict: int) -> None:
    assert VERDICTS[verdict]
