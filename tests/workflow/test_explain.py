import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import HOST_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import host_set
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


def table(**marks: Mark) -> NDArray[np.int64]:
    """Blue's table with marks on the named hosts."""
    return np.array([sum(mark << 4 * HOST_NAMES.index(host) + 2 for host, mark in marks.items())])


USER, UNKNOWN = Mark.USER, Mark.UNKNOWN


@pytest.mark.parametrize(
    ("action", "marks", "verdict", "due", "words"),
    [
        ("Analyse User1", {"User1": USER}, NOT_A_FIX, "user", "Remove and Restore"),
        (
            *("Restore User1", {"User1": Mark.PRIVILEGED}, COMPLIANT, "user"),
            "User1 is marked in Blue's table, and user is the first type in the order",
        ),
        (
            "Remove User1",
            {"User1": USER, "Enterprise0": UNKNOWN, "Op_Host2": USER},
            *(VIOLATION, "enterprise"),
            "user was not due yet: Enterprise0 (enterprise) is marked in Blue's table and comes",
        ),
        (
            *("Restore User2", {"User1": USER}, VIOLATION, "user"),
            "User2 is not marked in Blue's table, and User1 would have come first",
        ),
        ("Remove User1", {"User0": USER}, REPEAT, None, "no host is marked"),
        ("Remove User1", {"User1": UNKNOWN}, REPEAT, "user", "already marked Unknown"),
    ],
)
def test_a_verdict_by_blues_table_says_why(
    action: str, marks: dict[str, Mark], verdict: int, due: str | None, words: str
) -> None:
    told = explain_observed(table(**marks), parse_action(action), ORDER)
    assert (told.verdict, told.due) == (verdict, due)
    assert words in told.why


def test_by_the_truth_it_is_where_red_is() -> None:
    held = host_set(SCENARIO2, ["User0", "User1", "Op_Server0"])
    told = explain_true(held, host_set(SCENARIO2, ["User1"]), parse_action("Remove User1"), ORDER)
    assert told.verdict == VIOLATION
    assert "Op_Server0 (op_server) is held by Red and comes first" in told.why
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
    tables = np.array([[marks]])
    seen = explain_observed(tables[0], action, TYPES[order])
    assert seen.verdict == judge_observed(tables, actions, ranks).verdict[0]
    true = explain_true(held, removable & held, action, TYPES[order])
    sets = np.array([held], np.int64), np.array([removable & held], np.int64)
    assert true.verdict == judge_true(*sets, actions, ranks).verdict[0]
    assert (seen.word, true.word) == (VERDICTS[seen.verdict], VERDICTS[true.verdict])
    assert all((seen.word, seen.why, true.word, true.why))
